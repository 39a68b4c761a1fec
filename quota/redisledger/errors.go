package redisledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/trendvidstream/ingest/quota"
)

// explain wraps what the client or a script answered in one of quota's errors.
func (l *Ledger) explain(ctx context.Context, err error, keys []string) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w: redis: %w", quota.ErrUnavailable, cause)
	}
	var answer redis.Error
	if !errors.As(err, &answer) {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%w: redis: no answer within %v: %w", quota.ErrUnavailable, l.timeout, err)
		}
		return fmt.Errorf("%w: redis: %w", quota.ErrUnavailable, err)
	}
	text := answer.Error()
	word, rest, _ := strings.Cut(text, " ")
	rest, _, _ = strings.Cut(rest, " script: ") // where in which script, after an error()
	switch word {
	case "CORRUPT", "WRONGTYPE":
		return corrupt(keys, rest)
	case "NEWER":
		return fmt.Errorf("%w: redis: %s: this program knows version 1: update it", quota.ErrNewer, rest)
	case "NOTHING":
		return fmt.Errorf("%w: redis: %s", quota.ErrNotRefundable, rest)
	case "CLOCK":
		return clockError(rest)
	}
	switch { // these have no word of their own, or not always
	case word == "NOAUTH", word == "WRONGPASS", strings.Contains(text, "unauthenticated"):
		return fmt.Errorf("%w: redis: %w: check user and password in the ledger's URL", quota.ErrUnavailable, err)
	case word == "NOPERM", strings.Contains(text, "The user executing the script"):
		return fmt.Errorf("%w: redis: %w: its user has not all rights: see ACL SETUSER in the documentation", quota.ErrUnavailable, err)
	case strings.Contains(text, "ompiling script"):
		return fmt.Errorf("%w: redis: %w: version 7 or newer is needed", quota.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: redis: %w", quota.ErrUnavailable, err)
}

// corrupt is what a key that no ledger wrote is answered with.
func corrupt(keys []string, what string) error {
	return fmt.Errorf("%w: redis: %s: look what wrote to it; to start the account anew, DEL %s, and post what was spent",
		quota.ErrCorrupt, what, quoted(keys))
}

// clockError names the two clocks that a script found too far apart.
func clockError(rest string) error {
	var ledger, other int64
	if _, err := fmt.Sscan(rest, &ledger, &other); err != nil {
		return fmt.Errorf("%w: redis: clocks apart: %q", quota.ErrUnavailable, rest)
	}
	return fmt.Errorf("%w: redis: its clock says %s, this machine's or the newest entry %s: set them right, more than %v apart is not trusted",
		quota.ErrUnavailable, clock(ledger), clock(other), quota.MaxClockGap)
}

func clock(us int64) string { return quota.FromMicros(us).Format(time.RFC3339) }

func quoted(keys []string) string {
	var words []string
	for _, k := range keys {
		words = append(words, fmt.Sprintf("%q", k))
	}
	return strings.Join(words, " ")
}
