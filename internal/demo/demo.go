// Package demo is the walk of ingest demo: eight regions on one quota, a refusal, a ledger that is down, a search, and
// the two counts compared, on a stand-in and a clock that the walk moves. The command opens all that it needs.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// Walk is a walk-through. Set every field but Word before Run.
type Walk struct {
	Out   io.Writer
	Start time.Time                // the first slot: yesterday at 17:00 UTC, the provider's morning
	Move  func(time.Time)          // moves the clock of everything here
	Sim   *youtubesim.Server       // the stand-in
	URL   string                   // of the stand-in, with a slash at its end
	Jobs  regions.JobSchedule      // the charts, every half hour
	Fetch func() *fetch.Reconciler // makes one for a single run
	Live  *quota.Governor          // of the ledger that answers
	Down  quota.Ledger             // answers nothing
	Store *store.Store
	Word  string // after Run, a search word that has results
}

const interval = 30 * time.Minute

// Run prints the walk, and returns the error of the first step that went otherwise.
func (d *Walk) Run(ctx context.Context) error {
	steps := []func(context.Context) error{d.slots, d.neighbour, d.refusal, d.ledgerDown, d.search, d.report}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *Walk) print(format string, args ...any) { fmt.Fprintf(d.Out, format+"\n", args...) }

// slots moves the clock through one slot of each region.
func (d *Walk) slots(ctx context.Context) error {
	d.print("\n1. Eight regions, each at its own time: never eight bursts at once")
	for _, key := range d.Jobs.Between(d.Start.Add(-time.Second), d.Start.Add(interval-time.Second)) {
		d.Move(key.DueAt)
		if _, err := d.pass(ctx, key.Series()); err != nil {
			return err
		}
	}
	return nil
}

func (d *Walk) pass(ctx context.Context, s ingest.Series) ([]ingest.SlotResult, error) {
	worked, err := d.Fetch().Run(ctx, fetch.RunOptions{Series: []ingest.Series{s}})
	for _, slot := range worked {
		d.print("   %s  %s  %-7s %s, %3d videos, %s", slot.DueAt.Format("15:04:05Z"), slot.Key, slot.State,
			term.Plural(slot.Pages, "page"), slot.Videos, report.NewSlotDocument(slot.Slot).Drew(slot.Spent, slot.Drew).Spent())
	}
	return worked, err
}

// neighbour plays a colleague's script that searches, at 100 units a search. It takes from the same ledger, as any tool
// should, and leaves the schedule six units.
func (d *Walk) neighbour(ctx context.Context) error {
	const searches, lists = 94, 62
	for i := range searches + lists {
		method, path := "search.list", "search?part=snippet&q=football"
		if i >= searches {
			method, path = "videos.list", "videos?part=id&chart=mostPopular"
		}
		decision, err := d.Live.Take(ctx, quota.Request{Method: method, Purpose: quota.Manual})
		if err != nil {
			return err
		}
		if !decision.Allowed {
			return fmt.Errorf("the demo's own call was refused: %v", decision.Refusal)
		}
		if err := d.call(ctx, path); err != nil {
			return err
		}
	}
	d.print("\n2. A colleague's script makes %d searches (100 units each) and %d look-ups,", searches, lists)
	d.print("   drawn from the same ledger: ingest quota take search.list")
	return nil
}

func (d *Walk) call(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL+"youtube/v3/"+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the stand-in answered %s", answer.Status)
	}
	return nil
}

// refusal runs the next round, with too little quota left for it.
func (d *Walk) refusal(ctx context.Context) error {
	d.print("\n3. The next round stops cleanly: the fetched charts are kept, no call gets a 403")
	var reason string
	for _, key := range d.Jobs.Between(d.Start.Add(interval-time.Second), d.Start.Add(interval+interval/4)) {
		d.Move(key.DueAt)
		worked, err := d.pass(ctx, key.Series())
		if err != nil {
			return err
		}
		for _, slot := range worked {
			if slot.State == ingest.Stopped {
				reason = slot.Reason
			}
		}
	}
	if reason == "" {
		return errors.New("the demo expected a refusal and saw none")
	}
	for _, part := range strings.Split(reason, "; ") {
		d.print("   %s", part)
	}
	return nil
}

