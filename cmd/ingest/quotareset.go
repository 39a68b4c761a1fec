package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"

	"github.com/spf13/cobra"
)

func (a *app) quotaResetCommand() *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Forget all counts except what the store's slots spent",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes {
				return usageError{fmt.Errorf("reset forgets for good what account %s has taken and posted by hand, and who closed its pools: say so with --yes", a.cfg.Account)}
			}
			by := "unknown"
			if u, err := user.Current(); err == nil {
				by = u.Username
			}
			l, err := a.openLedger(cmd.Context()) // unlike openCheckedLedger, also one that lacks spends
			if err != nil {
				return err
			}
			err = l.Reset(cmd.Context(), by)
			l.close()
			if err != nil {
				return err
			}
			if err := a.recount(cmd.Context()); !errors.Is(err, errLacksNothing) {
				return err
			}
			return a.withLedger(cmd.Context(), func(ctx context.Context, l *ledger) error {
				return a.corrected(ctx, l, "reset account "+a.cfg.Account, "")
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}
