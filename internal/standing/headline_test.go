package standing_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// noon is when the reports of these tests are made.
var noon = time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)

var us, de = ingest.Series{Job: "chart", Key: "US"}, ingest.Series{Job: "chart", Key: "DE"}

// facts are the facts of a world where all is well: two charts, and quota that lasts.
func facts(t fataler) standing.Facts {
	job, err := regions.NewJobSchedule(ingest.Job{Name: "chart", Kind: ingest.KindChart, Regions: []ingest.Region{"US", "DE"}, Every: 30 * time.Minute})
	if err != nil {
		t.Fatalf("%v", err)
	}
	f := standing.Facts{
		Now: noon.Add(5 * time.Minute), StaleAfter: 3, Provider: "YouTube", Pace: budget.PacedSchedule{Schedule: regions.Schedule{job}},
		Latest:   ingest.Latest{Done: map[ingest.Series]ingest.Slot{}, Ended: map[ingest.Series]ingest.Slot{}, Open: map[ingest.Series]ingest.Slot{}},
		Contact:  &ingest.Contact{AnsweredAt: noon, AskedAt: noon, AcceptedAt: noon},
		Forecast: budget.Forecast{Fits: true, Scheduled: map[string]int64{"units": 844}, Spare: map[string]int64{"units": 4786}},
		Report: quota.Report{At: noon, Pools: []quota.PoolReport{{Pool: "units", Remaining: map[quota.Purpose]int64{quota.Scheduled: 5630},
			Ceilings: map[quota.Purpose]int64{quota.Scheduled: 9500}, ResumesAt: map[quota.Purpose]time.Time{}}}},
	}
	end(&f, us, ingest.Done, 0)
	end(&f, de, ingest.Done, 15*time.Minute)
	return f
}

// end is the newest slot of a series with an outcome, and how long before noon it was due.
func end(f *standing.Facts, series ingest.Series, state ingest.State, ago time.Duration) ingest.Slot {
	s := ingest.Slot{SlotKey: ingest.SlotKey{Job: series.Job, Key: series.Key, DueAt: noon.Add(-ago)}, Kind: ingest.KindChart, State: state}
	s.FirstDueAt, s.Reason = s.DueAt, map[ingest.State]string{ingest.Failed: "no route to host", ingest.Skipped: "YouTube has no such chart", ingest.Stopped: "0 of 9,500 units are left"}[state]
	if f.Latest.Ended[series] = s; state == ingest.Done {
		s.FetchedAt = s.DueAt.Add(time.Minute)
		f.Latest.Done[series], f.Latest.Ended[series] = s, s
	}
	return s
}

// short are charts of DE with too few videos since the one that was due so long before noon, the newest whole one.
func short(f *standing.Facts, videos int, whole time.Duration) {
	last := end(f, de, ingest.Done, whole)
	since := end(f, de, ingest.Done, whole-30*time.Minute)
	since.Videos = videos
	newest := end(f, de, ingest.Done, 15*time.Minute)
	newest.Videos = videos
	f.Latest.Done[de], f.Latest.Ended[de] = newest, newest
	f.Latest.Short = map[ingest.Series]ingest.Shortage{de: {Whole: last, Since: since}}
}

// degrade is a ledger that cannot answer, with the given number of units left to spend without it.
func degrade(f *standing.Facts, units int64, resumes time.Time) {
	f.Report.Degraded, f.Report.EmergencyLeft = quota.ErrUnavailable, []quota.EmergencyLeft{{Pool: "units", Remaining: units, ResumesAt: resumes}}
}

func situationOf(f standing.Facts) report.Situation {
	s := report.Situation{Standing: standing.At(f)}
	if f.StoreErr == nil {
		s.Fresh, s.Next = new(report.NewFreshness(s.Standing)), report.NewNextDocuments(s.Standing)
	}
	if f.LedgerErr == nil {
		d := report.NewQuotaDocument(f.Report, &quota.Tariff{}, f.Forecast)
		s.Quota = &d
	}
	return s
}

type trouble struct {
	name string
	part string // the ledger, the store, the upstream, the quota, one of the charts, the workers
	make func(*standing.Facts)
	mood standing.State
	want string
}

