package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/quota/pgledger"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

// check looks at one thing.
type check struct {
	name   string
	find   func(context.Context, *Doctor) Finding
	within time.Duration // 0 is checkTimeout
}

// checks lists the checks that spend nothing, in the order shown.
var checks = []check{
	{name: "version", find: checkVersion},
	{name: "environment", find: checkEnvironment},
	{name: "clock", find: checkClock},
	{name: "config", find: checkConfig},
	{name: "costs", find: checkCosts},
	{name: "policy", find: checkPolicy},
	{name: "schedule", find: checkSchedule},
	{name: "key", find: checkKey},
	{name: "data", find: checkData},
	{name: "disk", find: checkDisk},
	{name: "filesystem", find: checkFilesystem},
	{name: "store", find: checkStore},
	{name: "ingest.db", find: checkStoreFile},
	{name: "tables", find: checkTables},
	{name: "freshness", find: given(stand, JudgeFreshness), within: standFor},
	{name: "slots", find: given(lastDay, judgeSlots)},
	{name: "upstream", find: given(stand, JudgeContact), within: standFor},
	{name: "answers", find: given(storeSummary, judgeAnswers)},
	{name: "quota.db", find: checkLedgerFile},
	{name: "ledger", find: checkLedger},
	{name: "pools", find: given(stand, JudgePools), within: standFor},
	{name: "lost", find: checkLost},
	{name: "degraded", find: given(readJournal, judgeDegraded)},
	{name: "directories", find: checkDirectories},
	{name: "redis", find: checkRedis},
	{name: "eviction", find: given(redisFacts, judgeEviction)},
	{name: "persistence", find: given(redisFacts, judgePersistence)},
	{name: "redis clock",
		find: given(redisFacts, func(d *Doctor, f redisledger.Facts) Finding { return d.judgeClock(f.ClockAhead, "redis") })},
	{name: "redis user", find: given(redisFacts, judgeRedisRights)},
	{name: "redis url", find: func(_ context.Context, d *Doctor) Finding { return judgeURL("redis", d.Config.Ledger) }},
	{name: "postgres", find: checkPostgres},
	{name: "durability", find: given(postgresFacts, judgeDurability)},
	{name: "server clock", find: given(postgresFacts, func(d *Doctor, f pgledger.Facts) Finding {
		return d.judgeClock(f.ClockAhead, "postgres")
	})},
	{name: "server url",
		find: func(_ context.Context, d *Doctor) Finding { return judgeURL("postgres", d.Config.Ledger) }},
	{name: "store url", find: func(_ context.Context, d *Doctor) Finding { return judgeURL("postgres", d.Config.Store) }},
	{name: "hosts", find: checkHosts},
	{name: "hooks", find: checkHooks, within: standFor},
}

// given makes a check that judges the result of known. On an error another check says why; nil means that there is
// nothing to judge. Neither gives a finding.
func given[T any](known func(context.Context, *Doctor) (*T, error),
	judge func(*Doctor, T) Finding) func(context.Context, *Doctor) Finding {
	return func(ctx context.Context, d *Doctor) Finding {
		v, err := known(ctx, d)
		if err != nil || v == nil {
			return noFinding
		}
		return judge(d, *v)
	}
}

const (
	checkTimeout = 5 * time.Second  // for one check
	standFor     = 10 * time.Second // the standing reads the ledger and the store
	onlineFor    = 30 * time.Second
	repairFor    = 12 * time.Hour // of a large store on a slow disk
	overstayed   = time.Second    // for a check to notice that its time is over
)

// Examine runs all checks that spend nothing.
func (d *Doctor) Examine(ctx context.Context) []Finding { return d.run(ctx, checks) }

// Repair repairs the store, and moves the ledger's entries that lie in the future to now.
func (d *Doctor) Repair(ctx context.Context) []Finding {
	return d.run(ctx, []check{{"repair", repairStore, repairFor}, {"repair quota", repairLedger, onlineFor}})
}

// AskUpstream makes one call, whose cost is taken from the ledger first.
func (d *Doctor) AskUpstream(ctx context.Context) []Finding {
	return d.run(ctx, []check{{"online", checkOnline, onlineFor}})
}

// run runs checks concurrently, so that a disk or a server that hangs delays one check and not all of them, and
// returns the findings in the order of the checks.
func (d *Doctor) run(ctx context.Context, checks []check) []Finding {
	found := make([]Finding, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() {
			f := d.runBounded(ctx, c)
			if f.Status == Fail && f.err != nil && ctx.Err() != nil && c.within < onlineFor { // a repair names its leftovers
				f = warn("not judged: interrupted", "run it again")
			}
			if f.Check = c.name; f.err != nil {
				f.Exit = standing.ExitOf(f.err)
			}
			found[i] = f
		})
	}
	all.Wait()
	return slices.DeleteFunc(found, func(f Finding) bool { return f.Status == "" })
}

// runBounded returns the check's finding within its time. A check that hangs, as on a lost network disk, is left
// behind.
func (d *Doctor) runBounded(ctx context.Context, c check) Finding {
	within := cmp.Or(c.within, checkTimeout)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	done := make(chan Finding, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- fail(Other, fmt.Sprintf("the check itself broke: %v", r),
					"report this, with the output of ingest doctor --json")
			}
		}()
		done <- c.find(ctx, d)
	}()
	select {
	case f := <-done:
		return f
	case <-time.After(within + overstayed):
		return fail(Other, fmt.Sprintf("no answer within %v", within), "see whether the disk or the server behind it hangs")
	}
}
