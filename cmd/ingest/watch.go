package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/term"
)

// watchable lets a command that only reads print its answer repeatedly. It goes on while the ledger cannot answer.
func (a *app) watchable(cmd *cobra.Command) *cobra.Command {
	once, watch, seconds := cmd.RunE, false, 5
	cmd.Flags().BoolVar(&watch, "watch", false, "print it again and again until Ctrl-C; spends nothing")
	cmd.Flags().Var(config.Count(&seconds, 1, 3600), "interval", "of --watch: `N` seconds")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !watch {
			return once(cmd, args)
		}
		gap := "\n"
		if a.json {
			gap = "" // one document per line
		}
		return term.Watch(cmd.Context(), a.stdout, time.Duration(seconds)*time.Second, gap, func(to *term.CheckedWriter) error {
			a.stdout = to
			err := once(cmd, args)
			switch {
			case silent(err): // everything was printed already
				return nil
			case exitCode(err) == exitUnavailable:
				a.tell("ingest: " + err.Error())
				return nil
			}
			return err
		})
	}
	return cmd
}
