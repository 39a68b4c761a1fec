package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/pgledger"
)

const (
	plenty  = 1_000_000_000
	turn    = 200 * time.Millisecond
	turns   = 21 // of each contender, alternating; medians
	clients = 8  // that share the accounts
	patient = 30 * time.Second
)

// ask is the ask of the program: a unit of a pool with 24 hours and the provider's day, and who spends it.
func ask(account string, units int64) quota.Ask {
	now := time.Now()
	return quota.Ask{
		Account: account, Now: now, Midnights: quota.Midnights(now, time.UTC), Grace: 30 * time.Second, Horizon: quota.MinHorizon,
		Who: quota.Who{Purpose: quota.Scheduled, Region: "US", Method: "videos.list"},
		Charges: []quota.Charge{{Pool: "units", Amount: 1, Bounds: []quota.Bound{
			{Window: quota.Window{Name: "24h", Length: 24 * time.Hour, Limit: units}, Ceiling: units},
			{Window: quota.Window{Name: "day", Limit: units}, Ceiling: units},
		}}},
	}
}

// call is one operation of one of several clients.
type call func(ctx context.Context, client int) error

// bare inserts one row per call with a prepared statement: as its own transaction, which is the least that a write can
// be, and between BEGIN and COMMIT, as most programs do it.
func bare(ctx context.Context, s server, n int) (alone, between call, closing func(), err error) {
	var all []*pgx.Conn
	closing = func() {
		for _, c := range all {
			_ = c.Close(context.Background())
		}
	}
	if _, err := s.Query(ctx, "CREATE TABLE IF NOT EXISTS bare (at bigint, n bigint)"); err != nil {
		return nil, nil, closing, err
	}
	for range n {
		c, err := pgx.Connect(ctx, s.URL())
		if err != nil {
			return nil, nil, closing, err
		}
		all = append(all, c)
	}
	const insert = "INSERT INTO bare VALUES ($1, $2)"
	alone = func(ctx context.Context, client int) error {
		_, err := all[client].Exec(ctx, insert, time.Now().UnixMicro(), 1)
		return err
	}
	between = func(ctx context.Context, client int) error {
		return pgx.BeginFunc(ctx, all[client], func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, insert, time.Now().UnixMicro(), 1)
			return err
		})
	}
	return alone, between, closing, nil
}

// ledgers opens one ledger per client, as hosts do.
func ledgers(ctx context.Context, s server, n int) (all []quota.Ledger, closing func(), err error) {
	closing = func() {
		for _, l := range all {
			_ = l.Close()
		}
	}
	for range n {
		l, err := pgledger.Open(ctx, s.URL(), pgledger.Options{Timeout: patient})
		if err != nil {
			return nil, closing, err
		}
		all = append(all, l)
	}
	return all, closing, nil
}

var errRefused = errors.New("a take was refused")

func taking(all []quota.Ledger, account func(client int) string) call {
	return func(ctx context.Context, client int) error {
		d, err := all[client].Take(ctx, ask(account(client), plenty))
		if err == nil && !d.Allowed {
			err = errRefused
		}
		return err
	}
}

// perSecond lets n clients call for a while.
func perSecond(ctx context.Context, n int, lasts time.Duration, c call) (float64, error) {
	var all sync.WaitGroup
	calls, errs := make([]int, n), make([]error, n)
	began := time.Now()
	for i := range n {
		all.Go(func() {
			for time.Since(began) < lasts && errs[i] == nil {
				errs[i] = c(ctx, i)
				calls[i]++
			}
		})
	}
	all.Wait()
	sum := 0
	for _, n := range calls {
		sum += n
	}
	return float64(sum) / time.Since(began).Seconds(), errors.Join(errs...)
}

// compared measures takes and bare rows in turns: a row of the table, and the median of the ratio turn by turn.
func compared(ctx context.Context, s server, n int, account func(int) string) (row []string, ratio float64, err error) {
	alone, between, closeRows, err := bare(ctx, s, n)
	defer closeRows()
	if err != nil {
		return nil, 0, err
	}
	all, closeAll, err := ledgers(ctx, s, n)
	defer closeAll()
	if err != nil {
		return nil, 0, err
	}
	var rates, ratios [3][]float64 // of takes, of rows alone, of rows between BEGIN and COMMIT
	for range turns {
		var now [3]float64
		for i, c := range []call{taking(all, account), alone, between} {
			if now[i], err = perSecond(ctx, n, turn, c); err != nil {
				return nil, 0, err
			}
			rates[i] = append(rates[i], now[i])
			ratios[i] = append(ratios[i], now[0]/now[i])
		}
	}
	row = []string{s.name}
	for _, r := range rates {
		row = append(row, fmt.Sprintf("%.0f", report.Median(r)))
	}
	ratio = report.Median(ratios[1])
	return append(row, report.Ratio(ratio), report.Ratio(report.Median(ratios[2]))), ratio, nil
}