// ledgerDown takes from a ledger at a local port where nothing listens.
func (d *Walk) ledgerDown(ctx context.Context) error {
	d.print("\n4. The ledger is down: the cheap call goes on, the expensive one is not made")
	g := quota.Governor{Ledger: d.Down, Tariff: d.Live.Tariff, Account: d.Live.Account, Now: d.Live.Now,
		EmergencyAccount: d.Live.EmergencyAccount}
	cheap, err := g.Take(ctx, quota.Request{Method: "videos.list", Purpose: quota.Manual})
	if err != nil || !cheap.Degraded {
		return fmt.Errorf("the demo expected the cheap call to go on: %w", err)
	}
	if err := d.call(ctx, "videos?part=id&chart=mostPopular"); err != nil {
		return err
	}
	d.print("   videos.list  1 unit     goes on, counted in the journal, posted afterwards")
	_, err = g.Take(ctx, quota.Request{Method: "search.list", Purpose: quota.Manual})
	if !errors.Is(err, quota.ErrClosed) {
		return fmt.Errorf("the demo expected the expensive call to fail closed, not: %w", err)
	}
	d.print("   search.list  100 units  is not made (exit 69)")
	return nil
}

// search searches for a word of a chart's titles, in two scripts.
func (d *Walk) search(ctx context.Context) error {
	d.print("\n5. Searching the fetched videos costs no quota, in any writing system")
	for _, search := range []struct {
		region ingest.Region
		script *unicode.RangeTable
	}{{"US", unicode.Latin}, {"IN", unicode.Devanagari}} {
		chart, err := d.Store.Chart(ctx, search.region, time.Time{}, false)
		if err != nil {
			return err
		}
		word := longestWord(chart.Items, search.script)
		if d.Word == "" {
			d.Word = word
		}
		found, err := d.Store.Search(ctx, store.SearchQuery{Text: word, Region: search.region, Limit: 2})
		if err != nil {
			return err
		}
		d.print("   ingest search %s --region %s", word, search.region)
		for _, i := range found.Items {
			d.print("     %s %s", term.Pad(i.Video.ID, 12), term.Fit(i.Video.Title, 60))
		}
	}
	return nil
}

func longestWord(chart []ingest.Placement, script *unicode.RangeTable) string {
	longest := ""
	for _, p := range chart {
		for _, word := range strings.FieldsFunc(p.Video.Title, func(r rune) bool { return !unicode.Is(script, r) }) {
			if len(word) > len(longest) {
				longest = word
			}
		}
	}
	return longest
}

// report takes from the ledger again, which first learns of the calls made without it, and compares its count.
func (d *Walk) report(ctx context.Context) error {
	d.print("\n6. The ledger is back; it counts as much as the upstream")
	if _, err := d.Live.Take(ctx, quota.Request{Method: "videos.list", Purpose: quota.Scheduled}); err != nil {
		return err
	}
	r, err := d.Live.Report(ctx)
	if err != nil {
		return err
	}
	counted := d.Sim.Ledger()
	for _, p := range r.Pools {
		for _, w := range p.Windows {
			if w.Window.Day() {
				d.print("   %-7s %6s used by the ledger, %6s by the upstream, limit %s",
					p.Pool, term.Thousands(w.Used), term.Thousands(counted.Today[p.Pool]), term.Thousands(p.Limit))
			}
			if w.Used != counted.Units[p.Pool] {
				return fmt.Errorf("the ledger counts %d %s, the upstream %d", w.Used, p.Pool, counted.Units[p.Pool])
			}
		}
	}
	d.print("   refused by the upstream: %d", counted.Refused["units"]+counted.Refused["search"])
	return nil
}
