package ingest

import (
	"fmt"
	"time"
)

// An answer is evidence, not proof: a look-up that leaves a video out says only that the video is not shown now. A
// video is deleted once two look-ups in different company, RecheckAfter or more apart, have left it out.

// RecheckAfter is how long to wait before a video that a look-up left out is asked for again: an upstream may give
// blank answers for minutes.
const RecheckAfter = time.Hour

// MinWitnesses is how many videos that are known to be there must come back with an answer before it proves that
// others are not.
const MinWitnesses = 5

// Suspect reports whether an answer lacks so many of the videos that were asked for that it proves nothing about them.
func Suspect(asked, came int) bool {
	return asked >= 5 && (asked-came)*5 > asked
}

// shortBelow is the part of its usual length below which a chart is short.
const shortBelow = 3

// Short reports whether the slot is a chart that came back empty, or with less than a third of its usual videos: it is
// stored, and is no proof that the chart has changed.
func (s Slot) Short() bool {
	return s.Kind == KindChart && s.State == Done && (s.Videos == 0 || s.Videos*shortBelow < s.Usual)
}

// Shortness describes a short chart's missing part; "" if it is whole.
func (s Slot) Shortness() string {
	switch {
	case !s.Short():
		return ""
	case s.Videos == 0:
		return "empty: the upstream gave no videos"
	}
	return fmt.Sprintf("shrunk: the upstream gave %d of about %d videos", s.Videos, s.Usual)
}

// Asked is the question of a look-up: its videos, and others known to be there, which show if the answer is whole.
type Asked struct {
	IDs       []string
	Witnesses []string
	Keep      bool // ids that a suspect answer lacks stay in the queue of their piece
}

// All returns all ids of the question.
func (a Asked) All() []string { return append(a.IDs[:len(a.IDs):len(a.IDs)], a.Witnesses...) }

// Judge returns the ids that the answer left out, and whether it proves that they are absent: enough witnesses were
// asked for, and all came back; or it lacks few of the requested ids.
func (a Asked) Judge(videos []Video) (absent []string, proved bool) {
	came := make(map[string]bool, len(videos))
	for _, v := range videos {
		came[v.ID] = true
	}
	for _, id := range a.IDs {
		if !came[id] {
			absent = append(absent, id)
		}
	}
	silent := 0
	for _, id := range a.Witnesses {
		if !came[id] {
			silent++
		}
	}
	if len(a.Witnesses) >= MinWitnesses {
		return absent, silent == 0
	}
	all := len(a.IDs) + len(a.Witnesses)
	return absent, !Suspect(all, all-len(absent)-silent)
}

// Absences is the part of an answer that a look-up left out.
type Absences struct {
	Missing int  // videos that were left out
	Doubted int  // of those, the stored ones that are to be asked for again
	Deleted int  // of those, the stored ones that are deleted: two look-ups have left them out
	Suspect bool // so many were left out that the answer proves nothing
}
