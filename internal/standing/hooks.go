package standing

import (
	"fmt"
	"maps"
	"slices"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// judgeHooks is about the hook that has failed for longest. Nothing waits for hooks, so a failing one is at worst a
// warning.
func (s Standing) judgeHooks() Condition {
	c := Condition{Meanwhile: Everything}
	for _, name := range slices.Sorted(maps.Keys(s.Latest.Hooks)) {
		h := s.Latest.Hooks[name]
		if h.Tries == 0 || c.State == Warn && !h.Failing.Before(c.Since) {
			continue
		}
		text := fmt.Sprintf("hook %s: %s; %d tries, %d events wait", name, h.Why, h.Tries, h.Waiting)
		if h.Dropped > 0 {
			text += fmt.Sprintf(", %d were dropped after %v", h.Dropped, ingest.KeepEvents)
		}
		c = Condition{State: Warn, Cause: HookFails, Err: fmt.Errorf("%s", text), Since: h.Failing,
			Meanwhile: Everything, RetryAt: h.RetryAt}
	}
	return c
}

// Thresholds are the parts of a pool's limit, in percent, at which hooks receive an event: the second is the schedule's
// ceiling.
var Thresholds = []int64{80, 95}

// Situations returns the present situations by domain, without a domain that cannot be read now.
func (s Standing) Situations() map[string][]ingest.Situation {
	found := map[string][]ingest.Situation{}
	if s.Now.IsZero() {
		return found
	}
	if s.StoreErr == nil {
		found["series"] = []ingest.Situation{}
		for _, series := range s.Series {
			if !series.Stale || series.State == Never || series.State == Absent {
				continue
			}
			of := map[string]any{"job": series.Job, "region": series.Key}
			data := map[string]any{"job": series.Job, "region": series.Key, "state": series.State,
				"cause": series.Cause, "due_at": series.Done.DueAt.UTC(), "age_s": int64(series.Age.Seconds())}
			found["series"] = append(found["series"],
				ingest.Situation{Key: series.String(), Begun: ingest.SeriesStale, Ended: ingest.SeriesFresh, Data: data, After: of})
		}
	}
	if s.LedgerErr == nil && s.Report.Degraded == nil {
		found["quota"] = []ingest.Situation{}
		for _, pool := range s.Report.Pools {
			var most quota.WindowState // the fullest window
			for _, w := range pool.Windows {
				if w.Window.Limit > 0 && (most.Window.Limit == 0 || w.Used*most.Window.Limit > most.Used*w.Window.Limit) {
					most = w
				}
			}
			for _, percent := range Thresholds {
				if limit := most.Window.Limit; limit > 0 && most.Used*100 >= limit*percent {
					data := map[string]any{"pool": pool.Pool, "window": most.Window.Name, "percent": percent,
						"used": most.Used, "limit": limit}
					found["quota"] = append(found["quota"],
						ingest.Situation{Key: fmt.Sprintf("%s %d", pool.Pool, percent), Begun: ingest.QuotaThreshold, Data: data})
				}
			}
		}
	}
	return found
}
