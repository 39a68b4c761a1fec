package report_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/quota"
)

// situation is a world where all is well: two charts, and quota that lasts.
func situation() report.Situation {
	series := func(region string) report.SeriesState {
		return report.SeriesState{Job: "chart", Region: region, Slot: new(noon.Add(-20 * time.Minute)), AgeS: new(int64(1200))}
	}
	return report.Situation{
		Quota: &report.QuotaDocument{At: noon, Pools: []report.PoolDocument{{Pool: "units", Purposes: []report.PurposeDocument{{Purpose: quota.Scheduled, Ceiling: 9500, Remaining: 5630}}}},
			Forecast: budget.Forecast{Fits: true, Scheduled: map[string]int64{"units": 844}, Spare: map[string]int64{"units": 4786}}},
		Fresh: &report.Freshness{At: noon, Series: []report.SeriesState{series("US"), series("DE")}, Upstream: &report.UpstreamDocument{Name: "YouTube", AnsweredAt: new(noon.Add(-time.Minute))}},
	}
}

// degrade is a ledger that cannot answer, with so many units left to spend without it.
func degrade(s *report.Situation, units int64, resumes *time.Time) {
	s.Quota.Degraded, s.Quota.EmergencyLeft = true, []report.EmergencyDocument{{Pool: "units", Remaining: units, ResumesAt: resumes}}
}

