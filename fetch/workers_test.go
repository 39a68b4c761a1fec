package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
)

// live makes the bench use the clock of its bubble.
func (b *bench) live() *bench {
	b.run.Now, b.governor.Now, b.ledger.Now = time.Now, time.Now, time.Now
	return b
}

// ends collects serve's reports, as "US done 4".
type ends struct {
	mu    sync.Mutex
	slots []string
	rests []error
}

func (e *ends) of(r *fetch.Reconciler) *ends {
	r.OnSlot = func(w ingest.SlotResult) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.slots = append(e.slots, fmt.Sprintf("%s %s %d", w.Key, w.State, w.Pages))
	}
	r.OnPause = func(err error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.rests = append(e.rests, err)
	}
	return e
}

// told returns the reports since its last call.
func (e *ends) told() (slots string, rests []error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	slices.Sort(e.slots)
	slots, rests = strings.Join(e.slots, "; "), e.rests
	e.slots, e.rests = nil, nil
	return slots, rests
}

// serve starts the workers; at the end of the test they are stopped, and must be back within 5 s.
func serve(t *testing.T, r *fetch.Reconciler) (trigger func(), stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	trigger, wait := r.Serve(ctx)
	return trigger, func() {
		t.Helper()
		began := time.Now()
		cancel()
		wait()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the stop took %v", took)
		}
	}
}

// slowly makes every call last for d, and counts how many are in flight at once, in all and for one region.
type slowly struct {
	mu        sync.Mutex
	d         time.Duration
	now, most int
	regions   map[string]int
	overlap   bool
}

func (s *slowly) call(b *bench) func(context.Context, int) error {
	return func(ctx context.Context, n int) error {
		b.upstream.mu.Lock()
		region := b.upstream.calls[n-1][:2]
		b.upstream.mu.Unlock()
		s.add(region, 1)
		defer s.add(region, -1)
		select {
		case <-time.After(s.d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *slowly) add(region string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.regions == nil {
		s.regions = map[string]int{}
	}
	s.now += n
	s.regions[region] += n
	s.most = max(s.most, s.now)
	s.overlap = s.overlap || s.regions[region] > 1
}

func (s *slowly) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func TestWorkersAreManyButNeverTwoOfASeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1000, "US", "GB", "DE", "FR").live()
		again := slices.Clone(b.run.Schedule.(schedule))
		for i := range again {
			again[i].DueAt = again[i].DueAt.Add(time.Hour)
		}
		b.run.Schedule = append(b.run.Schedule.(schedule), again...) // two slots of each series
		b.run.Workers = 3
		slow := &slowly{d: 30 * time.Second}
		b.upstream.answer = slow.call(b)
		began := time.Now()
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
		if err != nil || len(worked) != 8 || strings.Contains(states(worked), "due") {
			t.Fatalf("%s %v, want 8 slots, none due", states(worked), err)
		}
		if slow.most != 3 || slow.overlap {
			t.Errorf("%d calls at once, want 3; two of a series: %v", slow.most, slow.overlap)
		}
		if took, alone := time.Since(began), 32*30*time.Second; took > alone/2 {
			t.Errorf("three workers took %v, one would take %v", took, alone)
		}
	})
}

func TestDueSlotsAreHandedOutOneByOne(t *testing.T) {
	b := newBench(t, 100, "US", "GB", "DE")
	for i, left := range []int{3, 2, 1, 0} {
		due, err := b.run.Due(t.Context())
		if err != nil || len(due) != left {
			t.Fatalf("%v, %v are due after %d passes, want %v", due, err, i, left)
		}
		if left == 0 {
			break
		}
		got, err := b.run.Run(t.Context(), fetch.RunOptions{Series: []ingest.Series{due[0].Series()}})
		if err != nil || len(got) != 1 || got[0].SlotKey != due[0] || got[0].State != ingest.Done {
			t.Fatalf("%v, %v for %v", got, err, due[0])
		}
	}
	if used := b.used(t); used != 12 {
		t.Errorf("%d units, want 12", used)
	}
}

