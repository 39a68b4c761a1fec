package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
)

func fails(v fetch.CallVerdict) error {
	return &fetch.Error{Verdict: v, Method: "videos.list", Err: errors.New("the upstream said " + string(v))}
}

// on answers the first n calls with a verdict.
func on(v fetch.CallVerdict, calls int) func(context.Context, int) error {
	return func(_ context.Context, n int) error {
		if n <= calls {
			return fails(v)
		}
		return nil
	}
}

func TestEveryPageIsOneTake(t *testing.T) {
	b := newBench(t, 1000, "US", "GB")
	told := map[string]int{}
	b.run.OnCall = func(method, verdict string, _ time.Duration) { told[method+" "+verdict]++ }
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	if err != nil || states(worked) != "US done 4; GB done 4; " {
		t.Fatalf("%s %v, want \"US done 4; GB done 4; \"", states(worked), err)
	}
	if len(told) != 1 || told["videos.list ok"] != 8 {
		t.Errorf("told of %v, want 8 calls that were answered", told)
	}
	if len(b.upstream.calls) != 8 || b.used(t) != 8 || worked[0].Units != 4 {
		t.Errorf("%d calls, %d units used, %d in the slot: want 8, 8, 4", len(b.upstream.calls), b.used(t), worked[0].Units)
	}
	worked, err = b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	if err != nil || len(worked) != 0 || len(b.upstream.calls) != 8 {
		t.Errorf("a second run of the same slots: %s, %d calls, %v, want no slot, and 8 calls in all", states(worked), len(b.upstream.calls), err)
	}
}

func TestARefusalKeepsTheSavedPagesAndSaysWhen(t *testing.T) {
	b := newBench(t, 6, "US", "GB", "DE")
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	if err != nil || states(worked) != "US done 4; GB stopped 2; DE stopped 0; " {
		t.Fatalf("%s %v, want \"US done 4; GB stopped 2; DE stopped 0; \"", states(worked), err)
	}
	if len(b.upstream.calls) != 6 {
		t.Errorf("%d calls left, want the 6 that fit", len(b.upstream.calls))
	}
	gb := worked[1]
	if !strings.Contains(gb.Reason, "all 6 units that the schedule may use in 24h are used") || !gb.RetryAt.Equal(start.Add(24*time.Hour+30*time.Second)) {
		t.Errorf("reason %q, retry at %s", gb.Reason, gb.RetryAt)
	}
	if len(b.table.pages[gb.SlotKey]) != 2 {
		t.Errorf("%d pages kept, want 2", len(b.table.pages[gb.SlotKey]))
	}
}

