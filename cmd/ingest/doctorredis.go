package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/fetch/wire"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// The checks of a Redis as a ledger.

// inspection is what the server said of itself.
type inspection struct {
	facts redisledger.Facts
	err   error
}

// inspect asks the server, once.
func (d *doctor) inspect(ctx context.Context) (inspection, bool) {
	if d.sqlite() {
		return inspection{}, false
	}
	d.inspectOnce.Do(func() {
		l, err := d.remoteLedger(ctx)
		if err != nil {
			d.inspection.err = err
			return
		}
		defer func() { _ = l.Close() }()
		d.inspection.facts, d.inspection.err = l.Inspect(ctx)
	})
	return d.inspection, true
}

// facts are what the server said, where it said anything.
func (d *doctor) facts(ctx context.Context) (redisledger.Facts, bool) {
	i, wanted := d.inspect(ctx)
	return i.facts, wanted && i.err == nil
}

const (
	oldestRedis = 7
	unreached   = "see that it runs and is reached from here: redis-cli -h HOST ping; until then cheap calls go on from the emergency budget"
)

func lookRedis(ctx context.Context, d *doctor) finding {
	i, wanted := d.inspect(ctx)
	where := ledgerName(d.cfg.Ledger)
	switch {
	case !wanted:
		return noLine
	case i.err != nil && exitCode(i.err) == exitConfig:
		return noLine // the config has said so
	case i.err != nil:
		return fail(exitUnavailable, where+": "+i.err.Error(), unreached)
	}
	_, err := d.report(ctx)
	text := fmt.Sprintf("%s: %s %s, %s, answers in %.1f ms", where, cmp.Or(i.facts.Server, "redis"), cmp.Or(i.facts.Version, "of unknown version"),
		cmp.Or(i.facts.Role, "of unknown role"), float64(i.facts.RoundTrip.Microseconds())/1000)
	major, _, _ := strings.Cut(i.facts.Version, ".")
	n, numbered := strconv.Atoi(major)
	switch {
	case numbered == nil && n < oldestRedis:
		return fail(exitUnavailable, text, "update it: version 7 or newer is needed")
	case i.facts.Role != "" && i.facts.Role != "master":
		return fail(exitUnavailable, text+": a replica takes no writes", "name the master in --ledger, or use redis+sentinel://")
	case errors.Is(err, quota.ErrUnavailable) && !errors.Is(err, sharedledger.ErrLost):
		return fail(exitUnavailable, where+": "+err.Error(), unreached)
	case errors.Is(err, quota.ErrCorrupt), errors.Is(err, quota.ErrNewer):
		return broken(err, "the ledger in it cannot be used: look what else writes to this Redis")
	}
	return fine("%s", text)
}

func lookEviction(ctx context.Context, d *doctor) finding {
	f, asked := d.facts(ctx)
	switch {
	case !asked:
		return noLine
	case f.MaxMemoryPolicy == "":
		return warn("maxmemory-policy: the server does not say", "see that it is noeviction: redis-cli CONFIG GET maxmemory-policy")
	case evicts(f.MaxMemoryPolicy):
		return fail(exitUnavailable, fmt.Sprintf("maxmemory-policy is %s: redis would delete what was spent", f.MaxMemoryPolicy),
			"CONFIG SET maxmemory-policy noeviction, and in redis.conf")
	}
	return fine("maxmemory-policy %s, maxmemory %s", f.MaxMemoryPolicy, limitText(f.MaxMemory))
}

// evicts reports whether a policy lets the server delete keys that are in use. Every key of ours
// expires some day, so that volatile- is no better than allkeys-.
func evicts(policy string) bool {
	return strings.HasPrefix(policy, "allkeys-") || strings.HasPrefix(policy, "volatile-")
}

func limitText(n int64) string {
	switch {
	case n < 0:
		return "unknown"
	case n == 0:
		return "none"
	}
	return term.Bytes(n)
}

