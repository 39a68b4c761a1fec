package web

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
)

// details is shown only by the page, in addition to an overview. Each part may be missing: its error says why.
type details struct {
	hours     []map[string]int64    // spent of pool in each of the last 24 hours, oldest first
	pool      string                // the pool of which the schedule wants most
	next      []report.NextDocument // until the provider's day ends
	prices    []pages.Price         // of a day, as configured first
	tops      map[string]string     // of each region's newest chart
	ledger    report.LedgerDocument
	kept      report.KeptDocument
	backup    time.Time // the newest; zero: none
	backfills []report.BackfillDocument
	errs      map[string]error // by part
}

// intervals are those whose price the page names; 0: as configured.
var intervals = []time.Duration{0, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, time.Hour, 6 * time.Hour}

// detailsFor is how long details are reused, whatever the number of readers.
const detailsFor = 5 * time.Second

// storeErr is why a part of the store cannot be read, though its slots can: the page's other parts cannot be trusted then.
func (d details) storeErr() error {
	for _, part := range []string{"charts", "kept", "backfills"} {
		if err := d.errs[part]; err != nil {
			return err
		}
	}
	return nil
}

// details reads the page's part beyond o.
func (s *Status) details(ctx context.Context, o overview) details {
	d, _ := s.detailed.get(detailsFor, func() (details, error) { return s.readDetails(ctx, o) }) // the overview reports an error
	return d
}

func (s *Status) readDetails(ctx context.Context, o overview) (details, error) {
	d := details{pool: o.quota.Wanted(), errs: map[string]error{}}
	source, err := s.Source()
	if err != nil {
		return d, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
	defer cancel()
	for _, every := range intervals {
		if price, err := source.DayPrice(every); err == nil {
			d.prices = append(d.prices, pages.Price{Every: every, Cost: price})
		} else {
			d.errs["price"] = err
		}
	}
	if source.Tops != nil {
		d.tops, d.errs["charts"] = source.Tops(ctx)
	}
	d.kept, d.errs["kept"] = source.Kept(ctx)
	d.backup, d.errs["backup"] = source.Backup(ctx)
	d.backfills, d.errs["backfills"] = source.Backfills(ctx)
	if o.quotaErr == nil {
		d.next, d.errs["next"] = source.Next(ctx, o.quota.Forecast.Until)
		d.ledger, d.errs["ledger"] = source.Ledger(ctx)
	}
	if o.quotaErr == nil && !o.quota.Degraded {
		d.hours, d.errs["hours"] = spentByHour(ctx, source, o.at, d.pool)
	}
	return d, nil
}

// spentByHour returns the amount spent of a pool in each of the last 24 hours, oldest first.
func spentByHour(ctx context.Context, source *Source, now time.Time, pool string) ([]map[string]int64, error) {
	const hours = 24
	out := make([]map[string]int64, hours)
	later := map[string]int64{}
	for i := hours - 1; i >= 0; i-- {
		spent, err := source.Spent(ctx, now.Add(time.Duration(i-hours)*time.Hour))
		if err != nil {
			return nil, err
		}
		since := map[string]int64{}
		for _, s := range spent {
			if s.Pool == pool {
				since[string(s.Purpose)] += s.Amount
			}
		}
		out[i] = map[string]int64{}
		for purpose, n := range since {
			out[i][purpose] = n - later[purpose]
		}
		later = since
	}
	return out, nil
}
