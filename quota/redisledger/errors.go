package redisledger

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/trendvidstream/ingest/internal/hide"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// explain wraps an error of the client or a script in one of quota's errors. If the operation may have been carried
// out, it is quota.ErrInDoubt too.
func (l *Ledger) explain(ctx context.Context, err error, keys []string) error {
	var answer redis.Error
	err = l.hidePasswords(err)
	if !errors.As(err, &answer) {
		return l.noAnswer(ctx, err)
	}
	text := answer.Error()
	word, rest, _ := strings.Cut(text, " ")
	rest, _, _ = strings.Cut(rest, " script: ") // an error() adds the place in the script
	if a, ok := answers[word]; ok {
		return fmt.Errorf("%w: redis: "+a.text, a.kind, rest)
	}
	switch word {
	case "CORRUPT", "WRONGTYPE":
		return corrupt(keys, rest)
	case "CLOCK":
		return clockError(rest)
	case "GENERATION":
		now, err := strconv.ParseInt(rest, 10, 64)
		if err != nil {
			return corrupt(keys, "a generation that is no number")
		}
		return fmt.Errorf("redis: %w", &sharedledger.GenerationError{Now: sharedledger.Generation(now)})
	case "CHANGED":
		return errChanged
	}
	if c := causeOf(word, text); c.cause != "" {
		return fmt.Errorf("%w: redis: %w", quota.ErrUnavailable, &quota.ServerError{Cause: c.cause, Cure: c.cure, Err: err})
	}
	if untouched[word] {
		return fmt.Errorf("%w: redis: %w", quota.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: redis: %w: %w", quota.ErrUnavailable, err, quota.ErrInDoubt)
}

// hidePasswords returns an error that quotes a password, of the server or of the client, with stars in its place.
func (l *Ledger) hidePasswords(err error) error {
	text, hidden := []byte(err.Error()), false
	for _, password := range l.passwords {
		hidden = hide.In(text, password) || hidden
	}
	if !hidden {
		return err
	}
	if errors.As(err, new(redis.Error)) {
		return hiddenAnswer(text)
	}
	return &hiddenError{string(text), err}
}

// hiddenError replaces its error's text.
type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.err }

// hiddenAnswer is a server's error.
type hiddenAnswer string

func (e hiddenAnswer) Error() string { return string(e) }

// RedisError implements redis.Error.
func (hiddenAnswer) RedisError() {}

// answers are the errors of scripts by their first word: the kind, and a text for the rest.
var answers = map[string]struct {
	kind error
	text string
}{
	"NEWER":   {quota.ErrNewer, "%s: this program knows version 1: update it"},
	"NOTHING": {quota.ErrNotRefundable, "%s"},
	"SHARED":  {quota.ErrShared, "%s belongs to several data directories, and their journals would bring the spends back"},
	"LOST":    {sharedledger.ErrLost, "%s"},
	"CLONE":   {sharedledger.ErrClone, "it has written number %s"},
	"SYNCED":  {sharedledger.ErrSynced, "number %s"},
}

// untouched are the first words of errors after which nothing was done.
var untouched = map[string]bool{
	"READONLY": true, "LOADING": true, "MASTERDOWN": true, "CLUSTERDOWN": true, "TRYAGAIN": true,
	"CROSSSLOT": true, "MOVED": true, "ASK": true,
	"MISCONF": true, "OOM": true, "NOREPLICAS": true, "BUSY": true, "NOSCRIPT": true, "DENIED": true,
	"DAYS": true, // a script's own
}

// noAnswer returns the error for a server that did not answer.
func (l *Ledger) noAnswer(ctx context.Context, err error) error {
	what := err
	if c := silenceOf(err, l.timeout); c.cause != "" {
		what = &quota.ServerError{Cause: c.cause, Cure: c.cure, Err: err}
	}
	if cause := context.Cause(ctx); cause != nil {
		what = cause
	}
	what = fmt.Errorf("%w: redis: %w", quota.ErrUnavailable, what)
	if unsent(err) {
		return what
	}
	return fmt.Errorf("%w: %w", what, quota.ErrInDoubt)
}

// unsent reports whether an error means that nothing was sent.
func unsent(err error) bool {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return true
	}
	before := []error{errTLS, errEarly, redis.ErrClosed, redis.ErrPoolTimeout, redis.ErrPoolExhausted}
	return errors.As(err, new(*tls.CertificateVerificationError)) ||
		slices.ContainsFunc(before, func(e error) bool { return errors.Is(err, e) })
}

// errEarly means that the caller gave up before the server was asked.
var errEarly = errors.New("not asked")

// corrupt returns the error for keys with content that no ledger writes.
func corrupt(keys []string, what string) error {
	return fmt.Errorf("%w: redis: %s: find out which program wrote to it; "+
		"to start the account again, DEL %s, and post its spends",
		quota.ErrCorrupt, what, strings.Trim(fmt.Sprintf("%q", keys), "[]"))
}

// clockError names the two clocks that a script found too far apart.
func clockError(rest string) error {
	var ledger, other int64
	if _, err := fmt.Sscan(rest, &ledger, &other); err != nil {
		return fmt.Errorf("%w: redis: clocks apart: %q", quota.ErrUnavailable, rest)
	}
	return quota.ClockError(protocol.Sprintf("redis: its clock says %s, the newest entry or this machine's clock says "+
		"%s: set the clocks, which may differ by the grace, and by %v at most",
		protocol.Time(ledger), protocol.Time(other), quota.MaxClockGap))
}
