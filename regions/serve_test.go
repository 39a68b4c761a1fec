package regions_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
)

// everyday is a schedule with all kinds of lines, including some that are affected by the clocks of New York: a bubble
// begins in 2000, which has a leap day, and there 2 April has 23 hours and 29 October 25.
func everyday(t *testing.T, every time.Duration) regions.Schedule {
	t.Helper()
	us := []ingest.Region{"US"}
	schedule, err := regions.NewSchedule([]ingest.Job{
		chart(every, ""),
		{Name: "refresh", Kind: ingest.KindRefresh, Every: 24 * time.Hour},
		{Name: "skipped", Kind: ingest.KindChart, Regions: us, Cron: "CRON_TZ=America/New_York 30 2 * * *"},
		{Name: "twice", Kind: ingest.KindChart, Regions: us, Cron: "CRON_TZ=America/New_York 30 1 * * *"},
		{Name: "wild", Kind: ingest.KindChart, Regions: us, Cron: "CRON_TZ=America/New_York */20 * * * *"},
		{Name: "leap", Kind: ingest.KindChart, Regions: us, Cron: "0 6 29 2 *"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return schedule
}

// table keeps slots as the store does: one row each, and the newest of every series.
type table struct {
	schedule    regions.Schedule
	known       map[ingest.Series]time.Time
	slots       map[ingest.SlotKey]ingest.State
	twice, late int
}

func newTable(schedule regions.Schedule) *table {
	return &table{schedule: schedule, known: map[ingest.Series]time.Time{}, slots: map[ingest.SlotKey]ingest.State{}}
}

func (b *table) reconcile(now time.Time) {
	for _, s := range b.schedule.Due(b.known, now) {
		if _, ok := b.slots[s.SlotKey]; ok {
			b.twice++
		}
		if _, ok := b.known[s.Series()]; ok && !s.DueAt.Equal(now) {
			b.late++
		}
		b.slots[s.SlotKey] = s.State
		b.known[s.Series()] = s.DueAt
	}
}

// wants checks that the table has every slot due after from and not after to exactly once.
func (b *table) wants(t *testing.T, from, to time.Time) {
	t.Helper()
	want := 0
	for _, s := range b.schedule {
		for _, k := range s.Between(from, to) {
			want++
			if b.slots[k] == "" {
				t.Errorf("%v is lost", k)
			}
		}
	}
	for k := range b.slots {
		if k.DueAt.After(to) {
			t.Errorf("%v came before it was due", k)
		}
		if !k.DueAt.After(from) {
			want++ // the one that was newest at the start
		}
	}
	if len(b.slots) != want || b.twice > 0 {
		t.Errorf("%d slots, of which %d came twice, want %d", len(b.slots), b.twice, want)
	}
}

func (b *table) count(state ingest.State) int {
	n := 0
	for _, s := range b.slots {
		if s == state {
			n++
		}
	}
	return n
}

// serving serves schedule until d has passed in the bubble, and returns when Serve has.
func serving(t *testing.T, schedule regions.Schedule, d, heartbeat time.Duration, now func() time.Time, do func(context.Context, time.Time)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	schedule.Serve(ctx, heartbeat, now, do)
}

func TestServeSeesEverySlotOnceAndOnTime(t *testing.T) {
	for _, c := range []struct {
		name                     string
		length, every, heartbeat time.Duration
	}{
		{"a day at a heartbeat of 30 s", 24 * time.Hour, 30 * time.Minute, 0},
		{"a year, with its leap day and days of 23 and 25 hours", 366 * 24 * time.Hour, 2 * time.Hour, 12 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			synctest.Test(t, func(t *testing.T) {
				start, book := time.Now(), newTable(everyday(t, c.every))
				calls := 0
				serving(t, book.schedule, c.length+time.Second, c.heartbeat, time.Now, func(_ context.Context, now time.Time) {
					calls++
					book.reconcile(now)
				})
				book.wants(t, start, start.Add(c.length))
				if missed := book.count(ingest.Missed); missed > 0 || book.late > 0 {
					t.Errorf("%d slots missed and %d late, want all on the second", missed, book.late)
				}
				t.Logf("%d calls, %d slots", calls, len(book.slots))
			})
			t.Logf("in %v", time.Since(began).Round(time.Millisecond))
		})
	}
}

// A laptop that sleeps stops the timers but not the clock: the clock jumps, the timers go on.
func TestSleepAndClockStepsLoseNoSlotAndDoubleNone(t *testing.T) {
	for _, step := range []time.Duration{5 * time.Hour, 40 * 24 * time.Hour, time.Hour, -time.Hour, time.Second, -time.Second} {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stepped atomic.Int64
				now := func() time.Time { return time.Now().Add(time.Duration(stepped.Load())).Round(0) }
				time.AfterFunc(10*time.Hour+13*time.Second, func() { stepped.Store(int64(step)) })
				start, book := now(), newTable(everyday(t, 30*time.Minute))
				var seen, seenAt time.Time // when do saw the step, by the clock and by the machine's timers
				serving(t, book.schedule, 20*time.Hour+17*time.Second, regions.Heartbeat, now, func(_ context.Context, at time.Time) {
					if seen.IsZero() && stepped.Load() != 0 {
						seen, seenAt = at, time.Now()
					}
					book.reconcile(at)
				})
				if late := seenAt.Sub(start.Add(10*time.Hour + 13*time.Second)); late < 0 || late > regions.Heartbeat {
					t.Errorf("the step was seen after %v, want within a heartbeat", late)
				}
				from, end := start, now()
				if oldest := seen.Add(-ingest.KeepFor); oldest.After(start) { // too old to be missed
					from = oldest
					maps.DeleteFunc(book.slots, func(k ingest.SlotKey, _ ingest.State) bool { return !k.DueAt.After(from) })
				}
				book.wants(t, from, end)
				if missed := book.count(ingest.Missed); step > time.Hour && missed == 0 || step < 0 && missed > 0 {
					t.Errorf("%d slots missed over a step of %v", missed, step)
				}
			})
		})
	}
}

