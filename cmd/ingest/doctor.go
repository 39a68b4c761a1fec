package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/config"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

func (a *app) doctorCommand() *cobra.Command {
	var online, repair bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check all that a person would check by hand",
		Long: `doctor looks at the config, the key, the disk, the store, the ledger and the
clock, and says of each whether it is well, what it saw, and what to do next.
It spends nothing and changes nothing, and it runs to its end whatever is
broken.

It exits 0 when nothing failed, warnings included, and otherwise with the code
of what failed: 78 config, 77 key, 69 ledger or upstream, 1 anything else.

--online asks the upstream as well: one call of videos.list, whose unit is taken
from the ledger first.

--repair makes the store whole before the checks: in place where that will do,
while others use it. A damaged file is kept beside as ingest.db.broken-TIME, and
what can be read of it moves to a new one; for that, stop ingest serve first. It
says what was lost, which the next runs fetch again. quota.db is not touched.`,
		Example: "  ingest doctor\n  ingest doctor --repair\n  ingest doctor --online --key-file youtube.key\n  ingest doctor --json",
		Args:    cobra.NoArgs,
		// In place of the root's: a config or a variable that is wrong is what is looked for.
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.started = true
			a.flags.Set = func(name string) bool { return name != "" && cmd.Flags().Changed(name) }
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := newDoctor(a, machine{root: "/", uid: os.Geteuid()})
			defer d.close()
			var seen []observation
			if repair {
				a.say("ingest: repairing the store in %s", term.Clean(a.cfg.Data))
				seen = d.examine(cmd.Context(), []check{{"repair", lookRepair, repairFor}})
			}
			seen = append(seen, d.examine(cmd.Context(), checks)...)
			if online {
				seen = append(seen, d.examine(cmd.Context(), []check{{"online", lookOnline, youtube.DefaultTimeout + patience}})...)
			}
			return a.printDiagnosis(seen)
		},
	}
	cmd.Flags().BoolVar(&online, "online", false, "ask the upstream too: spends 1 unit of purpose manual")
	cmd.Flags().BoolVar(&repair, "repair", false, "make the store whole first: it may write a new ingest.db")
	return cmd
}

// check looks at one thing, and knows of no other check. One that has nothing to look at finds
// nothing, and has no line.
type check struct {
	name   string
	look   func(context.Context, *doctor) finding
	within time.Duration // 0 is patience
}

// checks are all that spend nothing, in the order in which they are shown.
var checks = []check{
	{name: "version", look: lookVersion},
	{name: "environment", look: lookEnvironment},
	{name: "clock", look: lookClock},
	{name: "config", look: lookConfig},
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
	{name: "eviction", look: lookEviction},
	{name: "persistence", look: lookPersistence},
	{name: "redis clock", look: lookRedisClock},
	{name: "redis user", look: lookRedisRights},
	{name: "redis url", look: lookRedisURL},
	{name: "hosts", look: lookHosts},
}

const (
	patience = 5 * time.Second // for one check
	lateness = time.Second     // for one to notice that its time is over
)

// machine is what a test has another one of.
type machine struct {
	root string // before every path of the system's own
	uid  int
}

// doctor is what the checks look at. What more than one of them needs is read once, when it is first
// asked for.
type doctor struct {
	*app
	machine machine

	began       time.Time
	clockErr    error // INGEST_NOW was wrong: the machine's clock stands in
	configErr   error // the config was wrong: cfg is what could be saved of it
	tariff      func() (*quota.Tariff, error)
	plan        func() (regions.Plan, error)
	copies      copies
	inspectOnce sync.Once
	inspection  inspection
}

// newDoctor makes do with what can be read of the configuration.
func newDoctor(a *app, m machine) *doctor {
	d := &doctor{app: a, machine: m, began: time.Now()}
	if a.clock, d.clockErr = config.NewClock(); d.clockErr != nil {
		a.clock = &config.Clock{}
	}
	if a.cfg, d.configErr = config.Load(a.flags, upstreamLimits()); d.configErr != nil {
		a.cfg = config.Salvage(a.flags, upstreamLimits())
	}
	d.tariff = sync.OnceValues(a.tariff)
	d.plan = sync.OnceValues(a.plan)
	return d
}

func (d *doctor) close() { d.copies.remove() }

// examine runs the checks side by side, so that a disk or a server that hangs costs one check's time
// and not every one's, and returns what they found in their order.
func (d *doctor) examine(ctx context.Context, checks []check) []observation {
	found := make([]observation, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() { found[i] = observation{c.name, d.bounded(ctx, c)} })
	}
	all.Wait()
	seen := found[:0]
	for _, o := range found {
		if o.status != "" {
			seen = append(seen, o)
		}
	}
	return seen
}

// bounded is what the check finds within its time. One that does not end, as on a network disk that is
// gone, is left behind.
func (d *doctor) bounded(ctx context.Context, c check) finding {
	within := cmp.Or(c.within, patience)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	done := make(chan finding, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- fail(exitError, fmt.Sprintf("the check itself broke: %v", r), "report this, with the output of ingest doctor --json")
			}
		}()
		done <- c.look(ctx, d)
	}()
	select {
	case f := <-done:
		return f
	case <-time.After(within + lateness):
		return fail(exitError, fmt.Sprintf("no answer within %v", within), "look whether the disk or the server behind it hangs")
	}
}
