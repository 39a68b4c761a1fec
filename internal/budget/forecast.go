package budget

import (
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Forecast is what the schedule may still spend before the provider's day ends, and whether that is left.
type Forecast struct {
	Until     time.Time
	Scheduled map[string]int64 // at most, per pool
	Fits      bool
}

// Forecast compares the price of the rest of the provider's day with what a report says is left.
func (s Schedule) Forecast(r quota.Report, now time.Time) (Forecast, error) {
	f := Forecast{Until: midnight(now, s.Tariff.Zone), Fits: r.Degraded == nil}
	price, err := s.Price(now, f.Until)
	f.Scheduled = price.Total
	for _, p := range r.Pools {
		if price.Total[p.Pool] > p.Remaining[quota.Scheduled] {
			f.Fits = false
		}
	}
	return f, err
}
