package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/quota"
)

const (
	writerCount = 64
	asksEach    = 50
	writerLimit = 1000
)

// writers lets 64 writers write to one account at once.
func writers(ctx context.Context, s *server, ours quota.Ledger, r *report.Report) error {
	r.Section("64 writers on one account", fmt.Sprintf("%d asks of cost 1 each, limit %d per 24 h.", asksEach, writerLimit))
	var rows [][]string
	add := func(name string, t take) (admitted, failed int, err error) {
		if err := flush(ctx, s.client); err != nil {
			return 0, 0, err
		}
		start := time.Now()
		admitted, failed = together(ctx, t)
		rows = append(rows, []string{name, fmt.Sprint(admitted), fmt.Sprint(failed),
			fmt.Sprintf("%.1f %%", 100*float64(failed)/(writerCount*asksEach)), fmt.Sprintf("%.2f", time.Since(start).Seconds())})
		return admitted, failed, ctx.Err()
	}
	admitted, failed, err := add("ours", taking(ours, func(a string, cost int64) quota.Ask { return ask(a, cost, writerLimit, "units") }))
	if err != nil {
		return err
	}
	for _, p := range []peer{throttle, redisRate, ulule, classic} {
		t, err := p.open(s.client, limit{writerLimit, day})
		if err != nil {
			return err
		}
		if _, _, err := add(p.label(), t); err != nil {
			return err
		}
	}
	r.Table([]string{"", "admitted", "errors", "of all asks", "seconds"}, rows)
	r.Goal("64 writers: errors", "0", fmt.Sprint(failed), failed == 0)
	r.Goal("64 writers: admitted", fmt.Sprintf("%d, the limit", writerLimit), fmt.Sprint(admitted), admitted == writerLimit)
	return flush(ctx, s.client)
}

func together(ctx context.Context, t take) (admitted, failed int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range writerCount {
		wg.Go(func() {
			yes, no := 0, 0
			<-start
			for range asksEach {
				switch ok, err := t(ctx, "a", 1); {
				case err != nil:
					no++
				case ok:
					yes++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			admitted, failed = admitted+yes, failed+no
		})
	}
	close(start)
	wg.Wait()
	return admitted, failed
}
