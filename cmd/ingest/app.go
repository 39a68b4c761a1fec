package main

import (
	"cmp"
	"sync"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/quota"
)

// version is set by the linker or, as with go install, taken from the module.
var version string

func init() { version = cmp.Or(version, config.ModuleVersion()) }

// app is one run of the program.
type app struct {
	console
	flags   config.Flags
	cfg     *config.Config
	clock   *config.Clock
	tariff  func() (*quota.Tariff, error) // the costs of the configured upstream, read when first asked for
	started bool                          // the arguments were accepted: later errors are not usage errors

	corrects bool // the command may add the spends under a pool's old name
	newStore bool // a store may be made although the ledger knows of one

	// wrapPass may wrap the parts of a pass before it begins. It is nil except in tests.
	wrapPass func(*fetch.Reconciler)
}

// begin is called once the arguments of a command are well-formed.
func (a *app) begin(cmd *cobra.Command) {
	a.started = true
	a.catchStandardLog()
	a.useQuery(cmd.Context())
	a.flags.Set = func(name string) bool { return name != "" && cmd.Flags().Changed(name) }
}

func (a *app) loadConfig(cmd *cobra.Command) (err error) {
	a.tariff = sync.OnceValues(a.readTariff)
	if a.clock, err = config.NewClock(); err == nil && needsConfig(cmd) {
		a.cfg, err = config.Load(a.flags, upstreamLimits())
	}
	return err
}

// needsConfig reports whether a command needs the configuration; some must work without one, or with a wrong one.
func needsConfig(cmd *cobra.Command) bool {
	for c := cmd; c.HasParent(); c = c.Parent() {
		switch c.Name() {
		case "completion", "demo", globalFlags, "help", "simulate", "version":
			return false
		}
	}
	return cmd.HasParent()
}
