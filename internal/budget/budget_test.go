package budget_test

import (
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// tariff returns the shipped costs under the table with weights: a search draws on two pools.
func tariff(t testing.TB, table string) *quota.Tariff {
	t.Helper()
	parsed, err := quota.ParseCosts("costs.yaml", ingest.Costs, "youtube", table)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func schedule(t testing.TB, jobs ...ingest.Job) budget.PricedSchedule {
	t.Helper()
	timing, err := regions.NewSchedule(jobs)
	if err != nil {
		t.Fatal(err)
	}
	return budget.PricedSchedule{Jobs: timing, Upstream: &youtube.Client{}, Tariff: tariff(t, "classic")}
}

func chart(every time.Duration, pages int, in ...ingest.Region) ingest.Job {
	return ingest.Job{Name: "chart", Kind: ingest.KindChart, Regions: in, Every: every, Pages: pages}
}

func search(every time.Duration, pages int) ingest.Job {
	return ingest.Job{Name: "search", Kind: ingest.KindSearch, Query: "world cup", Every: every, Pages: pages}
}

func refresh() ingest.Job {
	return ingest.Job{Name: "refresh", Kind: ingest.KindRefresh, Every: 24 * time.Hour}
}