func TestAStoppedSlotGoesOnWhereItWas(t *testing.T) {
	for _, c := range []struct {
		later time.Duration
		calls string
	}{
		{5 * time.Minute, "US-3 US-4"},          // the chart is young: at its token
		{11 * time.Minute, "US US-2 US-3 US-4"}, // it has moved on: from page 1
	} {
		b := newBench(t, 2, "US")
		if worked, _ := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series}); states(worked) != "US stopped 2; " {
			t.Fatal(states(worked))
		}
		for p := range b.governor.Tariff.Pools {
			for w := range b.governor.Tariff.Pools[p].Windows {
				b.governor.Tariff.Pools[p].Windows[w].Limit = 100
			}
		}
		b.now, b.upstream.calls = start.Add(c.later), nil
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
		if err != nil || states(worked) != "US done 4; " || strings.Join(b.upstream.calls, " ") != c.calls {
			t.Errorf("after %v: %s, calls %v, %v; want %s", c.later, states(worked), b.upstream.calls, err, c.calls)
		}
		if again := strings.Contains(worked[0].Reason, "2 pages lost"); again != (len(b.upstream.calls) == 4) {
			t.Errorf("after %v: %q, and %d calls", c.later, worked[0].Reason, len(b.upstream.calls))
		}
		if worked[0].Videos != 4 {
			t.Errorf("after %v: %d videos, want 4", c.later, worked[0].Videos)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		verdict fetch.CallVerdict
		first   int // calls answered so
		want    string
		calls   int
		used    int64
		ends    error
	}{
		// One failing answer in front of a chart of four pages.
		{fetch.Broken, 1, "US done 4; GB done 4; ", 9, 9, nil},
		{fetch.Burst, 3, "US done 4; GB done 4; ", 11, 11, nil},
		{fetch.Unsent, 3, "US done 4; GB done 4; ", 11, 8, nil},
		{fetch.NoChart, 1, "US skipped 0; GB done 4; ", 5, 5, nil},
		{fetch.BadRegion, 1, "US failed 0; GB done 4; ", 5, 5, nil},
		{fetch.Rejected, 1, "US failed 0; GB done 4; ", 5, 5, nil},
		{fetch.BadToken, 1, "US failed 0; GB done 4; ", 5, 5, nil},
		// More than a call's share.
		{fetch.Broken, 4, "US failed 0; GB done 4; ", 8, 8, nil},
		{fetch.Unsent, 99, "US due 0; ", 4, 0, fails(fetch.Unsent)},
		{fetch.BadKey, 99, "US due 0; ", 1, 1, fails(fetch.BadKey)},
		// Spent: one call, and never a second one for any region.
		{fetch.Spent, 99, "US stopped 0; GB stopped 0; ", 1, 1, nil},
	} {
		t.Run(fmt.Sprintf("%s %d times", c.verdict, c.first), func(t *testing.T) {
			b := newBench(t, 1000, "US", "GB")
			b.upstream.answer = on(c.verdict, c.first)
			worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
			var call *fetch.Error
			if (err != nil) != (c.ends != nil) || c.ends != nil && (!errors.As(err, &call) || call.Verdict != c.verdict) {
				t.Errorf("ended with %v, want %v", err, c.ends)
			}
			if states(worked) != c.want || len(b.upstream.calls) != c.calls || b.used(t) != c.used {
				t.Errorf("%s %d calls, %d used; want %s %d, %d", states(worked), len(b.upstream.calls), b.used(t), c.want, c.calls, c.used)
			}
			for _, s := range worked {
				if s.State != ingest.Done && s.Reason == "" {
					t.Errorf("%s is %s without a reason", s.Key, s.State)
				}
			}
		})
	}
}

func TestASpentPoolStaysClosedUntilTheProvidersMidnight(t *testing.T) {
	b := newBench(t, 1000, "US")
	if err := b.governor.Post(t.Context(), quota.Who{Purpose: quota.Manual}, quota.Cost{"units": 900}, b.now); err != nil { // a refusal below this is doubted
		t.Fatal(err)
	}
	b.upstream.answer = on(fetch.Spent, 1)
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	midnight := time.Date(2026, 2, 15, 8, 0, 0, 0, time.UTC) // in Los Angeles
	if err != nil || states(worked) != "US stopped 0; " || !worked[0].RetryAt.Equal(midnight) {
		t.Fatalf("%s retry at %s, %v; want %s", states(worked), worked[0].RetryAt, err, midnight)
	}
	b.now = midnight.Add(-time.Millisecond)
	if worked, _ = b.run.Run(t.Context(), fetch.RunOptions{Series: b.series}); states(worked) != "US stopped 0; " || len(b.upstream.calls) != 1 {
		t.Fatalf("before midnight: %s %d calls, want \"US stopped 0; \" and 1", states(worked), len(b.upstream.calls))
	}
	b.now = midnight
	if worked, _ = b.run.Run(t.Context(), fetch.RunOptions{Series: b.series}); states(worked) != "US done 4; " {
		t.Fatalf("at midnight: %s, want \"US done 4; \"", states(worked))
	}
}

// A false refusal costs minutes: one call asks the pool again, and the chart goes on.
func TestADoubtedRefusalIsAskedAgain(t *testing.T) {
	b := newBench(t, 1000, "US", "GB")
	b.upstream.answer = on(fetch.Spent, 1)
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	if err != nil || states(worked) != "US stopped 0; GB stopped 0; " || worked[0].RetryAt.Sub(b.now) > 7*time.Minute ||
		!strings.Contains(worked[0].Reason, "tries again") {
		t.Fatalf("%s %q, retry at %s, %v", states(worked), worked[0].Reason, worked[0].RetryAt, err)
	}
	b.now = b.now.Add(7 * time.Minute)
	if worked, _ = b.run.Run(t.Context(), fetch.RunOptions{Series: b.series}); states(worked) != "US done 4; GB done 4; " || len(b.upstream.calls) != 9 {
		t.Fatalf("then: %s %d calls, want \"US done 4; GB done 4; \" and 9", states(worked), len(b.upstream.calls))
	}
}

