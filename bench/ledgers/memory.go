package main

import (
	"context"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/quota"
)

// memory counts the bytes of all keys after a number of calls, then measures an account after a long idle time.
func memory(ctx context.Context, s *server, ours quota.Ledger, r *report.Report) error {
	type user struct {
		name string
		take take
	}
	users := []user{{"ours", taking(ours, func(a string, cost int64) quota.Ask { return ask(a, cost, plenty, "units") })}}
	for _, p := range []peer{redisRate, throttle, ulule, classic} {
		t, err := p.open(s.client, limit{plenty, day})
		if err != nil {
			return err
		}
		users = append(users, user{p.label(), t})
	}
	r.Section("Redis: memory", "`MEMORY USAGE` of every key, all samples. The first three peers keep one number and are approximate for it.")
	var rows [][]string
	var each, hundreds float64
	for i, u := range users {
		small, err := grown(ctx, s, u.take, most, 1)
		if err != nil {
			return fmt.Errorf("%s: %w", u.name, err)
		}
		large, err := grown(ctx, s, u.take, 100, 100)
		if err != nil {
			return fmt.Errorf("%s: %w", u.name, err)
		}
		if i == 0 {
			each, hundreds = float64(small)/most, float64(large)
		}
		rows = append(rows, []string{u.name, fmt.Sprintf("%.1f", float64(small)/most), fmt.Sprint(large)})
	}
	r.Table([]string{"", "bytes per call, 10,000 of cost 1", "bytes in all, 100 of cost 100"}, rows)
	r.Goal("10,000 calls of cost 1", "<= 25 bytes each", fmt.Sprintf("%.1f", each), each <= 25)
	r.Goal("100 calls of cost 100", "<= 4,000 bytes", fmt.Sprintf("%.0f", hundreds), hundreds <= 4000)
	return idle(ctx, s, ours, r)
}

func grown(ctx context.Context, s *server, t take, n int, cost int64) (int64, error) {
	if err := flush(ctx, s.client); err != nil {
		return 0, err
	}
	for range n {
		if ok, err := t(ctx, "a", cost); err != nil || !ok {
			return 0, fmt.Errorf("allowed is %t: %w", ok, err)
		}
	}
	return s.size(ctx)
}

// idle measures the first takes of an account that spent 10,000 and was then idle: for 24 hours, so that the entries
// have left the window but are still kept, and until all are beyond the horizon, so that one of the first takes drops
// them.
func idle(ctx context.Context, s *server, ours quota.Ledger, r *report.Report) error {
	const settle = 4 * time.Second // longer than posting 10,000 takes
	r.Section("Redis: the first calls after a long sleep", "10,000 entries posted at past times; the server's time of each single take after that. Old entries are dropped by every 64th take.")
	var rows [][]string
	longest := 0.0
	for _, c := range []struct {
		name     string
		from, to time.Duration
		wait     bool
	}{
		{"24 h after the last of them", quota.MinHorizon - 10*time.Minute, day + time.Minute, false},
		{"all of them beyond the horizon of 26 h", quota.MinHorizon - settle, quota.MinHorizon - settle - 100*time.Millisecond, true},
	} {
		if err := flush(ctx, s.client); err != nil {
			return err
		}
		start := time.Now()
		if err := post(ctx, ours, "a", most, c.from, c.to, one); err != nil {
			return err
		}
		before, err := s.size(ctx)
		if err != nil {
			return err
		}
		if c.wait {
			if took := time.Since(start); took > settle {
				return fmt.Errorf("posting took %v: some were forgotten at once", took)
			}
			time.Sleep(time.Until(start.Add(settle + 200*time.Millisecond)))
		}
		first, worst, err := singleTakes(ctx, s, ours, 65)
		if err != nil {
			return err
		}
		after, err := s.size(ctx)
		if err != nil {
			return err
		}
		longest = max(longest, first, worst)
		rows = append(rows, []string{c.name, fmt.Sprintf("%.3f", first/1000), fmt.Sprintf("%.3f", worst/1000), fmt.Sprint(before), fmt.Sprint(after)})
	}
	r.Table([]string{"", "first take, ms", "longest of 65, ms", "bytes before", "bytes after"}, rows)
	r.Goal("first call after 24 h idle, 10,000 entries", "< 5 ms", fmt.Sprintf("%.2f ms (the longest of all 130)", longest/1000), longest < 5000)
	return flush(ctx, s.client)
}

// singleTakes returns how long the server needs for the first of n takes, and for the longest, in microseconds.
func singleTakes(ctx context.Context, s *server, l quota.Ledger, n int) (first, worst float64, err error) {
	for i := range n {
		if err := s.client.ConfigResetStat(ctx).Err(); err != nil {
			return 0, 0, err
		}
		d, err := l.Take(ctx, ask("a", 1, most, "units"))
		if err != nil || !d.Allowed {
			return 0, 0, fmt.Errorf("take %d: allowed is %t: %w", i, d.Allowed, err)
		}
		stats, err := s.stats(ctx)
		if err != nil {
			return 0, 0, err
		}
		if i == 0 {
			first = scriptTime(stats)
		}
		worst = max(worst, scriptTime(stats))
	}
	return first, worst, nil
}
