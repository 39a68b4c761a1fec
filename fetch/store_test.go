package fetch_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// These are the promises that a table in memory could keep too easily.

// onStore gives the bench a real store and the default schedule.
func (b *bench) onStore(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), t.TempDir(), store.Options{Upstream: "127.0.0.1", Now: b.run.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	b.run.Slots, b.run.Sink, b.run.Library = s, s, s
	jobs := []ingest.Job{
		{Name: "chart", Kind: ingest.KindChart, Regions: regions.Default(), Every: 30 * time.Minute, Pages: 4},
		{Name: "refresh", Kind: ingest.KindRefresh, Every: 24 * time.Hour},
	}
	plan, err := regions.NewSchedule(jobs)
	if err != nil {
		t.Fatal(err)
	}
	b.run.Schedule, b.run.Jobs = plan, map[string]ingest.Job{}
	for _, job := range jobs {
		b.run.Jobs[job.Name] = job
	}
	return s
}

func TestAReconcileWithNothingDueWritesNothing(t *testing.T) {
	b := newBench(t, 1000)
	s := b.onStore(t)
	if worked, err := b.run.Run(t.Context(), fetch.RunOptions{}); err != nil || len(worked) != 9 {
		t.Fatalf("%s %v, want 9 of them", states(worked), err)
	}
	db, err := sql.Open("sqlite", "file:"+s.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // the version is one connection's view
	look := func() (version int, wal int64) {
		if err := db.QueryRowContext(t.Context(), `PRAGMA data_version`).Scan(&version); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(s.Path() + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return version, info.Size()
	}
	version, wal := look()
	for range 100 {
		if worked, err := b.run.Run(t.Context(), fetch.RunOptions{}); err != nil || len(worked) != 0 {
			t.Fatalf("%s %v, want none", states(worked), err)
		}
	}
	if v, w := look(); v != version || w != wal {
		t.Errorf("data_version went from %d to %d, the log from %d to %d bytes", version, v, wal, w)
	}
}

func BenchmarkReconcileNothingDue(b *testing.B) {
	bench := newBench(b, 1000)
	bench.onStore(b)
	if worked, err := bench.run.Run(b.Context(), fetch.RunOptions{}); err != nil || len(worked) != 9 {
		b.Fatalf("%s %v, want 9 of them", states(worked), err)
	}
	for b.Loop() {
		if worked, err := bench.run.Run(b.Context(), fetch.RunOptions{}); err != nil || len(worked) != 0 {
			b.Fatal(states(worked), err)
		}
	}
}

func TestTheStoreRefusesTheLateCommitOfAPassThatHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1000).live()
		s := b.onStore(t)
		sink := &watched{Store: s}
		b.run.Sink = sink
		release := make(chan struct{})
		b.upstream.answer = func(_ context.Context, n int) error {
			if n == 2 {
				<-release
			}
			return nil
		}
		told := new(ends).of(b.run)
		trigger, stop := serve(t, b.run)
		trigger()
		time.Sleep(10 * time.Minute)
		if got, rests := told.told(); strings.Count(got, "done 4") != 7 || strings.Count(got, "failed 1") != 1 || len(rests) != 1 || rests[0] != nil {
			t.Errorf("told %q and rested %v", got, rests)
		}
		list := func() ingest.Slot {
			slots, err := s.ListSlots(t.Context(), store.SlotFilter{State: ingest.Failed})
			if err != nil || len(slots) != 1 {
				t.Fatalf("%d slots failed, %v, want 1", len(slots), err)
			}
			return slots[0]
		}
		before := list()
		if before.Pages != 1 || before.Units != 2 || !strings.HasPrefix(before.Reason, "hung: ") {
			t.Errorf("%+v, want 1, 2 and \"hung: \" at the beginning", before)
		}
		close(release)
		time.Sleep(time.Second)
		if sink.fenced.Load() != 1 || !reflect.DeepEqual(list(), before) {
			t.Errorf("%d late commits were refused, want 1; %+v became %+v", sink.fenced.Load(), before, list())
		}
		stop()
	})
}

// watched ignores the end of its context, and counts the pages that the fence refuses.
type watched struct {
	*store.Store
	fenced atomic.Int32
}

func (w *watched) SavePage(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error) {
	slot, err := w.Store.SavePage(context.WithoutCancel(ctx), slot, page)
	if errors.Is(err, ingest.ErrFenced) {
		w.fenced.Add(1)
	}
	return slot, err
}

func TestAPanicInARealPassLeavesTheStoreUsable(t *testing.T) {
	b := newBench(t, 1000)
	s := b.onStore(t)
	b.run.Sink = &explosive{Store: s}
	b.run.Log = slog.New(slog.DiscardHandler)
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{})
	if err != nil || strings.Count(states(worked), "done 4") != 7 || strings.Count(states(worked), "failed 0") != 1 {
		t.Errorf("%s %v, want 7 and 1", states(worked), err)
	}
}

// explosive panics at its first page.
type explosive struct {
	*store.Store
	saved int
}

func (e *explosive) SavePage(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error) {
	if e.saved++; e.saved == 1 {
		panic("nil map")
	}
	return e.Store.SavePage(ctx, slot, page)
}

func TestTwoForcedRunsInOneSecondBothFetch(t *testing.T) {
	b := newBench(t, 1000, "US")
	b.onStore(t)
	b.run.Schedule = schedule(nil)
	for run := range 2 {
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series, Force: true})
		if err != nil || states(worked) != "US done 4; " {
			t.Errorf("run %d: %s %v, want \"US done 4; \"", run+1, states(worked), err)
		}
	}
}
