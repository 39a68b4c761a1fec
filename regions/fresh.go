package regions

import (
	"time"

	"github.com/trendvidstream/ingest"
)

// DefaultStaleAfter is for how many intervals a series counts as fresh where a config does not say.
const DefaultStaleAfter = 3

// Series is every series of the plan, in its order.
func (p Plan) Series() []ingest.Series {
	var all []ingest.Series
	for _, s := range p {
		for _, key := range s.keys {
			all = append(all, ingest.Series{Job: s.Job.Name, Key: key})
		}
	}
	return all
}

// Ahead is how long after t so many slots of the series come due: that many intervals or, by a cron line, the
// times that it names. It is 0 where the series has no such slot.
func (p Plan) Ahead(of ingest.Series, t time.Time, slots int) time.Duration {
	for _, s := range p {
		switch {
		case s.Job.Name != of.Job:
		case s.cron == nil:
			return time.Duration(slots) * s.Job.Every
		default:
			if times := s.NextTimes(t, slots); len(times) == slots { // all keys at once
				return times[slots-1].Sub(t)
			}
		}
	}
	return 0
}

// Stale is what "stale" means everywhere: the newest done slot of the series was due longer before now than
// the next so many slots after it take to come due. A series that was never done (done is zero) is stale, and
// one that is never due again is not.
func (p Plan) Stale(of ingest.Series, done, now time.Time, after int) bool {
	if done.IsZero() {
		return true
	}
	ahead := p.Ahead(of, done, after)
	return ahead > 0 && now.Sub(done) > ahead
}