func TestSlotsDuringABlockedCallAreMissedNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, book := time.Now(), newTable(everyday(t, 30*time.Minute))
		blocked := false
		serving(t, book.schedule, 24*time.Hour+time.Second, 0, time.Now, func(_ context.Context, now time.Time) {
			book.reconcile(now)
			if !blocked && now.Sub(start) >= 3*time.Hour {
				blocked = true
				time.Sleep(7 * time.Hour)
			}
		})
		book.wants(t, start, start.Add(24*time.Hour))
		// All but the newest of the 14 slots of each of eight regions, and of the 21 of */20.
		if missed := book.count(ingest.Missed); missed < 8*12 || missed > 8*13+21 {
			t.Errorf("%d slots missed in seven hours", missed)
		}
	})
}

func TestServeNeverOverlapsAndTriggersThatComeMeanwhileAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int32
		var calls []time.Duration
		start := time.Now()
		serving(t, everyday(t, 30*time.Minute), 59*time.Minute+50*time.Second, time.Minute, time.Now, func(context.Context, time.Time) {
			if running.Add(1) > 1 {
				t.Error("calls under way: got 2 at once, want 1")
			}
			calls = append(calls, time.Since(start))
			if len(calls) == 1 {
				time.Sleep(50*time.Minute + 30*time.Second)
			}
			running.Add(-1)
		})
		// One call at once, and one for everything that came due in 50 minutes; then a beat a minute after each call,
		// and the chart's region that is due at 56:15.
		if len(calls) != 2+9 || calls[1] != 50*time.Minute+30*time.Second || calls[2] != 51*time.Minute+30*time.Second {
			t.Errorf("calls at %v", calls)
		}
	})
}

func TestServeEndsAtOnceWhenItsContextDoes(t *testing.T) {
	never := func(context.Context, time.Time) { t.Error("a call after Serve ended: got one, want none") }
	t.Run("before it began", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			everyday(t, 30*time.Minute).Serve(ctx, 0, time.Now, never)
		})
	})
	t.Run("while it waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			serving(t, everyday(t, 30*time.Minute), 17*time.Second, 0, time.Now, func(context.Context, time.Time) {})
			if took := time.Since(start); took != 17*time.Second {
				t.Errorf("ended after %v", took)
			}
		})
	})
	t.Run("while do runs, which is waited for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start, ended := time.Now(), false
			serving(t, everyday(t, 30*time.Minute), time.Hour, 0, time.Now, func(ctx context.Context, _ time.Time) {
				if ended {
					t.Error("a call after Serve ended: got one, want none")
				}
				<-ctx.Done()
				time.Sleep(3 * time.Second)
				ended = true
			})
			if took := time.Since(start); !ended || took != time.Hour+3*time.Second {
				t.Errorf("ended after %v, do has ended: %v", took, ended)
			}
		})
	})
}

// The bubble fails if a goroutine is left behind.
func TestAPanicOfDoLeavesThroughServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if recover() != "do" {
				t.Error(`recovered by the caller: want the panic "do"`)
			}
			time.Sleep(24 * time.Hour)
		}()
		calls := 0
		serving(t, everyday(t, 30*time.Minute), time.Hour, 0, time.Now, func(context.Context, time.Time) {
			if calls++; calls == 3 {
				panic("do")
			}
			if calls > 3 {
				t.Errorf("calls after a panic at the third: got %d in all, want 3", calls)
			}
		})
	})
}

func TestAScheduleWithoutJobsHasItsHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		serving(t, nil, 10*time.Minute+time.Second, 0, time.Now, func(context.Context, time.Time) { calls++ })
		if calls != 1+20 {
			t.Errorf("%d calls in ten minutes, want one at once and 20 beats", calls)
		}
	})
}

// INGEST_NOW moves the clock of the program, not of the machine.
func TestServeTicksByTheClockItIsGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		moved := time.Until(at(t, "2026-02-14T08:59:59.7Z"))
		now := func() time.Time { return time.Now().Add(moved).Round(0) }
		start, book := now(), newTable(everyday(t, 30*time.Minute))
		serving(t, book.schedule, 48*time.Hour, 24*time.Hour, now, func(_ context.Context, now time.Time) { book.reconcile(now) })
		book.wants(t, start, start.Add(48*time.Hour).Add(-time.Second))
		if book.late > 0 || book.count(ingest.Missed) > 0 {
			t.Errorf("%d slots late, %d missed, want none", book.late, book.count(ingest.Missed))
		}
	})
}

// A program that runs robfig/cron itself can give it a schedule: it fires at each due time, and at no other.
func TestCronRunsASchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		schedule := everyday(t, 30*time.Minute)
		began := time.Now()
		var mu sync.Mutex
		var fired []time.Time
		c := cron.New()
		c.Schedule(schedule, cron.FuncJob(func() {
			mu.Lock()
			defer mu.Unlock()
			fired = append(fired, time.Now().UTC())
		}))
		c.Start()
		time.Sleep(48*time.Hour + time.Second)
		<-c.Stop().Done()
		var want []time.Time
		for _, s := range schedule {
			for _, slot := range s.Between(began, time.Now()) {
				want = append(want, slot.DueAt)
			}
		}
		slices.SortFunc(want, time.Time.Compare)
		if want = slices.Compact(want); len(want) < 100 || !slices.EqualFunc(fired, want, time.Time.Equal) {
			t.Errorf("fired %d times, and %d were due", len(fired), len(want))
		}
	})
}
