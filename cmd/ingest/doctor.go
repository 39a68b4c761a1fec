package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/internal/term"
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
		// In place of the root's, because a config or a variable that is wrong is one of the findings.
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.started = true
			a.flags.Set = func(name string) bool { return name != "" && cmd.Flags().Changed(name) }
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := newDoctor(a, "/", os.Geteuid())
			defer d.Close()
			var found []doctor.Finding
			if repair {
				a.say("ingest: repairing the store in %s", term.Clean(a.cfg.Data))
				found = d.Repair(cmd.Context())
			}
			found = append(found, d.Examine(cmd.Context())...)
			if online {
				found = append(found, d.AskUpstream(cmd.Context())...)
			}
			return printFindings(&a.console, a.cfg.Ledger, found)
		},
	}
	cmd.Flags().BoolVar(&online, "online", false, "ask the upstream too: spends 1 unit of purpose manual")
	cmd.Flags().BoolVar(&repair, "repair", false, "make the store whole first: it may write a new ingest.db")
	return cmd
}