// header is the header of a table with rows from compared.
var header = []string{"", "takes/s", "rows alone/s", "rows in BEGIN, COMMIT/s", "takes/alone", "takes/BEGIN, COMMIT"}

// takes compares takes with the least that a write can be.
func takes(ctx context.Context, servers []server, r *report.Report) error {
	r.Section("PostgreSQL: takes per second", fmt.Sprintf("One client. Beside it, in turns of %v, one row inserted by a prepared statement: as a transaction of its own, and between BEGIN and COMMIT, on the same server. Medians.", turn))
	var rows [][]string
	for _, s := range servers {
		row, ratio, err := compared(ctx, s, 1, func(int) string { return "one" })
		if err != nil {
			return err
		}
		rows = append(rows, row)
		r.Goal("PostgreSQL takes, "+s.name, ">= 0.5 x a bare row", report.Ratio(ratio), ratio >= 0.5)
	}
	r.Table(header, rows)
	return nil
}

// accounts spreads takes over many.
func accounts(ctx context.Context, servers []server, r *report.Report) error {
	const many = 10_000
	r.Section("10,000 accounts", fmt.Sprintf("%d clients, each take on a random account with earlier takes; beside it %d clients that insert bare rows. Medians.", clients, clients))
	var rows [][]string
	name := func(i int) string { return fmt.Sprint("account-", i) }
	for _, s := range servers {
		all, closing, err := ledgers(ctx, s, clients)
		if err == nil {
			var work sync.WaitGroup
			errs := make([]error, clients)
			for c := range clients {
				work.Go(func() {
					for i := c; i < many && errs[c] == nil; i += clients {
						errs[c] = taking(all, func(int) string { return name(i) })(ctx, c)
					}
				})
			}
			work.Wait()
			err = errors.Join(errs...)
		}
		closing()
		if err != nil {
			return err
		}
		row, ratio, err := compared(ctx, s, clients, func(int) string { return name(rand.IntN(many)) }) //nolint:gosec // no secret
		if err != nil {
			return err
		}
		rows = append(rows, row)
		r.Goal("PostgreSQL, 10,000 accounts, "+s.name, ">= 0.7 x bare rows", report.Ratio(ratio), ratio >= 0.7)
	}
	r.Table(header, rows)
	return nil
}

const (
	writerCount = 64
	asksEach    = 50
	writerLimit = 1000
)

// writers lets 64 writers take from one account at once.
func writers(ctx context.Context, servers []server, r *report.Report) error {
	r.Section("64 writers on one account in PostgreSQL", fmt.Sprintf("Each with a ledger and a connection of its own: %d asks of cost 1, limit %d. Waits are the waits of admitted asks, which write one after another; a refusal writes nothing.", asksEach, writerLimit))
	var rows [][]string
	for _, s := range servers {
		all, closing, err := ledgers(ctx, s, writerCount)
		if err != nil {
			closing()
			return err
		}
		for _, l := range all { // to connect, and to prepare the statement
			if d, err := l.Take(ctx, ask("before", plenty)); err != nil || !d.Allowed {
				closing()
				return errors.Join(err, errRefused)
			}
		}
		waits, failed := together(ctx, all)
		closing()
		if len(waits) == 0 {
			return errRefused
		}
		p50, p99, longest := report.Quantile(waits, 0.5), report.Quantile(waits, 0.99), report.Quantile(waits, 1)
		rows = append(rows, []string{s.name, fmt.Sprint(len(waits)), fmt.Sprint(failed), fmt.Sprintf("%.1f", p50), fmt.Sprintf("%.1f", p99), fmt.Sprintf("%.1f", longest)})
		r.Goal("PostgreSQL, 64 writers, "+s.name+": admitted", fmt.Sprintf("%d, the limit", writerLimit), fmt.Sprint(len(waits)), len(waits) == writerLimit)
		r.Goal("PostgreSQL, 64 writers, "+s.name+": errors", "0", fmt.Sprint(failed), failed == 0)
		r.Goal("PostgreSQL, 64 writers, "+s.name+": p99", "< 100 ms", fmt.Sprintf("%.1f ms", p99), p99 < 100)
	}
	r.Table([]string{"", "admitted", "errors", "p50 ms", "p99 ms", "longest ms"}, rows)
	return nil
}

// together returns how long each admitted ask took, in milliseconds.
func together(ctx context.Context, all []quota.Ledger) (waits []float64, failed int) {
	var mu sync.Mutex
	var work sync.WaitGroup
	start := make(chan struct{})
	for _, l := range all {
		work.Go(func() {
			<-start
			for range asksEach {
				began := time.Now()
				d, err := l.Take(ctx, ask("many", writerLimit))
				took := time.Since(began)
				mu.Lock()
				if err != nil {
					failed++
				} else if d.Allowed {
					waits = append(waits, float64(took.Microseconds())/1000)
				}
				mu.Unlock()
			}
		})
	}
	close(start)
	work.Wait()
	return waits, failed
}