// The headline says what is worst, and what that does to the charts. It is never good while one of them is stale, late or
// waits, nor while anything else is not well.
func TestTheHeadlineIsTheWorstOfAll(t *testing.T) {
	tests := []struct {
		name  string
		world func(*report.Situation)
		mood  report.Mood
		want  string
		order string // of the checks
	}{
		{"all is well", func(*report.Situation) {}, report.Good, "All 2 charts are fresh, and the quota lasts.", "Ledger YouTube Quota Charts"},
		{"one is stale", func(s *report.Situation) { s.Fresh.Series[1].Stale = true }, report.Bad, "DE is stale.", "Charts Ledger YouTube Quota"},
		{"one is late", func(s *report.Situation) { s.Fresh.Series[0].OverdueSince = new(noon) }, report.Warn, "US is late.", "Charts Ledger YouTube Quota"},
		{"nothing has run for two days", func(s *report.Situation) {
			s.Fresh.Series[1].Stale, s.Fresh.Series[1].OverdueSince, s.Fresh.Series[1].LastRunAt = true, new(noon.Add(-47*time.Hour)), new(noon.Add(-48*time.Hour))
		}, report.Bad, "DE is stale: nothing has run since " + noon.Add(-48*time.Hour).Format("2006-01-02 15:04") + ".", "Charts Ledger YouTube Quota"},
		{"the newest fetch of one failed", func(s *report.Situation) { s.Fresh.Series[1].Outcome = ingest.Failed }, report.Warn, "DE is fresh, but its newest fetch failed.", "Charts Ledger YouTube Quota"},
		{"all fetches failed", func(s *report.Situation) {
			s.Fresh.Series[0].Outcome, s.Fresh.Series[1].Outcome = ingest.Failed, ingest.Failed
		}, report.Warn, "All 2 charts are fresh, but their newest fetch failed.", "Charts Ledger YouTube Quota"},
		{"one is late, and the newest fetches of two failed", func(s *report.Situation) {
			late := s.Fresh.Series[0]
			late.Region, late.OverdueSince = "FR", new(noon)
			s.Fresh.Series[0].Outcome, s.Fresh.Series[1].Outcome = ingest.Failed, ingest.Failed
			s.Fresh.Series = append([]report.SeriesState{late}, s.Fresh.Series...)
		}, report.Warn, "US and DE are fresh, but their newest fetch failed.", "Charts Ledger YouTube Quota"},
		{"one of two charts of a region is stale", func(s *report.Situation) {
			s.Fresh.Series[1].Job, s.Fresh.Series[1].Region, s.Fresh.Series[1].Stale = "music", "US", true
		}, report.Bad, "Music US is stale.", "Charts Ledger YouTube Quota"},
		{"the upstream has no such chart", func(s *report.Situation) { s.Fresh.Series[1].Stale, s.Fresh.Series[1].Absent = true, true },
			report.Warn, "DE is not charted by YouTube, which is asked once a day.", "Charts Ledger YouTube Quota"},
		{"all wait for quota", func(s *report.Situation) {
			s.Quota.Forecast.Fits, s.Quota.Forecast.State, s.Quota.Forecast.BackAt = false, budget.UsedUp, noon.Add(20*time.Hour)
			for i := range s.Fresh.Series {
				s.Fresh.Series[i].ResumesAt, s.Fresh.Series[i].Stale = new(noon.Add(20*time.Hour)), true
			}
		}, report.Warn, "Quota is used up until 2026-02-15 08:00:00Z. All 2 charts wait for quota.", "Quota Charts Ledger YouTube"},
		{"the upstream is silent", func(s *report.Situation) {
			s.Fresh.Upstream.SilentSince, s.Fresh.Upstream.Unreachable = new(noon.Add(-128*time.Minute)), true
			s.Fresh.Series[0].Stale, s.Fresh.Series[1].Stale = true, true
		}, report.Bad, "YouTube has given no usable answer for 2 h 8 min. All 2 charts are stale.", "YouTube Charts Ledger Quota"},
		{"the ledger is gone", func(s *report.Situation) {
			s.Quota, s.QuotaErr = nil, fmt.Errorf("open quota.db: %w", quota.ErrMissing)
		}, report.Bad,
			"The quota ledger is missing: nothing is fetched, charts and searches go on.", "Ledger Quota YouTube Charts"},
		{"an error that only says that something is missing", func(s *report.Situation) { s.Quota, s.QuotaErr = nil, errors.New("the path is missing a slash") }, report.Bad,
			"The quota ledger cannot be read: nothing is fetched, charts and searches go on.", "Ledger Quota YouTube Charts"},
		{"the ledger is degraded", func(s *report.Situation) { degrade(s, 18, nil); s.Fresh.Series[0].OverdueSince = new(noon) }, report.Bad,
			"The ledger cannot answer: cheap calls go on from the emergency budget (18 units left), expensive ones wait. US is late.", "Ledger Charts Quota YouTube"},
		{"the ledger is degraded, and its emergency budget is used up", func(s *report.Situation) {
			degrade(s, 0, new(noon.Add(25*time.Hour)))
			s.Fresh.Resting = "what may be spent without the ledger is used up"
		}, report.Bad, "The ledger cannot answer: nothing is fetched, as what may be spent without the ledger is used up until 2026-02-15 13:00:00Z.", "Ledger Quota YouTube Charts"},
		{"the ledger is degraded, and nobody knows when there is more to spend without it", func(s *report.Situation) { degrade(s, 0, nil) },
			report.Bad, "The ledger cannot answer: nothing is fetched, as what may be spent without the ledger is used up.", "Ledger Quota YouTube Charts"},
		{"the ledger is degraded, and no call is cheap", func(s *report.Situation) { s.Quota.Degraded = true },
			report.Bad, "The ledger cannot answer: nothing is fetched.", "Ledger Quota YouTube Charts"},
		{"the ledger is degraded, and the workers rest for another reason", func(s *report.Situation) { degrade(s, 18, nil); s.Fresh.Resting = "the disk is full" },
			report.Bad, "The ledger cannot answer. Nothing is fetched now.", "Ledger Charts Quota YouTube"},
		{"the upstream was silent, and is not asked since", func(s *report.Situation) {
			degrade(s, 0, nil)
			s.Fresh.Upstream.SilentSince, s.Fresh.Upstream.AskedAt, s.Fresh.Upstream.Unreachable = new(noon.Add(-128*time.Minute)), new(noon.Add(-2*time.Hour)), true
			s.Fresh.Upstream.NobodyAsks()
		}, report.Bad, "The ledger cannot answer: nothing is fetched, as what may be spent without the ledger is used up.", "Ledger YouTube Quota Charts"},
		{"a server that holds both does not answer", func(s *report.Situation) {
			s.Quota.Degraded, s.Fresh, s.StoreErr = true, nil, errors.New("no answer within 5s")
		}, report.Bad, "The ledger cannot answer: nothing is fetched. The store cannot be read.", "Ledger Charts Upstream Quota"},
		{"the store is damaged", func(s *report.Situation) { s.Fresh, s.StoreErr = nil, errors.New("damaged") }, report.Bad, "The store cannot be read.", "Charts Upstream Ledger Quota"},
		{"the workers rest", func(s *report.Situation) { s.Fresh.Resting = "the disk is full" }, report.Bad, "Nothing is fetched now.", "Charts Ledger YouTube Quota"},
		{"the first fetch is running", func(s *report.Situation) {
			s.Fresh.Series[1].Slot, s.Fresh.Series[1].AgeS, s.Fresh.Series[1].Running = nil, nil, true
		}, report.Idle, "The first fetch is running: 1 of 2 charts are in. The quota lasts until midnight.", "Charts Ledger YouTube Quota"},
		{"nothing was fetched yet", func(s *report.Situation) { s.Fresh = nil }, report.Idle, "Nothing was fetched yet. The quota lasts until midnight.", "Upstream Charts Ledger Quota"},
	}
	for _, tt := range tests {
		s := situation()
		tt.world(&s)
		mood, got := s.Headline()
		var order []string
		for _, c := range s.Checks() {
			order = append(order, c.Name)
		}
		if mood != tt.mood || got != tt.want || strings.Join(order, " ") != tt.order {
			t.Errorf("%s: %s %q %q, want %s %q %q", tt.name, mood, got, order, tt.mood, tt.want, tt.order)
		}
		if known := s.Quota != nil && !s.Quota.Degraded; known != strings.Contains(s.Verdict(), "uota ") && s.QuotaErr == nil {
			t.Errorf("%s: the verdict of ingest quota is %q", tt.name, s.Verdict())
		}
	}
}

