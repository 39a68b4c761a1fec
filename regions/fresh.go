package regions

import (
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
)

// DefaultStaleAfter is how many intervals a series counts as fresh by default.
const DefaultStaleAfter = 3

// Series returns every series of the schedule, in its order.
func (all Schedule) Series() []ingest.Series {
	var series []ingest.Series
	for _, s := range all {
		for _, key := range s.keys {
			series = append(series, ingest.Series{Job: s.Job.Name, Key: key})
		}
	}
	return series
}

// Kind returns the kind of the job of a series; "" if it is unknown.
func (all Schedule) Kind(series ingest.Series) ingest.Kind {
	for _, s := range all {
		if s.Job.Name == series.Job {
			return s.Job.Kind
		}
	}
	return ""
}

// Ahead returns how long it takes from t until that many slots of the series have come due, by its interval, cron line
// or present pace; 0 if the series is unknown.
func (all Schedule) Ahead(series ingest.Series, t time.Time, slots int) time.Duration {
	for _, s := range all {
		switch {
		case s.Job.Name != series.Job:
		case s.paced():
			return time.Duration(slots) * max(s.pace.Round, s.Job.Every)
		case s.cron == nil:
			return time.Duration(slots) * s.Job.Every
		default:
			last := t
			for range slots {
				last = s.next(max(slices.Index(s.keys, series.Key), 0), last)
			}
			return last.Sub(t)
		}
	}
	return 0
}

// Stale defines "stale" for the whole program: more time has passed since done, the due time of the series' newest
// done slot, than Ahead gives for that many slots. A series without a done slot (done is zero) is stale, and one that
// is never due again is not.
func (all Schedule) Stale(series ingest.Series, done, now time.Time, after int) bool {
	if done.IsZero() {
		return true
	}
	ahead := all.Ahead(series, done, after)
	return ahead > 0 && now.Sub(done) > ahead
}
