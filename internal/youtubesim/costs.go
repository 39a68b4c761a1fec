package youtubesim

import (
	"fmt"
	"slices"
	"strings"
)

// pool is an amount that the provider counts, with its limit per Pacific day.
type pool struct {
	name  string
	limit int64
}

// charge is an amount charged to a pool.
type charge struct {
	pool   string
	amount int64
}

// costTable holds the costs of the provider's methods: the pools, in the order of their refusals, and the charges of
// every method.
type costTable struct {
	name    string
	pools   []pool
	methods map[string][]charge
}

const (
	poolUnits  = "units"
	poolSearch = "search"
	poolStats  = "batch_stats"

	perMinute = "per_minute" // not a pool: Call.Refused's name for the limit over any trailing 60 s
)

// costTables returns the two tables that the provider has published: until and since 2026-06-01 (determine_quota_cost,
// revision_history). classic also counts the number of searches, so that one client can be judged under both.
func costTables() []costTable {
	one := []charge{{poolUnits, 1}}
	reads := func(more map[string][]charge) map[string][]charge {
		for _, m := range []string{"videos.list", "channels.list", "playlistItems.list",
			"videoCategories.list", "i18nRegions.list"} {
			more[m] = one
		}
		return more
	}
	return []costTable{{
		name:  "classic",
		pools: []pool{{poolUnits, 10_000}, {poolSearch, 100}},
		methods: reads(map[string][]charge{
			"search.list":          {{poolUnits, 100}, {poolSearch, 1}},
			"videos.batchGetStats": one,
		}),
	}, {
		name:  "split-2026-06",
		pools: []pool{{poolUnits, 10_000}, {poolSearch, 100}, {poolStats, 10_000}},
		methods: reads(map[string][]charge{
			"search.list":          {{poolSearch, 1}},
			"videos.batchGetStats": {{poolStats, 1}},
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
		j := slices.IndexFunc(t.pools, func(q pool) bool { return q.name == p })
		if j < 0 {
			return costTable{}, fmt.Errorf("limit for an unknown pool %q: table %s has %s", p, t.name,
				strings.Join(t.poolNames(), ", "))
		}
		if limit < 0 {
			return costTable{}, fmt.Errorf("limit %d for pool %s must not be negative", limit, p)
		}
		t.pools[j].limit = limit
	}
	return t, nil
}

func (t costTable) poolNames() []string {
	var names []string
	for _, p := range t.pools {
		names = append(names, p.name)
	}
	return names
}

// limit returns the pool's limit; 0 if the table does not have the pool.
func (t costTable) limit(name string) int64 {
	for _, p := range t.pools {
		if p.name == name {
			return p.limit
		}
	}
	return 0
}
