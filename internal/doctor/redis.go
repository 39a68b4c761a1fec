package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/trendvidstream/ingest/fetch/wire"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// The checks of a Redis as a ledger.

var errNoRedis = errors.New("the ledger is no Redis")

// askServer asks the server about itself, once.
func askServer(ctx context.Context, d *Doctor) (redisledger.Facts, error) {
	if d.OpenRemote == nil {
		return redisledger.Facts{}, errNoRedis
	}
	d.server.once.Do(func() {
		l, err := d.OpenRemote(ctx)
		if err != nil {
			d.server.err = err
			return
		}
		defer func() { _ = l.Close() }()
		d.server.facts, d.server.err = l.Inspect(ctx)
	})
	return d.server.facts, d.server.err
}

// judgeServer judges what the server said, where it said anything.
func judgeServer(ctx context.Context, d *Doctor, judge func(redisledger.Facts) Finding) Finding {
	f, err := askServer(ctx, d)
	if err != nil {
		return nothing // redis reports it
	}
	return judge(f)
}

const (
	oldestRedis = 7
	unreached   = "see that it runs and is reached from here: redis-cli -h HOST ping; until then cheap calls go on from the emergency budget"
)

func lookRedis(ctx context.Context, d *Doctor) Finding {
	name := config.RedactURL(d.Config.Ledger)
	f, err := askServer(ctx, d)
	switch {
	case errors.Is(err, errNoRedis), errors.As(err, &config.Error{}):
		return nothing // config reports it
	case err != nil:
		return fail(Unavailable, name+": "+err.Error(), unreached)
	}
	_, err = ledgerReport(ctx, d)
	text := fmt.Sprintf("%s: %s %s, %s, answers in %.1f ms", name, cmp.Or(f.Server, "redis"), cmp.Or(f.Version, "of unknown version"),
		cmp.Or(f.Role, "of unknown role"), float64(f.RoundTrip.Microseconds())/1000)
	major, _, _ := strings.Cut(f.Version, ".")
	n, numbered := strconv.Atoi(major)
	switch {
	case numbered == nil && n < oldestRedis:
		return fail(Unavailable, text, "update it: version 7 or newer is needed")
	case f.Role != "" && f.Role != "master":
		return fail(Unavailable, text+": a replica takes no writes", "name the master in --ledger, or use redis+sentinel://")
	case errors.Is(err, quota.ErrUnavailable) && !errors.Is(err, sharedledger.ErrLost):
		return fail(Unavailable, name+": "+err.Error(), unreached)
	case errors.Is(err, quota.ErrCorrupt), errors.Is(err, quota.ErrNewer):
		return broken(err, "the ledger in it cannot be used: see what else writes to this Redis")
	}
	return fine("%s", text)
}

func lookEviction(ctx context.Context, d *Doctor) Finding {
	return judgeServer(ctx, d, func(f redisledger.Facts) Finding {
		switch {
		case f.MaxMemoryPolicy == "":
			return warn("maxmemory-policy: the server does not say", "see that it is noeviction: redis-cli CONFIG GET maxmemory-policy")
		case f.Evicts():
			return fail(Unavailable, fmt.Sprintf("maxmemory-policy is %s: redis would delete what was spent", f.MaxMemoryPolicy),
				"CONFIG SET maxmemory-policy noeviction, and in redis.conf")
		}
		memory := term.Bytes(f.MaxMemory)
		switch {
		case f.MaxMemory < 0:
			memory = "unknown"
		case f.MaxMemory == 0:
			memory = "none"
		}
		return fine("maxmemory-policy %s, maxmemory %s", f.MaxMemoryPolicy, memory)
	})
}

func lookPersistence(ctx context.Context, d *Doctor) Finding {
	return judgeServer(ctx, d, func(f redisledger.Facts) Finding {
		switch {
		case f.AppendOnly == "":
			return warn("appendonly: the server does not say", "see that it is yes: redis-cli CONFIG GET appendonly")
		case f.AppendOnly == "no":
			return warn("no append-only file: a restart forgets what was spent since the last snapshot",
				"CONFIG SET appendonly yes, and in redis.conf: each host's journal fills the gap, but a host that is away cannot")
		case f.AppendFsync == "no":
			return warn("append-only file, appendfsync no: a power cut forgets half a minute", "CONFIG SET appendfsync everysec, and in redis.conf")
		case f.AppendFsync == "":
			return fine("append-only file")
		}
		return fine("append-only file, appendfsync %s", f.AppendFsync)
	})
}

func lookRedisClock(ctx context.Context, d *Doctor) Finding {
	return judgeServer(ctx, d, func(f redisledger.Facts) Finding { return judgeClockGap(f.ClockAhead, "redis") })
}

func lookRedisRights(ctx context.Context, d *Doctor) Finding {
	return judgeServer(ctx, d, func(f redisledger.Facts) Finding {
		switch {
		case len(f.Lacks) > 0:
			return fail(Unavailable, "its user may not "+strings.Join(f.Lacks, ", "), "ACL SETUSER NAME +"+strings.Join(f.Lacks, " +"))
		case !f.LacksKnown:
			return warn("what its user may do could not be tried", "look again when the Redis takes writes")
		}
		return fine("it has all rights that it needs")
	})
}

func lookRedisURL(_ context.Context, d *Doctor) Finding {
	t, err := redisledger.Parse(d.Config.Ledger)
	if err != nil || d.OpenRemote == nil || t.TLSConfig != nil || t.Password+t.SentinelPassword == "" {
		return nothing
	}
	for _, h := range t.Addrs {
		if host, _, _ := net.SplitHostPort(h); !wire.IsLoopback(host) {
			return warn("the password goes to "+host+" in clear", "use rediss://, or a tunnel to a loopback address")
		}
	}
	return nothing
}