func TestABadTokenRestartsThePassOnce(t *testing.T) {
	for _, c := range []struct {
		bad  []int // calls that the upstream answers with a bad token
		want string
	}{
		{[]int{3}, "US done 4; "},
		{[]int{3, 6}, "US failed 3; "},
	} {
		b := newBench(t, 1000, "US")
		b.upstream.answer = func(_ context.Context, n int) error {
			for _, bad := range c.bad {
				if n == bad {
					return fails(fetch.BadToken)
				}
			}
			return nil
		}
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
		if err != nil || !strings.HasPrefix(states(worked), strings.TrimSuffix(c.want, "3; ")) {
			t.Errorf("bad tokens %v: %s %v, want %s", c.bad, states(worked), err, c.want)
		}
		if worked[0].State == ingest.Done && worked[0].Videos != 4 {
			t.Errorf("%d videos after a restart, want 4", worked[0].Videos)
		}
	}
}

// A signal in the middle of a call: the call is paid for, so its page is kept; the next run goes on.
func TestAnEndingRunKeepsThePageInFlight(t *testing.T) {
	b := newBench(t, 1000, "US", "GB")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("SIGTERM")
	b.upstream.answer = func(call context.Context, n int) error {
		if n == 2 {
			cancel(ended)
			return call.Err()
		}
		return nil
	}
	worked, err := b.run.Run(ctx, fetch.RunOptions{Series: b.series})
	if !errors.Is(err, ended) || states(worked) != "US due 2; " || len(b.table.pages[worked[0].SlotKey]) != 2 {
		t.Fatalf("%s %v, %d pages kept, want error %v, \"US due 2; \" and 2", states(worked), err, len(b.table.pages[worked[0].SlotKey]), ended)
	}
	b.upstream.answer = nil
	worked, err = b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	if err != nil || states(worked) != "US done 4; GB done 4; " || b.used(t) != 8 {
		t.Errorf("%s %v, %d used: want both done for 8 units", states(worked), err, b.used(t))
	}
}

// A signal between a take and its answer: the answer is waited for, and the call that will not be sent is given back.
func TestAnEndingRunGivesBackItsLastTake(t *testing.T) {
	b := newBench(t, 1000, "US")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("SIGTERM")
	b.run.Quota = interrupted{b.governor, func() { cancel(ended) }}
	worked, err := b.run.Run(ctx, fetch.RunOptions{Series: b.series})
	if !errors.Is(err, ended) || states(worked) != "US due 0; " || worked[0].Units != 0 {
		t.Errorf("%s %v, %d units in the slot, want error %v, \"US due 0; \" and 0", states(worked), err, worked[0].Units, ended)
	}
	if used := b.used(t); used != 0 || len(b.upstream.calls) != 0 {
		t.Errorf("the ledger counts %d, and %d calls arrived, want 0 and 0", used, len(b.upstream.calls))
	}
}

// interrupted ends the run after the ledger has charged and before it has answered.
type interrupted struct {
	*quota.Governor
	end func()
}

func (i interrupted) Take(ctx context.Context, r quota.Request) (quota.Decision, error) {
	d, err := i.Governor.Take(ctx, r)
	i.end()
	if ctx.Err() != nil {
		return quota.Decision{}, context.Cause(ctx)
	}
	return d, err
}

// A machine that sleeps between the take and the call must not send it: the windows cover a call only for the grace.
func TestATakeThatIsTooOldIsTakenAnew(t *testing.T) {
	b := newBench(t, 1000, "US")
	b.run.Quota = sleepy{b.governor, b}
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series, Pages: 1})
	if err != nil || states(worked) != "US done 1; " || b.used(t) != 1 || worked[0].Units != 1 {
		t.Errorf("%s %v, %d used, %d in the slot; want one unit", states(worked), err, b.used(t), worked[0].Units)
	}
}

// sleepy suspends the process after its first take.
type sleepy struct {
	*quota.Governor
	b *bench
}

