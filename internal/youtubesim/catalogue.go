package youtubesim

import (
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

const (
	day = 24 * time.Hour

	// step is how long charts and counts stay the same: the interval at which they are usually fetched, so that ranks and
	// views drift from slot to slot.
	step = 30 * time.Minute

	// maxChart is the most places in a chart: four pages of 50 [seen].
	maxChart = 200
)

// catalogue is everything that the stand-in can serve at a given time.
type catalogue interface {
	// chart returns a region's chart in rank order, stable within a step; a nil place is withheld. ok is false for a
	// region that the catalogue does not have.
	chart(region string, at time.Time) (places []*video, ok bool)
	// videos returns all videos, newest first. The caller must not change the list.
	videos(at time.Time) []*video
	// video returns nil for an id that does not exist, or no longer does.
	video(id string, at time.Time) *video
}

// video holds the constant data of a video, and how its counts grow.
type video struct {
	id, title, localized, description string
	channel                           *channel
	category                          string
	language, audio                   string        // BCP 47, "" when the uploader gave none
	published                         time.Time     // zero if not known
	duration                          time.Duration // whole seconds, 0 for a broadcast
	live                              string        // none, live, upcoming
	begins                            time.Time     // of an upcoming one
	definition                        string        // hd, sd
	caption, licensed                 bool
	tags                              []string
	foundBy                           searchable

	final   counts // the limits that the counts approach; nil: withheld
	grows   bool   // false: the counts are final from the start
	appeal  float64
	regions []string // the charts that a generated video can enter
	blocked []string // regions where it cannot be watched
}

// channel is an uploader.
type channel struct {
	id, title, handle string
	since             time.Time
	subscribers       int64
}

// uploads returns the id of the playlist of all the channel's uploads: UU and the channel's 22 characters [seen].
func (c *channel) uploads() string { return "UU" + strings.TrimPrefix(c.id, "UC") }

// channelID returns UC and 22 characters of base64url.
func channelID(key uint64) string { return "UC" + idText(key) + idText(standin.Hash(key)) }

// counts are nil if withheld.
type counts struct{ views, likes, comments *int64 }

// counts returns the video's counts at the step of at. Most of the growth comes in the first days, and now and then a
// count falls a little, because YouTube takes views back [seen].
func (v *video) counts(at time.Time) counts {
	if !v.grows {
		return v.final
	}
	at = at.Truncate(step)
	age := at.Sub(v.published).Hours()
	share := max(0.001, age/(age+60))
	if standin.Hash(standin.HashText(v.id), uint64(at.Unix()))%50 == 0 {
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

// searchable is a video's text in lower case.
type searchable struct{ title, rest string }

// index makes the video findable. It is called once, when the video is complete.
func (v *video) index() {
	rest := strings.Join(v.tags, " ") + " " + v.channel.title + " " + v.description
	v.foundBy = searchable{strings.ToLower(v.title), strings.ToLower(rest)}
}

// sparse is a catalogue whose charts withhold all but the first few places of every fifty.
type sparse struct {
	catalogue
	perPage int
}

func (s sparse) chart(region string, at time.Time) (places []*video, ok bool) {
	const page = 50
	full, ok := s.catalogue.chart(region, at)
	places = make([]*video, len(full))
	for from := 0; from < len(full); from += page {
		to := min(from+s.perPage, from+page, len(full))
		copy(places[from:to], full[from:to])
	}
	return places, ok
}
