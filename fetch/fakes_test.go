package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table is slots, sink and library in memory, with the fence: as much of them as charts and a refresh of videos need.
type table struct {
	fetch.Sink
	fetch.Library

	mu     sync.Mutex
	slots  []ingest.Slot
	pages  map[ingest.SlotKey][]ingest.Page
	stale  [][]string
	early  time.Duration // as it was asked for the stale ones
	swept  int
	fenced bool // as if another run had taken every slot over
	full   int  // the number of the page that finds the disk full
}

func (t *table) AddDue(_ context.Context, slots []ingest.Slot) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range slots {
		if !slices.ContainsFunc(t.slots, func(o ingest.Slot) bool { return o.SlotKey == s.SlotKey }) {
			t.slots = append(t.slots, s)
		}
	}
	return nil
}

func (t *table) Newest(context.Context, time.Time) (map[ingest.Series]time.Time, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[ingest.Series]time.Time{}
	for _, s := range t.slots {
		if s.DueAt.After(out[s.Series()]) {
			out[s.Series()] = s.DueAt
		}
	}
	return out, nil
}

func (t *table) Claim(_ context.Context, c ingest.Claim) (ingest.Slot, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, s := range t.slots {
		if t.open(s, c.Now) && c.Series[s.Series()] && !c.Except[s.SlotKey] {
			s.State, s.Owner, s.Attempt, s.Tries, s.Lease, s.RetryAt = ingest.Claimed, c.Owner, s.Attempt+1, s.Tries+1, c.Now.Add(c.Lease), time.Time{}
			t.slots[i] = s
			return s, true, nil
		}
	}
	return ingest.Slot{}, false, nil
}

func (t *table) Claimable(_ context.Context, now time.Time) (open []ingest.SlotKey, _ error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.slots {
		if t.open(s, now) {
			open = append(open, s.SlotKey)
		}
	}
	return open, nil
}

// open reports whether a slot may be claimed.
func (t *table) open(s ingest.Slot, now time.Time) bool {
	open := s.State == ingest.Due && !s.RetryAt.After(now) || s.State == ingest.Stopped || s.State == ingest.Claimed && !s.Lease.After(now)
	return open && !slices.ContainsFunc(t.slots, func(o ingest.Slot) bool {
		return o.Series() == s.Series() && o.State == ingest.Claimed && o.Lease.After(now)
	})
}

func (t *table) Retire(_ context.Context, gone map[ingest.Series]string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, s := range t.slots {
		if reason, ok := gone[s.Series()]; ok && s.State == ingest.Due {
			t.slots[i].State, t.slots[i].Reason = ingest.Skipped, reason
		}
	}
	return nil
}

// slot returns the row as it is.
func (t *table) slot(k ingest.SlotKey) ingest.Slot {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.slots {
		if s.SlotKey == k {
			return s
		}
	}
	return ingest.Slot{}
}

func (t *table) Finish(_ context.Context, slot ingest.Slot) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.write(slot)
}

func (t *table) write(slot ingest.Slot) error {
	for i, s := range t.slots {
		if s.SlotKey == slot.SlotKey && s.State == ingest.Claimed && s.Attempt == slot.Attempt && !t.fenced {
			t.slots[i] = slot
			return nil
		}
	}
	return ingest.ErrFenced
}

func (t *table) SavePage(_ context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot.Pages == t.full {
		t.full = 0
		return slot, errors.New("the disk is full")
	}
	if slot.Pages == 1 {
		delete(t.pages, slot.SlotKey)
	}
	slot.Videos = len(page.Videos)
	for _, p := range t.pages[slot.SlotKey] {
		slot.Videos += len(p.Videos)
	}
	if err := t.write(slot); err != nil {
		return slot, err
	}
	if t.pages == nil {
		t.pages = map[ingest.SlotKey][]ingest.Page{}
	}
	t.pages[slot.SlotKey] = append(t.pages[slot.SlotKey], page)
	return slot, nil
}

func (t *table) VideosToRefresh(_ context.Context, _ time.Time, early time.Duration, _ int) ([]string, error) {
	t.early = early
	if len(t.stale) == 0 {
		return nil, nil
	}
	return t.stale[0], nil
}

func (t *table) SaveVideos(_ context.Context, slot ingest.Slot, _ ingest.Asked, _ ingest.Page) (ingest.Slot, ingest.Absences, error) {
	t.stale = t.stale[1:]
	return slot, ingest.Absences{}, t.write(slot)
}

func (t *table) VideosInDoubt(context.Context, time.Time, int) ([]string, error) { return nil, nil }
func (t *table) Witnesses(context.Context, int) ([]string, error)                { return nil, nil }

func (t *table) Sweep(context.Context, time.Time) (placements, videos int, err error) {
	t.swept++
	return 3, 2, nil
}

func (t *table) Charted(context.Context, ingest.Series) (bool, error) { return false, nil }