// troubles are all that can be wrong, alone.
var troubles = []trouble{
	{"all is well", "", func(*standing.Facts) {}, report.Good, "All 2 charts are fresh, and the quota lasts."},
	{"one is stale", "charts", func(f *standing.Facts) { end(f, de, ingest.Done, 135*time.Minute) }, report.Bad, "DE is stale."},
	{"one is late", "charts", func(f *standing.Facts) { end(f, de, ingest.Done, 45*time.Minute) }, report.Warn, "DE is late."},
	{"nothing has run for two days", "charts", func(f *standing.Facts) {
		end(f, us, ingest.Done, 48*time.Hour)
		end(f, de, ingest.Done, 48*time.Hour+15*time.Minute)
	}, report.Bad, "All 2 charts are stale: nothing has run since 2026-02-12 12:01."},
	{"the newest fetch of one failed", "charts", func(f *standing.Facts) {
		end(f, de, ingest.Done, 45*time.Minute)
		end(f, de, ingest.Failed, 15*time.Minute)
	}, report.Warn, "DE is fresh, but its newest fetch failed."},
	{"all fetches failed", "charts", func(f *standing.Facts) {
		end(f, de, ingest.Failed, 15*time.Minute)
		end(f, us, ingest.Failed, 0)
	}, report.Warn, "All 2 charts are fresh, but their newest fetch failed."},
	{"the upstream has no such chart", "charts", func(f *standing.Facts) {
		delete(f.Latest.Done, de)
		end(f, de, ingest.Skipped, 15*time.Minute)
	}, report.Warn, "DE is not charted by YouTube (asked again once a day)."},
	{"charts come empty for half an hour", "charts", func(f *standing.Facts) { short(f, 0, 45*time.Minute) }, report.Warn, "DE comes empty since 11:45."},
	{"charts come empty for two days", "charts", func(f *standing.Facts) { short(f, 0, 48*time.Hour) }, report.Bad, "DE comes empty since 2026-02-12 12:30."},
	{"charts come with a part of what they had", "charts", func(f *standing.Facts) { short(f, 9, 45*time.Minute) }, report.Warn, "DE comes with few videos since 11:45."},
	{"one waits for quota", "charts", func(f *standing.Facts) {
		slot := end(f, de, ingest.Stopped, 15*time.Minute)
		slot.RetryAt = noon.Add(20 * time.Hour)
		end(f, de, ingest.Done, 45*time.Minute)
		f.Latest.Ended[de] = slot
	}, report.Warn, "DE waits for quota."},
	{"one has come due", "", func(f *standing.Facts) { end(f, us, ingest.Done, 30*time.Minute) }, report.Good, "All 2 charts are fresh, and the quota lasts."},
	{"one was never fetched", "charts", func(f *standing.Facts) { delete(f.Latest.Done, de); delete(f.Latest.Ended, de) },
		report.Idle, "1 of 2 charts are in, the others wait for their first fetch. The quota lasts until midnight."},
	{"the first fetch is running", "charts", func(f *standing.Facts) {
		slot := end(f, de, ingest.Claimed, 15*time.Minute)
		slot.Lease = noon.Add(time.Hour)
		delete(f.Latest.Done, de)
		delete(f.Latest.Ended, de)
		f.Latest.Open[de] = slot
	}, report.Idle, "The first fetch is running: 1 of 2 charts are in. The quota lasts until midnight."},
	{"nothing was fetched yet", "charts", func(f *standing.Facts) { clear(f.Latest.Done); clear(f.Latest.Ended); f.Contact = nil },
		report.Idle, "Nothing was fetched yet. The quota lasts until midnight."},
	{"the upstream is silent", "upstream", func(f *standing.Facts) {
		f.Contact = &ingest.Contact{SilentSince: f.Now.Add(-128 * time.Minute), AskedAt: noon, Unanswered: 9}
	}, report.Bad, "YouTube has given no usable answer for 2 h 8 min."},
	{"the first call had no answer", "upstream", func(f *standing.Facts) {
		f.Contact = &ingest.Contact{SilentSince: f.Now.Add(-10 * time.Second), AskedAt: f.Now, Unanswered: 4}
	}, report.Bad, "YouTube has given no usable answer for 10s."},
	{"a call had no answer after others had one", "", func(f *standing.Facts) {
		f.Contact = &ingest.Contact{AnsweredAt: f.Now.Add(-20 * time.Second), SilentSince: f.Now.Add(-10 * time.Second), AskedAt: f.Now, Unanswered: 1}
	}, report.Good, "All 2 charts are fresh, and the quota lasts."},
	{"the upstream refuses the key", "upstream", func(f *standing.Facts) { f.Contact = &ingest.Contact{AnsweredAt: noon, AskedAt: noon, RefusedAt: noon} },
		report.Bad, "YouTube refuses the key: nothing is fetched."},
	{"the ledger's file is missing", "ledger", func(f *standing.Facts) { f.LedgerErr = fmt.Errorf("open: %w", quota.ErrMissing) },
		report.Bad, "The quota ledger is missing: nothing is fetched, charts and searches go on."},
	{"the ledger is an older copy", "ledger", func(f *standing.Facts) { f.LedgerErr = fmt.Errorf("%w: %w", quota.ErrCorrupt, quota.ErrOlderCopy) },
		report.Bad, "The quota ledger is an older copy: nothing is fetched, charts and searches go on."},
	{"the ledger is damaged", "ledger", func(f *standing.Facts) { f.LedgerErr = quota.ErrCorrupt },
		report.Bad, "The quota ledger is damaged: nothing is fetched, charts and searches go on."},
	{"the ledger lacks calls", "ledger", func(f *standing.Facts) { f.LedgerErr = fmt.Errorf("%w: %w", quota.ErrIncomplete, quota.ErrClosed) },
		report.Bad, "The quota ledger is incomplete: nothing is fetched, charts and searches go on."},
	{"an error that only says that something is missing", "ledger", func(f *standing.Facts) { f.LedgerErr = errors.New("the path is missing a slash") },
		report.Bad, "The quota ledger cannot be read: nothing is fetched, charts and searches go on."},
	{"the ledger cannot answer", "ledger", func(f *standing.Facts) { degrade(f, 18, time.Time{}) },
		report.Bad, "The ledger cannot answer: cheap calls go on from the emergency budget (18 units left), expensive ones wait."},
	{"the ledger cannot answer, and the emergency budget is used up", "ledger", func(f *standing.Facts) { degrade(f, 0, noon.Add(25*time.Hour)) },
		report.Bad, "The ledger cannot answer: nothing is fetched, as the budget for calls without the ledger is used up until 2026-02-15 13:00:00Z."},
	{"the ledger cannot answer, and no call is cheap", "ledger", func(f *standing.Facts) { f.Report.Degraded = quota.ErrUnavailable },
		report.Bad, "The ledger cannot answer: nothing is fetched."},
	{"the quota is used up", "quota", func(f *standing.Facts) {
		f.Forecast.Fits, f.Forecast.State, f.Forecast.BackAt = false, budget.UsedUp, noon.Add(20*time.Hour)
	}, report.Warn, "Quota is used up until 2026-02-15 08:00:00Z."},
	{"the quota does not last", "quota", func(f *standing.Facts) { f.Forecast.Fits = false }, report.Warn, "Too little quota is left."},
	{"a person closed the pool", "quota", func(f *standing.Facts) {
		p := &f.Report.Pools[0]
		p.DrainedUntil, p.DrainedByHand = noon.Add(20*time.Hour), noon
		f.Forecast.Fits, f.Forecast.State, f.Forecast.BackAt = false, budget.UsedUp, p.DrainedUntil
	}, report.Warn, "Closed by hand until 2026-02-15 08:00:00Z."},
	{"the quota lasts at a slower pace", "quota", func(f *standing.Facts) {
		f.Forecast.Fits, f.Forecast.State, f.Forecast.Pacing = false, budget.Slower, "chart every 1 h instead of 30 m"
	}, report.Warn, "The quota lasts until midnight at a slower pace."},
	{"the quota runs out", "quota", func(f *standing.Facts) {
		f.Forecast.Fits, f.Forecast.State, f.Forecast.RunsOutAt = false, budget.RunsOut, noon.Add(5*time.Hour)
		f.Next = []budget.PricedSlot{{SlotKey: ingest.SlotKey{Job: "chart", Key: "DE", DueAt: noon.Add(5 * time.Hour)}}}
	}, report.Warn, "The quota runs out at 17:00Z."},
	{"the provider says no", "quota", func(f *standing.Facts) {
		f.Report.Pools[0].DrainedUntil = noon.Add(20 * time.Hour)
		f.Forecast.Fits, f.Forecast.State, f.Forecast.BackAt = false, budget.UsedUp, noon.Add(20*time.Hour)
	}, report.Warn, "Quota is used up until 2026-02-15 08:00:00Z."},
	{"the clock is before the ledger's newest entry", "ledger", func(f *standing.Facts) {
		degrade(f, 18, time.Time{})
		f.Report.Degraded = quota.ClockError("its clock says " + noon.Format(time.DateTime+"Z") + ", 3h0m0s before its newest entry: set the clock")
	}, report.Bad, "The ledger cannot answer: cheap calls go on from the emergency budget (18 units left), expensive ones wait."},
	{"the ledger's server is out of memory", "ledger", func(f *standing.Facts) {
		degrade(f, 18, time.Time{})
		f.Report.Degraded = fmt.Errorf("%w: redis: %w", quota.ErrUnavailable, &quota.ServerError{Cause: "the server is out of memory", Cure: "raise maxmemory, or remove the data that fill it", Err: errors.New("OOM")})
	}, report.Bad, "The ledger cannot answer: cheap calls go on from the emergency budget (18 units left), expensive ones wait."},
	{"one of three hosts has not synced since a loss", "ledger", func(f *standing.Facts) {
		degrade(f, 0, noon.Add(10*time.Minute))
		f.Report.Degraded = fmt.Errorf("%w: 2 of 3 hosts have synced; it goes on at 2026-02-14 12:10:00Z at the latest", quota.ErrUnavailable)
	}, report.Bad, "The ledger cannot answer: nothing is fetched, as the budget for calls without the ledger is used up until 2026-02-14 12:10:00Z."},
	{"one of three hosts is frozen", "", func(f *standing.Facts) {
		f.Idle = []ingest.IdleMachine{{Machine: "b", Why: "the database takes no writes", Since: noon.Add(-time.Hour), SeenAt: noon}}
	}, report.Good, "All 2 charts are fresh, and the quota lasts."},
	{"a newer program wrote the ledger", "ledger", func(f *standing.Facts) { f.LedgerErr = fmt.Errorf("open: %w", quota.ErrNewer) },
		report.Bad, "The quota ledger cannot be read: nothing is fetched, charts and searches go on."},
	{"the ledger's file is another user's", "ledger", func(f *standing.Facts) {
		f.LedgerErr = &fs.PathError{Op: "open", Path: "quota.db", Err: syscall.EACCES}
	},
		report.Bad, "The quota ledger cannot be read: nothing is fetched, charts and searches go on."},
	{"the store is damaged", "store", func(f *standing.Facts) {
		f.StoreErr = &store.CorruptError{Path: "ingest.db", Doing: "open the store", Err: errors.New("file is not a database")}
	}, report.Bad, "The store cannot be read."},
	{"the store's server is away, so that the ledger is not asked", "store", func(f *standing.Facts) {
		f.StoreErr = ingest.StoreClosed(errors.New("nothing listens there"))
		f.LedgerErr = f.StoreErr
	}, report.Bad, "The store cannot be read."},
	{"the disk is full", "workers", func(f *standing.Facts) {
		f.Paused = fmt.Errorf("the workers pause: %w", &sqlitefile.NoRoomError{Path: "ingest.db", Err: errors.New("database or disk is full")})
	}, report.Bad, "Nothing is fetched now."},
	{"the machine's clock is not the database's", "workers", func(f *standing.Facts) {
		f.Paused = fmt.Errorf("this machine does not work: %w", &ingest.ClockApart{From: "the database", Ahead: 5 * time.Minute})
	}, report.Bad, "Nothing is fetched now."},
	{"the database takes no writes", "workers", func(f *standing.Facts) { f.Paused = fmt.Errorf("this machine does not work: %w", ingest.ErrNoWrites) },
		report.Bad, "Nothing is fetched now."},
	{"the store cannot be read", "store", func(f *standing.Facts) { f.StoreErr = errors.New("damaged") }, report.Bad, "The store cannot be read."},
	{"the workers pause", "workers", func(f *standing.Facts) { f.Paused = errors.New("the disk is full") }, report.Bad, "Nothing is fetched now."},
}

