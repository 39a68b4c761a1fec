package main

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/spf13/cobra"
)

// Completion of arguments and flags, from the config and the costs. A source that cannot be read completes nothing.

// complete gives the commands their completions.
func (a *app) complete(root *cobra.Command) {
	pools := func(_ context.Context, a *app) ([]string, error) {
		t, err := a.tariff()
		if err != nil {
			return nil, err
		}
		return t.PoolNames(), nil
	}
	for _, c := range []struct {
		path []string
		list lister
	}{
		{[]string{"chart"}, regionsOf},
		{[]string{"quota", "take"}, methodsOf},
		{[]string{"quota", "post"}, pools},
		{[]string{"quota", "drain"}, pools},
	} {
		cmd, _, _ := root.Find(c.path) // it exists
		cmd.ValidArgsFunction = a.completion(c.list, 1)
	}
}

// refuseUnknownShells makes the completion of a shell that is not known a usage error, for which cobra prints help. The
// completions are written to where the root writes when it is called.
func refuseUnknownShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if cmd, _, err := root.Find([]string{"completion"}); err == nil {
		cmd.Args, cmd.RunE = noArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

// lister lists the possible values.
type lister func(context.Context, *app) ([]string, error)

// anywhere exceeds any number of arguments, for flags.
const anywhere = math.MaxInt

// completion completes the first so many arguments.
func (a *app) completion(list lister, first int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= first || a.loadConfig(cmd) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		a.quiet = true
		values, _ := list(cmd.Context(), a)
		return values, cobra.ShellCompDirectiveNoFileComp
	}
}

func regionsOf(_ context.Context, a *app) ([]string, error) {
	return slices.Sorted(slices.Values(a.cfg.RegionCodes())), nil
}

func methodsOf(_ context.Context, a *app) ([]string, error) {
	t, err := a.tariff()
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(t.Methods)), nil
}
