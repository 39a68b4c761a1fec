package youtubesim

import "time"

// catalogue is what the stand-in knows of, at a time.
type catalogue interface {
	// chart is a region's chart in rank order, stable within an hour; nil is a place that is
	// withheld. ok is false for a region that the catalogue does not have.
	chart(region string, at time.Time) (places []*video, ok bool)
	// videos are all there are, newest first. The caller must not change the list.
	videos(at time.Time) []*video
	// video is nil for an id that is not there (any more).
	video(id string, at time.Time) *video
}

// video is what does not change about one, and how its counts grow.
type video struct {
	id, title, localized, description string
	channel                           *channel
	category                          string
	language, audio                   string        // BCP 47, "" when the uploader gave none
	published                         time.Time     // zero when not known
	duration                          time.Duration // whole seconds, 0 for a broadcast
	live                              string        // none, live, upcoming
	definition                        string        // hd, sd
	caption, licensed                 bool
	tags                              []string
	foundBy                           searchable

	final   counts // what the counts tend to; nil is withheld
	grows   bool   // else they are final
	appeal  float64
	regions []string // in whose charts it may be, of a generated one
	blocked []string // where it cannot be seen
}

// channel is who uploaded.
type channel struct {
	id, title, handle string
	since             time.Time
	subscribers       int64
}

// counts are nil where they are withheld.
type counts struct{ views, likes, comments *int64 }

// counts are the video's at the hour of at: most of them come in the first days, and now and then a
// count falls a little, as YouTube takes views back [seen].
func (v *video) counts(at time.Time) counts {
	if !v.grows {
		return v.final
	}
	hour := at.Truncate(time.Hour)
	age := hour.Sub(v.published).Hours()
	share := max(0.001, age/(age+60))
	if hash(hashText(v.id), uint64(hour.Unix()))%50 == 0 {
		share *= 0.998
	}
	grow := func(n *int64) *int64 {
		if n == nil {
			return nil
		}
		m := int64(float64(*n) * share)
		return &m
	}
	return counts{grow(v.final.views), grow(v.final.likes), grow(v.final.comments)}
}
