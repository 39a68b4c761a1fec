package youtubesim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest/internal/standin"
)

// costTable holds the costs of the provider's methods: the pools, in the order of their refusals, and the charges of
// every method.
type costTable struct {
	name    string
	pools   []standin.Pool
	methods map[string][]standin.Charge
}

const (
	poolUnits  = "units"
	poolSearch = "search"
	poolStats  = "batch_stats"

	perMinute = standin.PerMinute
)

// costTables returns the two tables that the provider has published: until and since 2026-06-01 (determine_quota_cost,
// revision_history). classic also counts the number of searches, so that one client can be judged under both.
func costTables() []costTable {
	one := []standin.Charge{{Pool: poolUnits, Amount: 1}}
	reads := func(more map[string][]standin.Charge) map[string][]standin.Charge {
		for _, m := range []string{"videos.list", "channels.list", "playlistItems.list",
			"videoCategories.list", "i18nRegions.list"} {
			more[m] = one
		}
		return more
	}
	return []costTable{{
		name:  "classic",
		pools: []standin.Pool{{Name: poolUnits, Limit: 10_000}, {Name: poolSearch, Limit: 100}},
		methods: reads(map[string][]standin.Charge{
			"search.list":          {{Pool: poolUnits, Amount: 100}, {Pool: poolSearch, Amount: 1}},
			"videos.batchGetStats": one,
		}),
	}, {
		name: "split-2026-06",
		pools: []standin.Pool{{Name: poolUnits, Limit: 10_000}, {Name: poolSearch, Limit: 100},
			{Name: poolStats, Limit: 10_000}},
		methods: reads(map[string][]standin.Charge{
			"search.list":          {{Pool: poolSearch, Amount: 1}},
			"videos.batchGetStats": {{Pool: poolStats, Amount: 1}},
		}),
	}}
}

// pickTable returns the table with the given limits replaced.
func pickTable(name string, limits map[string]int64) (costTable, error) {
	tables := costTables()
	if name == "" {
		name = tables[len(tables)-1].name
	}
	i := slices.IndexFunc(tables, func(t costTable) bool { return t.name == name })
	if i < 0 {
		return costTable{}, fmt.Errorf("no cost table %q: use classic or split-2026-06", name)
	}
	t := tables[i]
	for p, limit := range limits {
		j := slices.IndexFunc(t.pools, func(q standin.Pool) bool { return q.Name == p })
		if j < 0 {
			return costTable{}, fmt.Errorf("limit for an unknown pool %q: table %s has %s", p, t.name,
				strings.Join(t.poolNames(), ", "))
		}
		if limit < 0 {
			return costTable{}, fmt.Errorf("limit %d for pool %s must not be negative", limit, p)
		}
		t.pools[j].Limit = limit
	}
	return t, nil
}

func (t costTable) poolNames() []string {
	var names []string
	for _, p := range t.pools {
		names = append(names, p.Name)
	}
	return names
}
