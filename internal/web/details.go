package web

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/recent"
	"github.com/trendvidstream/ingest/internal/report"
)

// details is the page's content beyond an overview.
type details struct{ pages.Details }

// intervals are the intervals that the page prices; 0: as configured.
var intervals = []time.Duration{0, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, time.Hour, 6 * time.Hour}

// detailsFor is how long details are reused, however many readers there are.
const detailsFor = 5 * time.Second

// with adds details. If a part of the store cannot be read, no freshness is shown.
func (o overview) with(d details) pages.Status {
	o.Details = d.Details
	if o.Standing.StoreErr == nil {
		o.Next = report.NewNextDocuments(o.Standing)
	}
	for _, part := range []string{"charts", "kept", "backfills"} {
		if err := d.Errors[part]; o.Standing.StoreErr == nil && err != nil {
			f := o.Standing.Facts
			f.StoreErr = err
			o.stand(f)
		}
	}
	return o.Status
}

// details reads the page's part beyond the overview, and together with it.
func (s *Status) details(ctx context.Context) details {
	d, _ := s.detailed.Get("", func() recent.Answer[details] {
		source, err := s.Source()
		if err != nil { // the overview says so
			return recent.Answer[details]{}
		}
		ctx, cancel := shared(ctx)
		defer cancel()
		return recent.Answer[details]{Is: readDetails(ctx, source, s.overview), Until: time.Now().Add(detailsFor)}
	})
	return d
}

func readDetails(ctx context.Context, source *Source, overview func(context.Context) overview) (d details) {
	var price, charts, kept, backfills, ledger, hours error
	together(func() {
		for _, every := range intervals {
			cost, err := source.DayPrice(every)
			if err == nil {
				d.Prices = append(d.Prices, pages.Price{Every: every, Cost: cost})
			} else {
				price = err
			}
		}
		if source.Tops != nil {
			d.Tops, charts = source.Tops(ctx)
		}
		d.Kept, kept = source.Kept(ctx)
		d.Backfills, backfills = source.Backfills(ctx)
	}, func() {
		o := overview(ctx)
		if o.Quota == nil {
			return
		}
		together(func() {
			d.Ledger, ledger = source.Ledger(ctx)
		}, func() {
			if !o.Quota.Degraded && len(o.Quota.Pools) > 0 {
				d.Hours, hours = spentByHour(ctx, source, o.At, o.Quota.Wanted().Pool)
			}
		})
	})
	d.Errors = map[string]error{
		"price": price, "charts": charts, "kept": kept, "backfills": backfills, "ledger": ledger, "hours": hours,
	}
	return d
}

// spentByHour returns how much of a pool was spent in each of the last 24 hours, oldest first.
func spentByHour(ctx context.Context, source *Source, now time.Time, pool string) ([]map[string]int64, error) {
	spent, err := source.Spent(ctx, now.Add(-day), time.Hour)
	if err != nil {
		return nil, err
	}
	hours := make([]map[string]int64, 24)
	for i := range hours {
		hours[i] = map[string]int64{}
	}
	for _, s := range spent {
		if s.Pool == pool {
			hours[min(s.Part, 23)][string(s.Who.Purpose)] += s.Amount // spending after now counts in the last hour
		}
	}
	return hours, nil
}