func lookPersistence(ctx context.Context, d *doctor) finding {
	f, asked := d.facts(ctx)
	switch {
	case !asked:
		return noLine
	case f.AppendOnly == "":
		return warn("appendonly: the server does not say", "see that it is yes: redis-cli CONFIG GET appendonly")
	case f.AppendOnly == "no":
		return warn("no append-only file: a restart forgets what was spent since the last snapshot", withoutAOF)
	case f.AppendFsync == "no":
		return warn("append-only file, appendfsync no: a power cut forgets half a minute", "CONFIG SET appendfsync everysec, and in redis.conf")
	case f.AppendFsync == "":
		return fine("append-only file")
	}
	return fine("append-only file, appendfsync %s", f.AppendFsync)
}

const withoutAOF = "CONFIG SET appendonly yes, and in redis.conf: each host's journal fills the gap, but a host that is away cannot"

const worthAWord = 5 * time.Second // between this machine's clock and the server's

func lookRedisClock(ctx context.Context, d *doctor) finding {
	f, asked := d.facts(ctx)
	if !asked {
		return noLine
	}
	return judgeGap(f.ClockAhead, "redis")
}

// judgeGap is about how far another clock is ahead of this machine's.
func judgeGap(gap time.Duration, whose string) finding {
	side := "ahead of"
	if gap < 0 {
		side = "behind"
	}
	text := fmt.Sprintf("the clock of %s is %v %s this one", whose, gap.Abs().Round(100*time.Millisecond), side)
	const advice = "set both clocks by NTP: timedatectl set-ntp true"
	switch {
	case gap.Abs() > quota.MaxClockGap:
		return fail(exitUnavailable, text+": it is not trusted, and nothing but the emergency budget is spent", advice)
	case gap.Abs() > worthAWord:
		return warn(text, advice)
	}
	return fine("%s", text)
}

func lookRedisRights(ctx context.Context, d *doctor) finding {
	f, asked := d.facts(ctx)
	if !asked {
		return noLine
	}
	switch {
	case len(f.Lacks) > 0:
		return fail(exitUnavailable, "its user may not "+strings.Join(f.Lacks, ", "), "ACL SETUSER NAME +"+strings.Join(f.Lacks, " +"))
	case !f.LacksKnown:
		return warn("what its user may do could not be tried", "look again when the Redis takes writes")
	}
	return fine("it has all rights that it needs")
}

func lookRedisURL(_ context.Context, d *doctor) finding {
	t, err := redisledger.Parse(d.cfg.Ledger)
	if err != nil || d.sqlite() {
		return noLine
	}
	for _, h := range t.Hosts {
		host, _, _ := net.SplitHostPort(h)
		if t.Password+t.SentinelPassword != "" && !t.TLS && !wire.IsLoopback(host) {
			return warn("the password goes to "+host+" in clear", "use rediss://, or a tunnel to a loopback address")
		}
	}
	return noLine
}

// checkBound is what a start may cost that is not needed to go on.
const checkBound = 500 * time.Millisecond

// checkRemote refuses a Redis that would delete what was spent, and warns of one that forgets it when
// it is restarted. One round trip; a server that is silent, or may not be asked, is no error here: the
// next take will show it.
func (a *app) checkRemote(ctx context.Context, l *redisledger.Ledger) error {
	ctx, cancel := context.WithTimeout(ctx, checkBound)
	defer cancel()
	f, err := l.Glance(ctx)
	switch {
	case err != nil:
		return nil // that is what the degraded mode is for
	case evicts(f.MaxMemoryPolicy):
		return codeError{exitUnavailable, fmt.Errorf("%w: redis at %s has maxmemory-policy %s and would delete what was spent: CONFIG SET maxmemory-policy noeviction, and in redis.conf",
			quota.ErrClosed, ledgerName(a.cfg.Ledger), f.MaxMemoryPolicy)}
	case f.AppendOnly == "no":
		a.say("ingest: redis at %s has no append-only file and forgets what was spent when it restarts: CONFIG SET appendonly yes", ledgerName(a.cfg.Ledger))
	}
	return nil
}
