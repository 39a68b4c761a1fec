// Command gateway measures internal/gateway: its extra time for a call compared with a bare proxy, and how many
// cached answers and refusals it gives per second.
//
//	go run ./gateway [-write] [-for 20s] [-disk DIR]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/bench/report"
)

// options are the flags.
type options struct {
	write  bool
	length time.Duration // of each measurement
	disk   string
}

const (
	perSecond   = 200
	connections = 8
	rounds      = 3 // bare and gateway in turns; the median counts
)

func main() {
	var o options
	flag.BoolVar(&o.write, "write", false, "also write the table to "+report.File)
	flag.DurationVar(&o.length, "for", 20*time.Second, "how long each measurement takes")
	flag.StringVar(&o.disk, "disk", os.TempDir(), "a `DIR` on a disk with an honest fsync")
	flag.Parse()
	debug.SetGCPercent(400) // as cmd/ingest does
	if err := measure(context.Background(), o); err != nil {
		fmt.Fprintf(os.Stderr, "gateway: %v\n", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, o options) (err error) {
	r := &report.Report{Title: "The gateway, measured", About: "`cd bench && go run ./gateway -write`: a gateway, its ledger, a provider that answers at once, and who asks, all on this machine. The proxy is `net/http/httputil`'s."}
	r.Machine("Redis " + os.Getenv("REDIS_SERVER"))
	w, err := newWorld(ctx, o.disk)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	for _, part := range []func(context.Context, options, *world, *report.Report) error{beside, cached, refused} {
		if err := part(ctx, o, w, r); err != nil {
			return err
		}
	}
	fmt.Print(r.Markdown())
	if o.write {
		return r.Write(report.File)
	}
	return nil
}

// beside measures calls at a steady rate, through the proxy and through the gateway in turns.
func beside(ctx context.Context, o options, w *world, r *report.Report) error {
	g, err := w.gateway(ctx, "sqlite", 1_000_000_000)
	if err != nil {
		return err
	}
	contenders := []struct {
		name string
		call func(context.Context) error
	}{
		{"bare proxy", get(w.proxy)},
		{"gateway, SQLite on disk", get(g)},
		{"nothing: how late a call begins", func(context.Context) error { return nil }},
		{"two pages written to that disk, and their fsync", syncing(w.disk)},
	}
	var p50, p99 [4][]time.Duration
	var unserved [4]int
	for range rounds {
		for i, c := range contenders {
			took, failed := steady(ctx, c.call, o.length)
			unserved[i] += failed
			slices.Sort(took)
			p50[i], p99[i] = append(p50[i], took[len(took)/2]), append(p99[i], took[len(took)*99/100])
		}
	}
	r.Section("Beside a bare proxy", fmt.Sprintf("%d calls a second, each of them another one and paid for, sent when they are due, in %d turns of %v each; medians of the turns. Beside it, as often and as late, the least cost of a charge that outlives the power.", perSecond, rounds, o.length))
	var rows [][]string
	for i, c := range contenders {
		rows = append(rows, []string{c.name, millis(median(p50[i])), millis(median(p99[i])), fmt.Sprint(unserved[i])})
	}
	r.Table([]string{"", "p50 ms", "p99 ms", "not served"}, rows)
	more, ratio := median(p50[1])-median(p50[0]), float64(median(p99[1]))/float64(median(p99[0]))
	r.Goal("p50 beside a bare proxy at 200/s", "<= 0.3 ms more", millis(more)+" ms more", more <= 300*time.Microsecond)
	r.Goal("p99 beside a bare proxy at 200/s", "<= 1.3 x", report.Ratio(ratio), ratio <= 1.3)
	return nil
}

// cached measures answers that cost no quota.
func cached(ctx context.Context, o options, w *world, r *report.Report) error {
	g, err := w.gateway(ctx, "sqlite", 1_000_000_000)
	if err != nil {
		return err
	}
	rate, used, err := hammer(ctx, g, func() string { return cachedPath }, 200, "items", o.length)
	if err != nil {
		return err
	}
	r.Section("Without a call", fmt.Sprintf("As many requests as %d connections can send, each waiting for its answer, for %v; who sends them takes its part of the processor.", connections, o.length))
	r.Table([]string{"", "a second", "us of the processor"}, [][]string{{"answers from the cache", fmt.Sprintf("%.0f", rate), fmt.Sprint(used.Microseconds())}})
	r.Goal("answers from the cache", ">= 10,000 a second", fmt.Sprintf("%.0f a second", rate), rate >= 10_000)
	return nil
}

// refused measures refusals, each a decision of the ledger.
func refused(ctx context.Context, o options, w *world, r *report.Report) error {
	var rows [][]string
	for _, ledger := range []struct {
		name, kind string
		want       float64
	}{{"SQLite on disk", "sqlite", 1500}, {"Redis, its journal on disk", "redis", 800}} {
		g, err := w.gateway(ctx, ledger.kind, 2) // the ceiling of 99.5 % leaves one of them, which fills the cache
		if err != nil {
			return err
		}
		rate, used, err := hammer(ctx, g, func() string { return unique(0) }, 403, "frees at", o.length)
		if err != nil {
			return fmt.Errorf("%s: %w", ledger.name, err)
		}
		rows = append(rows, []string{ledger.name, fmt.Sprintf("%.0f", rate), fmt.Sprint(used.Microseconds())})
		r.Goal("refusals, "+ledger.name, fmt.Sprintf(">= %.0f a second", ledger.want), fmt.Sprintf("%.0f a second", rate), rate >= ledger.want)
	}
	r.Section("Refusals", "Answers on a spent day, with the sentence that says who spent it; as many as "+fmt.Sprint(connections)+" connections can ask for.")
	r.Table([]string{"ledger", "a second", "us of the processor"}, rows)
	return nil
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1000) }

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
