package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) demoCommand() *cobra.Command {
	var keep bool
	cmd := command("demo", "See it work: no key, no server, under a minute", noArgs, func(ctx context.Context, _ []string) error {
		if a.json {
			return usageError{errors.New("--json: demo tells a story, and has no document; ingest run --json has one")}
		}
		if keep {
			return a.demoServe(ctx)
		}
		return a.demo(ctx)
	})
	cmd.Flags().BoolVar(&keep, "serve", false, "instead keep a stand-in and all pages up, on free ports, until Ctrl-C")
	return cmd
}

// demo is the state of the walk-through.
type demo struct {
	*app
	runtime *fetchRuntime
	sim     *youtubesim.Server
	word    string    // a search word that has results
	start   time.Time // the first slot: yesterday at 17:00 UTC, the provider's morning
}

// playground starts a stand-in on a free port, until stop is called, and configures the app for it. Settings for the
// real upstream must not leak in: only --data counts, and without it the data directory is a new one.
func (a *app) playground(ctx context.Context, costTable string) (sim *youtubesim.Server, stop func(), err error) {
	a.cfg = &config.Config{
		Jobs: config.DefaultJobs(providers["youtube"].limits), Account: "default", Data: a.flags.Data, Ledger: "sqlite", Store: "sqlite", Upstream: "youtube",
		CostTable: costTable, Hosts: 1, Concurrency: 4, StaleAfter: regions.DefaultStaleAfter,
	}
	if a.cfg.Data == "" {
		if a.cfg.Data, err = os.MkdirTemp("", "ingest-demo-"); err != nil {
			return nil, nil, fmt.Errorf("make a data directory: %w", err)
		}
	}
	if sim, err = youtubesim.New(youtubesim.Options{Seed: 1, Now: a.clock.Now, CostTable: costTable}); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it answers as long as serve asks
	url, wait, err := youtubesim.Serve(ctx, "127.0.0.1:0", sim)
	a.cfg.UpstreamURL = url
	return sim, func() {
		cancel()
		if err == nil {
			_ = wait()
		}
	}, err
}

const demoInterval = 30 * time.Minute

func (a *app) demo(ctx context.Context) (err error) {
	d := &demo{app: a, start: time.Now().Truncate(24 * time.Hour).Add(-7 * time.Hour)}
	a.clock.Move(d.start)
	var stop func()
	if d.sim, stop, err = a.playground(ctx, "classic"); err != nil {
		return err
	}
	defer stop()
	if config.FileExists(filepath.Join(a.cfg.Data, store.FileName)) {
		return usageError{fmt.Errorf("%s has a store already: give the demo a directory without one", a.cfg.Data)}
	}
	a.cfg.Jobs = a.cfg.Jobs[:1]
	if d.runtime, err = a.open(ctx); err != nil {
		return err
	}
	defer d.runtime.close()

	d.print("Eight regions, one quota of 10,000 units a day, no key: a stand-in upstream in")
	d.print("this process, and a clock that this demo moves.\nData: %s", a.cfg.Data)
	for _, step := range []func(context.Context) error{d.slots, d.neighbour, d.refusal, d.ledgerDown, d.search, d.report} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	d.print("\nNext:")
	d.print("  ingest search %s --data %s", d.word, a.cfg.Data)
	d.print("  ingest slots --data %s", a.cfg.Data)
	d.print("  ingest run --key-file youtube.key     # the real thing")
	return nil
}

func (d *demo) print(format string, args ...any) { fmt.Fprintf(d.stdout, format+"\n", args...) }

// slots moves the clock through one slot of each region.
func (d *demo) slots(ctx context.Context) error {
	d.print("\n1. Eight regions, each at its own time: never eight bursts at once")
	for _, key := range d.runtime.schedule.Jobs[0].Between(d.start.Add(-time.Second), d.start.Add(demoInterval-time.Second)) {
		d.clock.Move(key.DueAt)
		if _, err := d.pass(ctx, key.Series()); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) pass(ctx context.Context, s ingest.Series) ([]ingest.SlotResult, error) {
	worked, err := d.runtime.reconciler(d.app).Run(ctx, fetch.RunOptions{Series: []ingest.Series{s}})
	for _, slot := range worked {
		d.print("   %s  %s  %-7s %s, %3d videos, %s", slot.DueAt.Format("15:04:05Z"), slot.Key, slot.State,
			term.Plural(slot.Pages, "page"), slot.Videos, report.NewSlotDocument(slot.Slot).Drew(slot.Spent, slot.Drew).Spent())
	}
	return worked, err
}

// neighbour plays a colleague's script that searches, at 100 units a search. It takes from the same ledger, as any tool
// should, and leaves the schedule six units.
func (d *demo) neighbour(ctx context.Context) error {
	const searches, lists = 94, 62
	for i := range searches + lists {
		method, path := "search.list", "search?part=snippet&q=football"
		if i >= searches {
			method, path = "videos.list", "videos?part=id&chart=mostPopular"
		}
		decision, err := d.runtime.ledger.Take(ctx, quota.Request{Method: method, Purpose: quota.Manual})
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

func (d *demo) call(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.cfg.UpstreamURL+"youtube/v3/"+path, nil)
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
func (d *demo) refusal(ctx context.Context) error {
	d.print("\n3. The next round stops cleanly: the fetched charts are kept, no call gets a 403")
	var reason string
	for _, key := range d.runtime.schedule.Jobs[0].Between(d.start.Add(demoInterval-time.Second), d.start.Add(demoInterval+demoInterval/4)) {
		d.clock.Move(key.DueAt)
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
func (d *demo) ledgerDown(ctx context.Context) error {
	d.print("\n4. The ledger is down: the cheap call goes on, the expensive one is not made")
	gone, err := redisledger.Open(ctx, "redis://127.0.0.1:1/0", redisledger.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = gone.Close() }()
	live := d.runtime.ledger.Governor
	g := quota.Governor{Ledger: gone, Tariff: live.Tariff, Account: live.Account, Now: live.Now, EmergencyAccount: live.EmergencyAccount}
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
func (d *demo) search(ctx context.Context) error {
	d.print("\n5. Searching the fetched videos costs no quota, in any script")
	for _, search := range []struct {
		region ingest.Region
		script *unicode.RangeTable
	}{{"US", unicode.Latin}, {"IN", unicode.Devanagari}} {
		chart, err := d.runtime.store.Chart(ctx, search.region, time.Time{}, false)
		if err != nil {
			return err
		}
		word := longestWord(chart.Items, search.script)
		if d.word == "" {
			d.word = word
		}
		found, err := d.runtime.store.Search(ctx, store.SearchQuery{Text: word, Region: search.region, Limit: 2})
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
func (d *demo) report(ctx context.Context) error {
	d.print("\n6. The ledger is back; its count is the upstream's")
	if _, err := d.runtime.ledger.Take(ctx, quota.Request{Method: "videos.list", Purpose: quota.Scheduled}); err != nil {
		return err
	}
	r, err := d.runtime.ledger.Report(ctx)
	if err != nil {
		return err
	}
	counted := d.sim.Ledger()
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