func (s sleepy) Take(ctx context.Context, r quota.Request) (quota.Decision, error) {
	d, err := s.Governor.Take(ctx, r)
	if s.b.now.Equal(start) {
		s.b.now = start.Add(time.Minute)
	}
	return d, err
}

func TestAClockSetBackDatesNoFetchBeforeItsSlot(t *testing.T) {
	b := newBench(t, 1000, "US")
	b.upstream.answer = func(context.Context, int) error {
		b.now = start.Add(-20 * time.Minute)
		return nil
	}
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series, Pages: 1})
	if err != nil || len(worked) != 1 || !worked[0].FetchedAt.Equal(start) {
		t.Errorf("got %v %+v, want one slot, fetched when it came due", err, worked)
	}
}

func TestAFencedPassChangesNothing(t *testing.T) {
	b := newBench(t, 1000, "US")
	b.table.fenced = true
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	if err != nil || len(worked) != 1 || worked[0].State != ingest.Claimed || worked[0].Spent != 1 || len(b.table.pages) != 0 {
		t.Errorf("%s %v, %d pages; want the slot, as claimed, with the unit that it cost here", states(worked), err, len(b.table.pages))
	}
}

func TestAPageThatCannotBeSavedIsAskedForAgain(t *testing.T) {
	b := newBench(t, 1000, "US")
	b.table.full = 3
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	if err == nil || states(worked) != "US due 2; " {
		t.Fatalf("%s %v, want the run to end with the slot at page 2", states(worked), err)
	}
	b.upstream.calls = nil
	worked, err = b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	if err != nil || states(worked) != "US done 4; " || worked[0].Videos != 4 || strings.Join(b.upstream.calls, " ") != "US-3 US-4" {
		t.Errorf("%s %v, %d videos, calls %v, want \"US done 4; \", 4 and \"US-3 US-4\"", states(worked), err, worked[0].Videos, b.upstream.calls)
	}
}

func TestALedgerThatIsDownEndsTheRunAndKeepsTheSlot(t *testing.T) {
	b := newBench(t, 1000, "US", "GB")
	b.ledger.Now = func() time.Time { return b.now }
	down := quota.ErrUnavailable
	b.run.Quota = broken{err: down}
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	if !errors.Is(err, down) || states(worked) != "US due 0; " || len(b.upstream.calls) != 0 {
		t.Errorf("%s %v, %d calls, want error %v, \"US due 0; \" and 0", states(worked), err, len(b.upstream.calls), down)
	}
}

type broken struct {
	fetch.Quota
	err error
}

func (b broken) Take(context.Context, quota.Request) (quota.Decision, error) {
	return quota.Decision{}, b.err
}

// wrapped is a quota in a wrapper, as a tracer makes one.
type wrapped struct{ fetch.Quota }

func TestAnAnsweredProbeOpensThePoolThroughAnyWrapperOfTheQuota(t *testing.T) {
	b := newBench(t, 1000, "US")
	b.run.Quota = wrapped{b.governor}
	b.upstream.answer = on(fetch.Spent, 1)
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	if err != nil || states(worked) != "US stopped 0; " {
		t.Fatalf("%s %v, want a doubted refusal to stop the slot", states(worked), err)
	}
	b.now = b.now.Add(6 * time.Minute)
	worked, err = b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	if err != nil || states(worked) != "US done 4; " {
		t.Errorf("%s %v, want the first answer to open the pool for the rest", states(worked), err)
	}
}

func TestARefreshDeletesEvenWithoutQuota(t *testing.T) {
	for _, c := range []struct {
		limit int64
		want  ingest.State
		calls int
	}{{100, ingest.Done, 2}, {1, ingest.Stopped, 1}} {
		b := newBench(t, c.limit)
		b.table.stale = [][]string{make([]string, 50), make([]string, 7)}
		slot := ingest.Slot{SlotKey: ingest.SlotKey{Job: "refresh", DueAt: start}, Kind: ingest.KindRefresh, State: ingest.Due}
		b.run.Schedule = schedule{slot}
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: []ingest.Series{slot.Series()}})
		if err != nil || len(worked) != 1 || worked[0].State != c.want || b.table.swept != 1 || len(b.upstream.calls) != c.calls {
			t.Errorf("limit %d: %s %v, swept %d times, %d calls", c.limit, states(worked), err, b.table.swept, len(b.upstream.calls))
		}
	}
}

