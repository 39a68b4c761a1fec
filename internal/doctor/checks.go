package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// check looks at one thing.
type check struct {
	name   string
	look   func(context.Context, *Doctor) Finding
	within time.Duration // 0 is checkTimeout
}

// checks lists all that spend nothing, in the order in which they are shown.
var checks = []check{
	{name: "version", look: lookVersion},
	{name: "environment", look: lookEnvironment},
	{name: "clock", look: lookClock},
	{name: "config", look: lookConfig},
	{name: "listen", look: lookListen},
	{name: "costs", look: lookCosts},
	{name: "schedule", look: lookSchedule},
	{name: "key", look: lookKey},
	{name: "data", look: lookData},
	{name: "disk", look: lookDisk},
	{name: "filesystem", look: lookFilesystem},
	{name: "store", look: lookStore},
	{name: "ingest.db", look: lookStoreFile},
	{name: "tables", look: lookTables},
	{name: "freshness", look: lookFreshness},
	{name: "slots", look: lookSlots},
	{name: "quota.db", look: lookLedgerFile},
	{name: "ledger", look: lookLedger},
	{name: "pools", look: lookPools},
	{name: "lost", look: lookLost},
	{name: "degraded", look: lookDegraded},
	{name: "directories", look: lookDirectories},
	{name: "redis", look: lookRedis},
	{name: "eviction", look: server(judgeEviction)},
	{name: "persistence", look: server(judgePersistence)},
	{name: "redis clock", look: lookRedisClock},
	{name: "redis user", look: server(judgeRedisRights)},
	{name: "redis url", look: lookRedisURL},
	{name: "postgres", look: lookPostgres},
	{name: "durability", look: postgres(judgeDurability)},
	{name: "server clock", look: lookPostgresClock},
	{name: "server url", look: lookPostgresURL},
	{name: "hosts", look: lookHosts},
}

const (
	checkTimeout = 5 * time.Second // for one check
	onlineFor    = 30 * time.Second
	repairFor    = 12 * time.Hour // of a large store on a slow disk
	overstayed   = time.Second    // for a check to notice that its time is over
)

// Examine runs all checks that spend nothing.
func (d *Doctor) Examine(ctx context.Context) []Finding { return d.run(ctx, checks) }

// Repair makes the store whole.
func (d *Doctor) Repair(ctx context.Context) []Finding {
	return d.run(ctx, []check{{"repair", repair, repairFor}})
}

// AskUpstream makes one call, whose cost is taken from the ledger first.
func (d *Doctor) AskUpstream(ctx context.Context) []Finding {
	return d.run(ctx, []check{{"online", lookOnline, onlineFor}})
}

// run runs checks concurrently, so that a disk or a server that hangs delays one check and not all of them, and
// returns what they found in the order of the checks.
func (d *Doctor) run(ctx context.Context, checks []check) []Finding {
	found := make([]Finding, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() {
			f := d.bounded(ctx, c)
			if f.Check = c.name; f.err != nil {
				f.Class = d.Classify(f.err)
			}
			found[i] = f
		})
	}
	all.Wait()
	return slices.DeleteFunc(found, func(f Finding) bool { return f.Status == "" })
}

// bounded returns what the check finds within its time. One that does not end, as on a network disk that is gone, is
// left behind.
func (d *Doctor) bounded(ctx context.Context, c check) Finding {
	within := cmp.Or(c.within, checkTimeout)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	done := make(chan Finding, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- fail(Other, fmt.Sprintf("the check itself broke: %v", r), "report this, with the output of ingest doctor --json")
			}
		}()
		done <- c.look(ctx, d)
	}()
	select {
	case f := <-done:
		return f
	case <-time.After(within + overstayed):
		return fail(Other, fmt.Sprintf("no answer within %v", within), "see whether the disk or the server behind it hangs")
	}
}
