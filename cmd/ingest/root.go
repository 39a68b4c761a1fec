package main

import (
	"context"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// newRoot returns the command line. It avoids the parts of cobra that need text/template, which looks methods up by
// name: with it the linker could not drop any exported method of any type.
func newRoot(a *app) *cobra.Command {
	shown := false // the version
	root := &cobra.Command{
		Use:           "ingest",
		Short:         "Fetch YouTube charts within your API quota and search them locally",
		Args:          noArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if shown {
				return a.printVersion()
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			a.begin(cmd)
			if term.IsTerminal(a.stdout) && cmd.Name() != "serve" { // serve's pages are read elsewhere
				term.UseLocalTime()
			}
			if err = a.loadConfig(cmd); err != nil || !needsConfig(cmd) {
				return err
			}
			if cmd.Name() == "check" || cmd.Name() == "backup" || cmd.Name() == "copy" {
				return nil // they need no clock
			}
			return a.checkClock(cmd.Context())
		},
	}
	root.SetUsageFunc(usage)
	root.SetFlagErrorFunc(flagError)
	root.Flags().BoolVarP(&shown, "version", "v", false, "version for ingest")
	f := root.PersistentFlags()
	f.StringVar(&a.flags.Config, "config", "", "config `file` (INGEST_CONFIG)")
	f.Var(config.DirectoryFlag(&a.flags.Data), "data", "`directory` of the store and the ledger (INGEST_DATA)")
	f.StringVar(&a.flags.Costs, "costs", "", "`file` of limits and costs (INGEST_COSTS)")
	f.StringVar(&a.flags.CostTable, "cost-table", "", "classic or split-2026-06 (INGEST_COST_TABLE)")
	f.StringVar(&a.flags.Ledger, "ledger", "", "sqlite, or the `URL` of a Redis or PostgreSQL (INGEST_LEDGER)")
	f.StringVar(&a.flags.Store, "store", "", "sqlite, or the `URL` of a database in PostgreSQL (INGEST_STORE)")
	f.StringVar(&a.flags.UpstreamURL, "upstream-url", "", "base `URL`: https, or loopback (INGEST_UPSTREAM_URL)")
	f.StringVar(&a.flags.KeyFile, "key-file", "", "`file` that holds the API key (INGEST_KEY_FILE)")
	f.Var(config.QueryFlag(&a.query), "jq", "print the result of this jq `filter` on the JSON document")
	f.BoolVar(&a.json, "json", false, "print one JSON document on standard output")
	f.BoolVar(&a.quiet, "quiet", false, "print only errors; a stop by quota is no error")
	f.Var(config.Choice(&a.logs.Format, "text", "json"), "log-format", "of the log on standard error: text or json")
	f.Var(config.Choice(&a.logs.Level, "debug", "info", "warn", "error"), "log-level",
		"minimum `level`: debug (also each call and take), info, warn, error")
	f.BoolVar(&a.stdout.Plain, "no-color", false, "neither colours nor bold type on a terminal (NO_COLOR)")
	root.AddCommand(
		a.runCommand(), a.serveCommand(), a.gatewayCommand(), a.backfillCommand(), a.quotaCommand(),
		a.searchCommand(), a.chartCommand(), a.historyCommand(), a.slotsCommand(),
		a.metricsCommand(), a.configCommand(), a.doctorCommand(), a.backupCommand(), a.storeCommand(),
		a.demoCommand(), a.simulateCommand(),
		command("version", "Print the version", noArgs, func(context.Context, []string) error { return a.printVersion() }),
		group(globalFlags, "The flags that every command takes"),
	)
	a.complete(root)
	a.describe(root, helpSections(helpText))
	return root
}

func (a *app) printVersion() error {
	return a.show(report.VersionDocument{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH})
}
