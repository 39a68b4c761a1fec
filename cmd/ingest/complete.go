package main

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/store"
)

// Completion of arguments and flags, from the config, the costs and the store. What cannot be read completes nothing.

// complete gives the commands their completions.
func (a *app) complete(root *cobra.Command) {
	pools := func(_ context.Context, a *app) ([]string, error) {
		t, err := tariffOf(a.cfg)
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
		{[]string{"history"}, videosOf},
		{[]string{"quota", "take"}, methodsOf},
		{[]string{"quota", "post"}, pools},
		{[]string{"quota", "drain"}, pools},
		{[]string{"backfill", "run"}, backfillsOf},
		{[]string{"backfill", "status"}, backfillsOf},
		{[]string{"backfill", "cancel"}, backfillsOf},
		{[]string{"backfill", "retry"}, backfillsOf},
	} {
		cmd, _, _ := root.Find(c.path) // which is there
		cmd.ValidArgsFunction = a.completion(c.list)
	}
}

// lister lists what may be typed; a tab ends a value and begins what it is.
type lister func(context.Context, *app) ([]string, error)

// completion completes the first argument, or the value of a flag.
func (a *app) completion(list lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 || a.load(cmd) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		a.quiet = true
		values, _ := list(cmd.Context(), a)
		return values, cobra.ShellCompDirectiveNoFileComp
	}
}

// load reads the clock and the configuration.
func (a *app) load(cmd *cobra.Command) (err error) {
	a.flags.Set = func(name string) bool { return name != "" && cmd.Flags().Changed(name) }
	if a.clock, err = config.NewClock(); err == nil && needsConfig(cmd) {
		a.cfg, err = config.Load(a.flags, upstreamLimits())
	}
	return err
}

func regionsOf(_ context.Context, a *app) ([]string, error) {
	return slices.Sorted(slices.Values(a.cfg.RegionCodes())), nil
}

func methodsOf(_ context.Context, a *app) ([]string, error) {
	t, err := tariffOf(a.cfg)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(t.Methods)), nil
}

// videosOf are the newest videos.
func videosOf(ctx context.Context, a *app) (ids []string, err error) {
	return ids, a.withStore(ctx, func(s *store.Store) error {
		found, err := s.Search(ctx, store.Query{Order: store.ByFreshness, Limit: 100, At: a.clock.Now()})
		for _, h := range found.Items {
			ids = append(ids, h.Video.ID+"\t"+h.Video.Title)
		}
		return err
	})
}

func backfillsOf(ctx context.Context, a *app) (ids []string, err error) {
	return ids, a.withStore(ctx, func(s *store.Store) error {
		list, err := s.Backfills(ctx)
		for _, b := range list {
			ids = append(ids, b.ID+"\t"+web.BackfillText(b.Backfill))
		}
		return err
	})
}