func TestAForcedRunIsManual(t *testing.T) {
	b := newBench(t, 1000, "US")
	if _, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series, Force: true, Pages: 1}); err != nil {
		t.Fatal(err)
	}
	spent, err := b.ledger.Spent(t.Context(), "default", start.Add(-time.Hour), 0)
	if err != nil || len(spent) == 0 || spent[0].Who.Purpose != quota.Manual {
		t.Errorf("%v %v, want the forced slot spent as manual", spent, err)
	}
}

// Three answers in four are useless: every page would come in the end, at four times its price.
func TestAPassWithTooManyRetriesEnds(t *testing.T) {
	b := newBench(t, 1000, "US")
	b.upstream.answer = func(_ context.Context, n int) error {
		if n%4 != 0 {
			return &fetch.Error{Verdict: fetch.Broken, Method: "videos.list", Err: errors.New("HTTP 503")}
		}
		return nil
	}
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{})
	if err != nil || len(worked) != 1 {
		t.Fatalf("%s %v, want one", states(worked), err)
	}
	slot := worked[0]
	if slot.State != ingest.Due || slot.Pages != 3 || slot.Units != 15 || b.used(t) != 15 {
		t.Errorf("%s with %d pages, %d units (%d in the ledger): want due again at page 4, after 11 retries", slot.State, slot.Pages, slot.Units, b.used(t))
	}
	if !strings.Contains(slot.Reason, "retries in this pass") {
		t.Errorf("reason %q, want \"retries in this pass\" in it", slot.Reason)
	}
}

// Page 2 fails four times: the next run asks for it again, and page 1 is not lost. A run that then saves no page, or has
// begun the chart again since its token was too old, is the last one.
func TestAChartWhosePageFailsGoesOnInTheNextRun(t *testing.T) {
	for _, tt := range []struct {
		later time.Duration
		fails int // calls of the second run
		want  string
		calls string
	}{
		{5 * time.Minute, 0, "US done 4; ", "US-2 US-3 US-4"},
		{5 * time.Minute, 4, "US failed 1; ", "US-2 US-2 US-2 US-2"},
		{11 * time.Minute, 0, "US done 4; ", "US US-2 US-3 US-4"},
		{11 * time.Minute, 5, "US failed 1; ", "US US-2 US-2 US-2 US-2"},
	} {
		b := newBench(t, 1000, "US")
		b.run.Notes = &notes{}
		b.upstream.answer = func(_ context.Context, n int) error {
			if n > 1 && n <= 5 || n > 5 && n <= 5+tt.fails && b.upstream.calls[n-1] != "US" {
				return fails(fetch.Broken)
			}
			return nil
		}
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{})
		if err != nil || states(worked) != "US due 1; " || !worked[0].RetryAt.Equal(start.Add(time.Minute)) || worked[0].Reason == "" ||
			b.run.Notes.(*notes).text != "" {
			t.Fatalf("the first run: %s, again at %s: %s, %v", states(worked), worked[0].RetryAt, worked[0].Reason, err)
		}
		b.now, b.upstream.calls = start.Add(tt.later), b.upstream.calls[:5:5]
		worked, err = b.run.Run(t.Context(), fetch.RunOptions{})
		if calls := strings.Join(b.upstream.calls[5:], " "); err != nil || states(worked) != tt.want || calls != tt.calls {
			t.Errorf("after %v: %s, calls %s, %v; want %s, %s", tt.later, states(worked), calls, err, tt.want, tt.calls)
		}
	}
}

// If the schedule is paced, a chart begins only if the rest pays for all of it: no page is bought for a chart that
// will not be whole.
func TestAChartIsBegunOnlyIfItCanBeFinished(t *testing.T) {
	b := newBench(t, 11, "US", "GB")
	b.run.Pace = atPace(b.run.Schedule, nil)
	worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
	if err != nil || states(worked) != "US done 4; GB stopped 0; " || b.used(t) != 4 {
		t.Errorf("%s with %d of 11 units used, %v, want \"US done 4; GB stopped 0; \" and 4", states(worked), b.used(t), err)
	}
}