// What is behind the headline is said with it: how the newest fetch of a chart ended.
func TestTheReasonOfAStaleChartIsHowItsNewestFetchEnded(t *testing.T) {
	s := situation()
	s.Fresh.Series[1].Stale, s.Fresh.Series[1].Outcome, s.Fresh.Series[1].Reason = true, ingest.Skipped, "DE had no such chart"
	if got, want := s.Reason(), "chart DE (20 min old), skipped: DE had no such chart"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// All may be fresh yet while nothing can be written.
func TestTheReasonWhyNothingIsFetchedIsWhyTheWorkersRest(t *testing.T) {
	s := situation()
	s.Fresh.Resting = "the disk is full"
	if got, want := s.Reason(), "The disk is full."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// wanted is a schedule of one chart, a slot of which waits.
type wanted struct {
	report.WantedSeries
	waits  ingest.Slot
	others []ingest.Series
}

func (w wanted) Series() []ingest.Series { return append(w.others, w.waits.Series()) }
func (w wanted) Waiting(ingest.Latest, time.Time) map[ingest.Series]ingest.Slot {
	return map[ingest.Series]ingest.Slot{w.waits.Series(): w.waits}
}
func (wanted) Ahead(ingest.Series, time.Time, int) time.Duration { return 30 * time.Minute }
func (w wanted) Stale(s ingest.Series, done, _ time.Time, _ int) (stale bool) {
	return s == w.waits.Series() && done.IsZero()
}

// What the upstream does not have is not stale as long as it has something else, and runs come to it.
func TestWhatTheUpstreamDoesNotHaveIsAbsent(t *testing.T) {
	skipped := func(region, reason string, waits time.Duration) (s ingest.Slot) {
		s = ingest.Slot{SlotKey: ingest.SlotKey{Job: "chart", Key: region, DueAt: noon}, FirstDueAt: noon.Add(-waits)}
		s.State, s.Reason = ingest.Skipped, reason
		return s
	}
	const none, superseded = "YouTube has no such chart", "superseded by the slot of 2026-02-14T12:00:00Z"
	for name, tt := range map[string]struct {
		slot  ingest.Slot
		alone bool
		stale int
	}{
		"there is none":                 {skipped("JP", none, 0), false, 0},
		"it was superseded":             {skipped("JP", superseded, 0), false, 1},
		"no run has come for half hour": {skipped("JP", none, 30*time.Minute), false, 1},
		"there are no others":           {skipped("JP", none, 0), true, 1},
	} {
		others := []ingest.Series{{Job: "chart", Key: "US"}}
		if tt.alone {
			others = nil
		}
		f := report.NewFreshness(wanted{waits: tt.slot, others: others}, ingest.Latest{Ended: map[ingest.Series]ingest.Slot{tt.slot.Series(): tt.slot}}, noon, 3)
		if got := f.Stale(); len(got) != tt.stale {
			t.Errorf("%s: %v are stale, want %d", name, got, tt.stale)
		}
	}
}

// A run that was killed runs no longer than its claim, and one that fetched nothing has run.
func TestWhatRunsAndWhatHasRun(t *testing.T) {
	at := func(hours int) ingest.Slot {
		due := noon.Add(time.Duration(hours) * time.Hour)
		return ingest.Slot{SlotKey: ingest.SlotKey{Job: "chart", Key: "US", DueAt: due}, FirstDueAt: due}
	}
	slots := func(s ingest.Slot) map[ingest.Series]ingest.Slot { return map[ingest.Series]ingest.Slot{s.Series(): s} }
	killed := at(0)
	killed.State, killed.Lease = ingest.Claimed, noon.Add(time.Minute)
	for now, running := range map[time.Time]bool{noon: true, noon.Add(time.Minute): false} {
		if f := report.NewFreshness(wanted{waits: killed}, ingest.Latest{Open: slots(killed)}, now, 3); f.Series[0].Running != running {
			t.Errorf("at %s it runs: %t", now, !running)
		}
	}
	done, failed := at(-5), at(-2)
	done.FetchedAt, failed.State = noon.Add(-4*time.Hour), ingest.Failed
	w := report.NewWaits(ingest.Latest{Done: slots(done), Ended: slots(failed)}, noon).Of(at(-1))
	if got, want := w.String(), "overdue since 2026-02-14 11:00:00Z; nothing has run since 10:00"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
