package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/quota"
)

// admission is a call that was admitted between two times.
type admission struct{ asked, answered time.Time }

// exact counts the takes that each contender admits within one true window, in real time. One call opens the first
// window; late in it a burst begins that lasts beyond its end. All contenders run at once, on their own accounts.
func exact(ctx context.Context, s *server, ours quota.Ledger, r *report.Report) error {
	l := limit{100, 2 * time.Second}
	r.Section("Exactness: a burst at the edge of a window", fmt.Sprintf(
		"Limit %d per %v. One call, then from 1.6 s to 4.5 s a call every millisecond. Counted is the most that was surely let through "+
			"within one trailing window: asked and answered in it.", l.units, l.per))
	names := []string{"ours"}
	takes := []take{taking(ours, func(a string, cost int64) quota.Ask { return within(a, cost, l) })}
	for _, p := range []peer{redisRate, throttle, ulule, classic} {
		t, err := p.open(s.client, l)
		if err != nil {
			return err
		}
		names, takes = append(names, p.label()), append(takes, t)
	}
	if err := flush(ctx, s.client); err != nil {
		return err
	}
	admitted, errs := make([][]admission, len(takes)), make([]error, len(takes))
	var wg sync.WaitGroup
	for i, t := range takes {
		wg.Go(func() { admitted[i], errs[i] = burst(ctx, t) })
	}
	wg.Wait()
	var rows [][]string
	for i, name := range names {
		if errs[i] != nil {
			return fmt.Errorf("%s: %w", name, errs[i])
		}
		rows = append(rows, []string{name, fmt.Sprint(mostWithin(admitted[i], l.per)), fmt.Sprint(l.units)})
	}
	r.Table([]string{"", "admitted in one window", "limit"}, rows)
	mine := mostWithin(admitted[0], l.per)
	r.Goal("admitted in one true window", fmt.Sprintf("%d, the limit", l.units), fmt.Sprint(mine), int64(mine) == l.units)
	return flush(ctx, s.client)
}

func burst(ctx context.Context, t take) ([]admission, error) {
	var all []admission
	start := time.Now()
	try := func() error {
		asked := time.Now()
		ok, err := t(ctx, "a", 1)
		if ok {
			all = append(all, admission{asked, time.Now()})
		}
		return err
	}
	if err := try(); err != nil {
		return nil, err
	}
	time.Sleep(time.Until(start.Add(1600 * time.Millisecond)))
	for time.Since(start) < 4500*time.Millisecond {
		if err := try(); err != nil {
			return nil, err
		}
		time.Sleep(time.Millisecond)
	}
	return all, nil
}

// mostWithin returns the most admissions that lie entirely within one window.
func mostWithin(all []admission, window time.Duration) int {
	most, from := 0, 0
	for to := range all {
		for all[to].answered.Sub(all[from].asked) >= window {
			from++
		}
		most = max(most, to-from+1)
	}
	return most
}