// A call that the upstream certainly refused for its rate, and does not charge for, is refunded; an uncertain one
// stays charged.
func TestBurstsThatAreNotChargedAreGivenBack(t *testing.T) {
	for _, tt := range []struct {
		free, sure bool
		used       int64
	}{{true, true, 4}, {true, false, 6}, {false, true, 6}} {
		b := newBench(t, 1000, "US")
		b.run.FreeBursts = tt.free
		b.upstream.answer = func(_ context.Context, n int) error {
			if n == 1 || n == 4 {
				return &fetch.Error{Verdict: fetch.Burst, Sure: tt.sure, Method: "videos.list", Err: errors.New("HTTP 429")}
			}
			return nil
		}
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{})
		if err != nil || states(worked) != "US done 4; " || b.used(t) != tt.used || worked[0].Units != tt.used {
			t.Errorf("free %v, sure %v: %s, %d units used, %d in the slot, %v, want %d", tt.free, tt.sure, states(worked), b.used(t), worked[0].Units, err, tt.used)
		}
	}
}

// A retry costs as much as a page: a chart that begins has room for some.
func TestARetryLeavesNoPartialChart(t *testing.T) {
	for _, tt := range []struct {
		fails int // which call
		units int64
		want  string
		used  int64
	}{
		{6, 8, "US done 4; GB stopped 0; ", 4},
		{1, 12, "US done 4; GB stopped 0; ", 5},
		{3, 13, "US done 4; GB done 4; ", 9},
	} {
		b := newBench(t, tt.units, "US", "GB")
		b.run.Pace = atPace(b.run.Schedule, nil)
		b.upstream.answer = func(_ context.Context, n int) error {
			if n == tt.fails {
				return fails(fetch.Broken)
			}
			return nil
		}
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{Series: b.series})
		if err != nil || states(worked) != tt.want || b.used(t) != tt.used {
			t.Errorf("call %d of %d units fails: %s with %d used, %v, want %s with %d", tt.fails, tt.units, states(worked), b.used(t), err, tt.want, tt.used)
		}
	}
}

// A person who asks for charts now, or for a number of pages, gets them until quota is refused, whatever the
// schedule's pace.
func TestForcedSlotsAndPagesAreNotPaced(t *testing.T) {
	for want, o := range map[string]fetch.RunOptions{ // a person's ceiling is 5 of 6 units, the schedule's here 6
		"US done 4; GB stopped 1; ": {Force: true},
		"US done 4; GB stopped 2; ": {Pages: 4},
	} {
		b := newBench(t, 6, "US", "GB")
		b.run.Pace = atPace(held{}, map[string]int{"chart": 1})
		o.Series = b.series
		worked, err := b.run.Run(t.Context(), o)
		if err != nil || states(worked) != want {
			t.Errorf("%+v: %s, %v, want %s", o, states(worked), err, want)
		}
	}
}

// held is a schedule without a due slot.
type held struct{}

func (held) Due(map[ingest.Series]time.Time, time.Time) []ingest.Slot { return nil }

// atPace returns a pace that is always the same.
func atPace(s fetch.Scheduler, pages map[string]int) func(context.Context, map[ingest.Series]time.Time, time.Time) (fetch.Scheduler, map[string]int) {
	return func(context.Context, map[ingest.Series]time.Time, time.Time) (fetch.Scheduler, map[string]int) {
		return s, pages
	}
}

// A slot that waits for units takes the next turn of its paced job, and the units that the pace has for it: no other slot
// is added for them.
func TestAPacedSlotThatIsOpenGoesFirst(t *testing.T) {
	b := newBench(t, 1000, "US", "GB")
	due := b.run.Schedule.(schedule)
	open := due[0]
	open.State, open.Reason = ingest.Stopped, "units are used up"
	b.table.slots = []ingest.Slot{open}
	b.run.Pace = func(context.Context, map[ingest.Series]time.Time, time.Time) (fetch.Scheduler, map[string]int) {
		return due[1:], map[string]int{"chart": 4}
	}
	b.now = start.Add(time.Hour)
	for _, want := range []string{"US done 4; ", "GB done 4; "} {
		worked, err := b.run.Run(t.Context(), fetch.RunOptions{})
		if got := states(worked); err != nil || got != want {
			t.Errorf("%s %v, want %s", got, err, want)
		}
	}
}