// The headline says the worst. It is never good while a chart is stale, late or waits, nor while anything else is not
// well.
func TestHeadlineSaysTheWorst(t *testing.T) {
	for _, tt := range troubles {
		f := facts(t)
		tt.make(&f)
		if mood, got := situationOf(f).Headline(); mood != tt.mood || got != tt.want {
			t.Errorf("%s: %s %q, want %s %q", tt.name, mood, got, tt.mood, tt.want)
		}
	}
}

// If two different parts have troubles, the headline begins with a worst one, and all screens agree.
func TestHeadlineSaysTheWorseOfTwoTroubles(t *testing.T) {
	pairs := 0
	for i, one := range troubles {
		for _, other := range troubles[i+1:] {
			if one.part == "" || other.part == "" || one.part == other.part || one.part == "store" || other.part == "store" {
				continue
			}
			f := facts(t)
			one.make(&f)
			other.make(&f)
			pairs++
			s := situationOf(f)
			mood, headline := s.Headline()
			worst := max(one.mood, other.mood)
			if one.mood == other.mood && mood < worst || mood > worst || mood == report.Good {
				t.Errorf("%s, and %s: %s, want %s", one.name, other.name, mood, worst)
			}
			if mood != s.Standing.Worst().State || mood != s.Checks()[0].Mood {
				t.Errorf("%s, and %s: the headline is %s, the standing %s", one.name, other.name, mood, s.Standing.Worst().State)
			}
			if strings.Contains(headline, "all is well") || mood >= report.Warn && strings.Contains(headline, "and the quota lasts") {
				t.Errorf("%s, and %s: %q", one.name, other.name, headline)
			}
		}
	}
	if pairs < 100 {
		t.Errorf("%d pairs, want at least 100", pairs)
	}
}