// If narrow runs follow each other closely, one looks for due slots, for all, and all keep to the pace that it found.
func TestRunsThatFollowEachOtherLookOnce(t *testing.T) {
	b := newBench(t, 100, "US", "GB")
	looks := 0
	b.run.Pace = func(context.Context, map[ingest.Series]time.Time, time.Time) (fetch.Scheduler, map[string]int) {
		looks++
		return b.run.Schedule, map[string]int{"chart": 1}
	}
	var look fetch.DueScan
	for _, tt := range []struct {
		series ingest.Series
		want   string
		looks  int
		then   time.Duration
	}{
		{b.series[0], "US done 1; ", 1, 0},
		{b.series[1], "GB done 1; ", 1, time.Second},
		{b.series[1], "", 2, -time.Hour}, // a clock that is set back
		{b.series[1], "", 3, 0},
	} {
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: []ingest.Series{tt.series}, DueScan: &look})
		if err != nil || states(worked) != tt.want || looks != tt.looks {
			t.Errorf("%s: %q after %d looks, %v; want %q after %d", tt.series, states(worked), looks, err, tt.want, tt.looks)
		}
		b.now = b.now.Add(tt.then)
	}
}

func TestATriggerReturnsAtOnceAndIdleWorkersTakeItsSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1000, "US", "GB").live()
		both := b.run.Schedule.(schedule)
		now := mutable{slow: time.Second}
		now.set(both[:1])
		b.run.Schedule, b.run.Workers = &now, 2
		slow := &slowly{d: time.Minute}
		b.upstream.answer = slow.call(b)
		told := new(ends).of(b.run)
		trigger, stop := serve(t, b.run)
		trigger()
		time.Sleep(90 * time.Second) // US is at its second page
		now.set(both)
		began := time.Now()
		for range 100 {
			trigger()
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("a hundred triggers took %v, want none", took)
		}
		time.Sleep(3 * time.Second)
		if n := slow.running(); n != 2 {
			t.Errorf("%d passes run after the trigger, want 2", n)
		}
		time.Sleep(10 * time.Minute)
		if got, rests := told.told(); got != "GB done 4; US done 4" || len(rests) != 1 || rests[0] != nil {
			t.Errorf("told %q and rested %v", got, rests)
		}
		stop()
	})
}

// mutable is a schedule that a test changes while it is asked.
type mutable struct {
	mu   sync.Mutex
	due  schedule
	slow time.Duration // how long it takes to answer
}

func (m *mutable) set(s schedule) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.due = slices.Clone(s)
}

func (m *mutable) Due(known map[ingest.Series]time.Time, now time.Time) []ingest.Slot {
	time.Sleep(m.slow)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.due.Due(known, now)
}

func TestAFatalErrorLetsTheWorkersRestUntilTheNextTrigger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1000, "US", "GB", "DE").live()
		b.upstream.answer = on(fetch.BadKey, 1)
		told := new(ends).of(b.run)
		trigger, stop := serve(t, b.run)
		trigger()
		time.Sleep(time.Hour)
		var call *fetch.Error
		got, rests := told.told()
		if got != "US due 0" || len(rests) != 1 || !errors.As(rests[0], &call) || call.Verdict != fetch.BadKey {
			t.Errorf("told %q and rested %v, want one call with the bad key", got, rests)
		}
		trigger()
		time.Sleep(time.Hour)
		if got, rests := told.told(); got != "DE done 4; GB done 4; US done 4" || len(rests) != 1 || rests[0] != nil {
			t.Errorf("told %q and rested %v", got, rests)
		}
		stop()
		trigger() // after the end: nothing
	})
}

func TestAPanicFailsItsSlotAndHarmsNoOther(t *testing.T) {
	b := newBench(t, 1000, "US", "GB")
	var log bytes.Buffer
	b.run.Log = slog.New(slog.NewTextHandler(&log, nil))
	b.upstream.answer = func(_ context.Context, n int) error {
		if n == 2 {
			panic("index out of range\n\tin the upstream " + strings.Repeat("é", 400))
		}
		return nil
	}
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	if err != nil || states(worked) != "US failed 1; GB done 4; " {
		t.Fatalf("%s %v, want \"US failed 1; GB done 4; \"", states(worked), err)
	}
	row := b.table.slot(worked[0].SlotKey)
	if row.State != ingest.Failed || !strings.HasPrefix(row.Reason, "panic: index out of range in the upstream é") ||
		strings.Contains(row.Reason, "\n") || len(row.Reason) > 310 {
		t.Errorf("the row is %s: %q", row.State, row.Reason)
	}
	if row.Units != 2 || !strings.Contains(log.String(), "workers_test.go") {
		t.Errorf("%d units, the log has no stack: %s", row.Units, log.String())
	}
}