func (t *table) NoChartUntil(context.Context, ingest.Region, string) (time.Time, error) {
	return time.Time{}, nil
}

func (t *table) SaveNoChart(context.Context, ingest.Region, string, time.Time) error { return nil }

// upstream serves charts of the given number of pages, one video each, and counts the arriving calls. answer may
// replace an answer, by the number of the call from 1.
type upstream struct {
	mu     sync.Mutex
	pages  int
	calls  []string // region and token
	answer func(ctx context.Context, n int) error
}

func (u *upstream) Chart(region ingest.Region, _, token string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: "videos.list", Region: region, Do: func(ctx context.Context) (ingest.Page, error) {
		u.mu.Lock()
		u.calls = append(u.calls, string(region)+token)
		number, answer := len(u.calls), u.answer
		u.mu.Unlock()
		if answer != nil {
			if err := answer(ctx, number); err != nil {
				return ingest.Page{}, err
			}
		}
		n := 1
		if token != "" {
			if _, err := fmt.Sscanf(token, "-%d", &n); err != nil {
				return ingest.Page{}, &fetch.Error{Verdict: fetch.BadToken, Err: err}
			}
		}
		page := ingest.Page{Videos: []ingest.Video{{ID: fmt.Sprintf("%s%d", region, n)}}}
		if n < u.pages {
			page.Next = fmt.Sprintf("-%d", n+1)
		}
		return page, nil
	}}
}

func (u *upstream) Videos(ids []string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: "videos.list", Do: func(ctx context.Context) (ingest.Page, error) {
		u.calls = append(u.calls, fmt.Sprint(len(ids)))
		if u.answer != nil {
			return ingest.Page{}, u.answer(ctx, len(u.calls))
		}
		return ingest.Page{}, nil
	}}
}

func (u *upstream) Limits() fetch.Limits {
	return fetch.Limits{IDsPerCall: 50, PerPage: 50, ChartPages: 4, SearchPages: 10, Uploads: 20_000}
}

// schedule always returns the same slots.
type schedule []ingest.Slot

func (s schedule) Due(map[ingest.Series]time.Time, time.Time) []ingest.Slot { return slices.Clone(s) }

// bench is a reconciler with everything around it in memory.
type bench struct {
	table    *table
	upstream *upstream
	ledger   *memledger.Ledger
	governor *quota.Governor
	run      *fetch.Reconciler
	now      time.Time
	series   []ingest.Series
}

var start = time.Date(2026, 2, 14, 9, 0, 0, 0, time.UTC)

// newBench returns a bench with one slot due for each region, four pages of one unit each, under a limit of units.
func newBench(t testing.TB, limit int64, regions ...string) *bench {
	t.Helper()
	b := &bench{table: &table{}, upstream: &upstream{pages: 4}, now: start}
	clock := func() time.Time { return b.now }
	b.ledger = &memledger.Ledger{Now: clock}
	costs, err := os.ReadFile("../costs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tariff, err := quota.ParseCosts("costs.yaml", costs, "youtube", "classic")
	if err != nil {
		t.Fatal(err)
	}
	for p := range tariff.Pools {
		for w := range tariff.Pools[p].Windows {
			tariff.Pools[p].Windows[w].Limit = limit
		}
	}
	tariff.Ceilings[quota.Scheduled], tariff.Ceilings[quota.Refresh] = 1_000_000, 1_000_000
	b.governor = &quota.Governor{Ledger: b.ledger, Tariff: tariff, Account: "default", Now: clock}
	job := ingest.Job{Name: "chart", Kind: ingest.KindChart, Pages: 4}
	var due schedule
	for i, r := range regions {
		job.Regions = append(job.Regions, ingest.Region(r))
		slot := ingest.Slot{SlotKey: ingest.SlotKey{Job: "chart", Key: r, DueAt: start.Add(time.Duration(i) * time.Minute)}, Kind: ingest.KindChart, State: ingest.Due}
		due = append(due, slot)
		b.series = append(b.series, slot.Series())
	}
	b.run = &fetch.Reconciler{
		Jobs: map[string]ingest.Job{
			"chart":   job,
			"refresh": {Name: "refresh", Kind: ingest.KindRefresh},
		},
		Schedule: due, Slots: b.table, Sink: b.table, Library: b.table, Upstream: b.upstream, Quota: b.governor,
		Owner: "test", Now: clock, Log: slog.New(slog.DiscardHandler),
		Pause: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	return b
}

// used returns how many units the ledger counts.
func (b *bench) used(t *testing.T) int64 {
	t.Helper()
	r, err := b.governor.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Pools {
		if p.Pool == "units" {
			return p.Windows[0].Used
		}
	}
	t.Fatal("the ledger's pools: got none called units, want one")
	return 0
}

func states(slots []ingest.SlotResult) string {
	out := ""
	for _, s := range slots {
		out += fmt.Sprintf("%s %s %d; ", s.Key, s.State, s.Pages)
	}
	return out
}
