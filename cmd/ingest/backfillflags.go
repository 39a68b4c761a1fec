package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/term"
)

// kindFlags are the flags of the kinds, as they were given.
type kindFlags struct {
	region, from, to, orderBy string
	slice, olderThan          string
	order                     string
	again, ask                bool
}

// between reads --from and --to: both or neither, not reversed, not in the future.
func between(from, to string, now time.Time) (after, before time.Time, err error) {
	if (from == "") != (to == "") {
		return after, before, usageError{errors.New("--from and --to: give both, or neither for everything until now")}
	}
	if from == "" {
		return after, before, nil
	}
	for _, t := range []struct {
		flag, given string
		into        *time.Time
	}{{"from", from, &after}, {"to", to, &before}} {
		if *t.into, err = instantFlag(t.flag, t.given); err != nil {
			return after, before, err
		}
		if t.into.After(now) {
			return after, before, usageError{fmt.Errorf("--%s %s is in the future: it is %s now", t.flag, t.given, term.Stamp(now))}
		}
	}
	switch {
	case !after.Before(before):
		return after, before, usageError{fmt.Errorf("--from %s is not before --to %s: are they reversed?", from, to)}
	case after.Before(youtube.FirstVideo):
		return after, before, usageError{fmt.Errorf("--from %s is before the first video, of %s", from, youtube.FirstVideo.Format(time.DateOnly))}
	}
	return after, before, nil
}

// instantFlag reads a time that means the same tomorrow, so that the same flags find the same plan.
func instantFlag(flag, s string) (time.Time, error) {
	t, err := parseInstant(s)
	if err != nil {
		return t, usageError{fmt.Errorf("--%s %q: use a day such as 2026-11-01, which begins at 00:00 UTC, or an RFC 3339 time such as 2026-11-01T09:00:00Z", flag, s)}
	}
	return t.Truncate(time.Second), nil
}

// spanFlag reads a length of time of whole seconds, in hours, minutes or days.
func spanFlag(flag, s string, least time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if d, err = time.ParseDuration(days + "h"); err == nil {
			d *= 24
		}
	}
	const longest = 30 * 365 * 24 * time.Hour
	if err != nil || d < least || d > longest || d%time.Second != 0 {
		return 0, usageError{fmt.Errorf("--%s %q: use a length of time such as 24h or 7d, from %v on", flag, s, least)}
	}
	return d, nil
}

func parseOrder(s string) (ingest.Order, error) {
	switch o := ingest.Order(s); o {
	case ingest.Newest, ingest.Oldest:
		return o, nil
	}
	return "", usageError{fmt.Errorf("--order %q: use newest or oldest", s)}
}