func TestAPassThatHangsFailsAndItsLateCommitIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		hears  bool // the end of its context
		reason string
		within time.Duration
	}{
		{"an upstream that drips", true, "hung: no page within its lease of 3m0s", 2 * time.Second},
		{"a call that hears nothing", false, "hung: no page within its lease of 3m0s, and the pass does not return", 4500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 1000, "US", "GB").live()
				release := make(chan struct{})
				b.upstream.answer = func(ctx context.Context, n int) error {
					if n != 3 {
						time.Sleep(time.Minute) // each page holds the claim for another lease
						return nil
					}
					if c.hears {
						<-ctx.Done()
						return ctx.Err()
					}
					<-release
					return nil
				}
				told := new(ends).of(b.run)
				trigger, stop := serve(t, b.run)
				trigger()
				time.Sleep(2*time.Minute + fetch.DefaultLease + c.within + time.Second)
				us := b.run.Schedule.(schedule)[0].SlotKey
				row := b.table.slot(us)
				if got, _ := told.told(); got != "US failed 2" || row.State != ingest.Failed || row.Reason != c.reason || row.Units != 3 || row.Pages != 2 {
					t.Errorf("told %q; the row is %s %q, %d pages, %d units", got, row.State, row.Reason, row.Pages, row.Units)
				}
				time.Sleep(10 * time.Minute)
				if got, rests := told.told(); got != "GB done 4" || len(rests) != 1 || rests[0] != nil {
					t.Errorf("told %q and rested %v: the other was harmed", got, rests)
				}
				close(release)
				synctest.Wait()
				if late := b.table.slot(us); fmt.Sprint(late) != fmt.Sprint(row) || len(b.table.pages[us]) != 2 {
					t.Errorf("a late commit made %+v of %+v", late, row)
				}
				stop()
			})
		})
	}
}

func TestAStopWaitsForNoPassThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1000, "US", "GB").live()
		release := make(chan struct{})
		b.upstream.answer = func(context.Context, int) error { <-release; return nil }
		told := new(ends).of(b.run)
		trigger, stop := serve(t, b.run)
		trigger()
		time.Sleep(time.Minute)
		stop()
		if got, rests := told.told(); got != "" || len(rests) != 0 {
			t.Errorf("told %q, rested %v, want \"\" and 0", got, rests)
		}
		if row := b.table.slot(b.run.Schedule.(schedule)[0].SlotKey); row.State != ingest.Claimed {
			t.Errorf("the slot is %s, want it claimed until its lease is over", row.State)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		worked, err := b.run.Run(ctx, fetch.RunOptions{Series: b.series[1:]})
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || len(worked) != 0 || took > time.Minute+5*time.Second {
			t.Errorf("Run: %s %v after %v", states(worked), err, took)
		}
		close(release)
	})
}

func TestSlotsThatLeftTheConfigEnd(t *testing.T) {
	b := newBench(t, 1000, "US", "GB")
	add := func(job, key string) ingest.SlotKey {
		k := ingest.SlotKey{Job: job, Key: key, DueAt: start.Add(-time.Hour)}
		if err := b.table.AddDue(t.Context(), []ingest.Slot{{SlotKey: k, Kind: ingest.KindChart, State: ingest.Due}}); err != nil {
			t.Fatal(err)
		}
		return k
	}
	job, region, kept := add("music", "US"), add("chart", "FR"), add("refresh", "")
	if _, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series}); err != nil {
		t.Fatal(err)
	}
	for k, want := range map[ingest.SlotKey]string{
		job:    "skipped the config no longer has job music",
		region: "skipped the config no longer has FR in job chart",
		kept:   "due ",
	} {
		if s := b.table.slot(k); string(s.State)+" "+s.Reason != want {
			t.Errorf("%s %s is %s %q, want %q", k.Job, k.Key, s.State, s.Reason, want)
		}
	}
}