// The cause behind the headline stands beside it.
func TestReasonIsBehindTheHeadline(t *testing.T) {
	f := facts(t)
	end(&f, de, ingest.Done, 135*time.Minute)
	slot := end(&f, de, ingest.Skipped, 15*time.Minute)
	slot.Reason = "superseded by a newer one"
	f.Latest.Ended[de] = slot
	if got, want := situationOf(f).Reason(), "chart DE (2 h 20 min old), skipped: superseded by a newer one"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f = facts(t)
	f.Paused = errors.New("the disk is full")
	if got, want := situationOf(f).Reason(), "The disk is full."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A chart that the upstream does not have is not stale as long as it has another, and runs come to it.
func TestAbsentChartIsNotStale(t *testing.T) {
	for name, tt := range map[string]struct {
		reason string
		alone  bool
		stale  int
	}{
		"there is none":       {"YouTube has no such chart", false, 0},
		"it was superseded":   {"superseded by the slot of 2026-02-14 12:00:00Z", false, 1},
		"there are no others": {"YouTube has no such chart", true, 2},
	} {
		f := facts(t)
		for _, series := range []ingest.Series{de, us}[:map[bool]int{false: 1, true: 2}[tt.alone]] {
			delete(f.Latest.Done, series)
			slot := end(&f, series, ingest.Skipped, cmp.Or(map[ingest.Series]time.Duration{de: 15 * time.Minute}[series], 0))
			slot.Reason = tt.reason
			f.Latest.Ended[series] = slot
		}
		if got := standing.At(f).StaleSeries(); len(got) != tt.stale {
			t.Errorf("%s: %v are stale, want %d", name, got, tt.stale)
		}
	}
}

// A run that was killed runs no longer than its claim, and one that fetched nothing has run.
func TestWaitKnowsTheRunningAndTheEndedSlots(t *testing.T) {
	f := facts(t)
	killed := end(&f, us, ingest.Claimed, 0)
	killed.Lease = noon.Add(time.Minute)
	clear(f.Latest.Done)
	clear(f.Latest.Ended)
	f.Latest.Open[us] = killed
	for now, running := range map[time.Time]bool{noon: true, noon.Add(time.Minute): false} {
		f.Now = now
		if s := standing.At(f); s.Series[0].Running != running {
			t.Errorf("at %s it runs: %t, want %v", now, !running, running)
		}
	}
	f = facts(t)
	clear(f.Latest.Done)
	clear(f.Latest.Ended)
	end(&f, us, ingest.Done, 5*time.Hour)
	end(&f, us, ingest.Failed, 2*time.Hour)
	slot := ingest.Slot{SlotKey: ingest.SlotKey{Job: "chart", Key: "US", DueAt: noon.Add(-time.Hour)}, FirstDueAt: noon.Add(-time.Hour)}
	if got, want := report.WaitText(standing.At(f), slot), "overdue since 2026-02-14 11:00:00Z; nothing has run since 10:00"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// While the provider has not answered any call, a series whose slots went by waits as those do whose slots come.
func TestNoSeriesIsStaleBeforeTheFirstAnswer(t *testing.T) {
	for _, ended := range []ingest.State{ingest.Skipped, ingest.Missed, ingest.Failed} {
		f := facts(t)
		clear(f.Latest.Done)
		clear(f.Latest.Ended)
		f.Contact = &ingest.Contact{SilentSince: noon, AskedAt: noon, Unanswered: 4}
		end(&f, de, ended, 15*time.Minute)
		for _, one := range standing.At(f).Series {
			if one.State != standing.Never {
				t.Errorf("%s, whose last slot is %s: got %s, want %s", one.Series, ended, one.State, standing.Never)
			}
		}
	}
}
