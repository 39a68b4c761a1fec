package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
)

// orAsk wants so many arguments, at least or exactly, and asks for them where they are not given.
func orAsk(args cobra.PositionalArgs, ask string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if args(cmd, given) == nil {
			return nil
		}
		return usageError{errors.New(ask)}
	}
}

// regionFlag reads --region; "" is none.
func regionFlag(s string) (ingest.Region, error) {
	if s == "" {
		return "", nil
	}
	r, err := regions.Parse(s)
	if err != nil {
		return "", usageError{fmt.Errorf("--region: %w", err)}
	}
	return r, nil
}

// timeFlag reads a flag that takes a time: how long before now, a day in UTC, or RFC 3339. "" is the zero
// time.
func timeFlag(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && n > 0 {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	if t, err := parseInstant(s); err == nil {
		return t, nil
	}
	return time.Time{}, usageError{fmt.Errorf("--%s %q: use a time ago such as 24h or 7d, a day such as 2026-11-01, or an RFC 3339 time such as 2026-11-01T09:00:00Z",
		flag, s)}
}

// parseInstant reads a day, which begins at 00:00 UTC, or an RFC 3339 time.
func parseInstant(s string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t, err = time.Parse(time.RFC3339, s)
	}
	return t.UTC(), err
}
