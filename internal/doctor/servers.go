package doctor

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
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/postgres"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/pgledger"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// The checks of a Redis or a PostgreSQL as a ledger.

// askRemote asks the ledger's server about itself, once; a ledger in a file has no server.
func askRemote(ctx context.Context, d *Doctor) error {
	if d.OpenRemote == nil {
		return nil
	}
	d.server.once.Do(func() {
		remote, err := d.OpenRemote(ctx)
		if err != nil {
			d.server.err = err
			return
		}
		defer func() { _ = remote.Close() }()
		switch l := remote.(type) {
		case *redisledger.Ledger:
			f, err := l.Inspect(ctx)
			d.server.redis, d.server.err = &f, err
		case *pgledger.Ledger:
			f, err := l.Inspect(ctx)
			d.server.postgres, d.server.err = &f, err
		}
	})
	return d.server.err
}

// redisFacts returns Redis's own facts; nil if the ledger is not in Redis.
func redisFacts(ctx context.Context, d *Doctor) (*redisledger.Facts, error) {
	err := askRemote(ctx, d)
	return d.server.redis, err
}

// postgresFacts returns PostgreSQL's own facts; nil if the ledger is not in PostgreSQL.
func postgresFacts(ctx context.Context, d *Doctor) (*pgledger.Facts, error) {
	err := askRemote(ctx, d)
	return d.server.postgres, err
}

const (
	oldestRedis    = 7
	oldestPostgres = 15
)

func checkRedis(ctx context.Context, d *Doctor) Finding {
	f, err := redisFacts(ctx, d)
	if f == nil {
		return noFinding // other kind of ledger, or config reports it
	}
	major, _, _ := strings.Cut(f.Version, ".")
	version, unknown := strconv.Atoi(major)
	return judgeServer(ctx, d, err, server{
		about: fmt.Sprintf("%s %s, %s", cmp.Or(f.Server, "redis"), cmp.Or(f.Version, "of unknown version"),
			cmp.Or(f.Role, "of unknown role")),
		tooOld: unknown == nil && version < oldestRedis, oldest: oldestRedis, replica: f.Role != "" &&
			f.Role != "master", roundTrip: f.RoundTrip,
		primary: "name the master in --ledger, or use redis+sentinel://", ping: "redis-cli -h HOST ping",
	})
}

func checkPostgres(ctx context.Context, d *Doctor) Finding {
	f, err := postgresFacts(ctx, d)
	if f == nil {
		return noFinding // other kind of ledger, or config reports it
	}
	about := "postgres " + f.Name
	if f.Pooled {
		about += ", behind a pooler"
	}
	return judgeServer(ctx, d, err, server{
		about: about, tooOld: f.Version < oldestPostgres*10_000, oldest: oldestPostgres, replica: f.Replica,
		roundTrip: f.RoundTrip,
		primary:   "name the primary in --ledger, or all hosts with ?target_session_attrs=read-write",
		ping:      "psql URL -c 'select 1'",
	})
}

// server holds the facts of a server of either kind that judgeServer needs.
type server struct {
	about           string
	roundTrip       time.Duration
	tooOld, replica bool
	oldest          int    // the oldest version that works
	primary         string // what to do about a replica
	ping            string // the command that shows whether it answers
}

func judgeServer(ctx context.Context, d *Doctor, err error, s server) Finding {
	name := config.ServerName(d.Config.Ledger)
	text := fmt.Sprintf("%s: %s, answers in %.1f ms", name, s.about, float64(s.roundTrip.Microseconds())/1000)
	if s.roundTrip >= 50*time.Millisecond {
		text += fmt.Sprintf(", and a chart of 4 pages waits %.1f s for it", 4*s.roundTrip.Seconds())
	}
	silent := err != nil
	if !silent {
		_, err = ledgerReport(ctx, d)
	}
	switch {
	case !silent && s.tooOld:
		return fail(Unavailable, text, fmt.Sprintf("update it: version %d or newer is needed", s.oldest))
	case !silent && s.replica:
		return fail(Unavailable, text+": a replica takes no writes", s.primary)
	case silent, errors.Is(err, quota.ErrUnavailable) && !errors.Is(err, sharedledger.ErrLost):
		cure := "see that it runs and is reached from here: " + s.ping
		if known, ok := errors.AsType[*quota.ServerError](err); ok {
			cure = known.Cure
		}
		return fail(Unavailable, name+": "+err.Error(), cure+untilThen(ctx, d, time.Time{}))
	case errors.Is(err, quota.ErrCorrupt), errors.Is(err, quota.ErrNewer):
		return failWith(err, "the ledger in it cannot be used: see what else writes to it")
	}
	return okf("%s", text)
}

func judgeEviction(_ *Doctor, f redisledger.Facts) Finding {
	switch {
	case f.MaxMemoryPolicy == "":
		return warn("maxmemory-policy: the server does not say",
			"see that it is noeviction: redis-cli CONFIG GET maxmemory-policy")
	case f.Evicts():
		return fail(Unavailable, fmt.Sprintf("maxmemory-policy is %s: redis would delete the spends", f.MaxMemoryPolicy),
			"CONFIG SET maxmemory-policy noeviction, and in redis.conf")
	}
	memory := term.Bytes(f.MaxMemory)
	if f.MaxMemory < 0 {
		memory = "unknown"
	} else if f.MaxMemory == 0 {
		memory = "none"
	}
	return okf("maxmemory-policy %s, maxmemory %s", f.MaxMemoryPolicy, memory)
}

func judgePersistence(_ *Doctor, f redisledger.Facts) Finding {
	switch {
	case f.AppendOnly == "":
		return warn("appendonly: the server does not say", "see that it is yes: redis-cli CONFIG GET appendonly")
	case f.AppendOnly == "no":
		return warn("no append-only file: a restart forgets the spends since the last snapshot",
			"CONFIG SET appendonly yes, and in redis.conf: only running hosts fill the gap, from their journals")
	case f.AppendFsync == "no":
		return warn("append-only file, appendfsync no: a power cut forgets half a minute",
			"CONFIG SET appendfsync everysec, and in redis.conf")
	case f.AppendFsync == "":
		return okf("append-only file")
	}
	return okf("append-only file, appendfsync %s", f.AppendFsync)
}

func judgeRedisRights(_ *Doctor, f redisledger.Facts) Finding {
	switch {
	case len(f.Lacks) > 0:
		return fail(Unavailable, "its user may not "+strings.Join(f.Lacks, ", "),
			"ACL SETUSER NAME +"+strings.Join(f.Lacks, " +"))
	case !f.LacksKnown:
		return warn("its user's rights could not be tried", "look again when the Redis takes writes")
	}
	return okf("it has all rights that it needs")
}

func judgeDurability(_ *Doctor, f pgledger.Facts) Finding {
	switch {
	case f.Fsync == "off":
		return warn("fsync is off: a power cut forgets the newest spends, and may damage the database",
			"ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf()")
	case f.SynchronousCommit == "off":
		return warn("synchronous_commit is off: a power cut forgets the last half second",
			"ALTER DATABASE NAME SET synchronous_commit = on")
	case f.Standbys == "":
		return okf("confirmed commits are on disk; a promoted replica may lack the newest")
	}
	return okf("confirmed commits are on disk here and at %s", f.Standbys)
}

// InClear returns the host beyond this machine that may get the password of a ledger's or a store's URL in clear; "" if
// none does.
func InClear(server string) string {
	if strings.HasPrefix(server, "postgres") {
		if c, err := postgres.Parse(server); err == nil {
			return postgres.InClear(&c.ConnConfig.Config)
		}
		return ""
	}
	o, err := redisledger.Parse(server)
	if err != nil || o.TLSConfig != nil || o.Password+o.SentinelPassword == "" {
		return ""
	}
	for _, h := range o.Addrs {
		if host, _, _ := net.SplitHostPort(h); !wire.IsLoopback(host) {
			return host
		}
	}
	return ""
}

// DescribeInClear gives the meaning of InClear, and the cure.
func DescribeInClear(server, host string) (text, cure string) {
	cure = "use rediss://, or a tunnel to a loopback address"
	if strings.HasPrefix(server, "postgres") {
		cure = "add ?sslmode=verify-full, or use a tunnel to a loopback address"
	}
	return "the password may go to " + host + " in clear", cure
}

func judgeURL(kind, server string) Finding {
	if host := InClear(server); host != "" && strings.HasPrefix(server, kind) {
		return warn(DescribeInClear(server, host))
	}
	return noFinding
}

// StartBound bounds the time that a start spends on checks that it could do without.
const StartBound = 500 * time.Millisecond

// CheckAtStart refuses a remote ledger that would lose charges, or returns a warning about it. It takes one round
// trip. A server that does not answer, or does not permit the question, is no error here: the next take will show it.
func CheckAtStart(ctx context.Context, remote sharedledger.Remote, name string) (warning string, err error) {
	ctx, cancel := context.WithTimeout(ctx, StartBound)
	defer cancel()
	switch l := remote.(type) {
	case *redisledger.Ledger:
		f, err := l.Glance(ctx)
		switch {
		case err != nil: // degraded mode is for that
		case f.Evicts():
			return "", fmt.Errorf("%w: redis at %s has maxmemory-policy %s and would delete the spends: "+
				"CONFIG SET maxmemory-policy noeviction, and in redis.conf",
				quota.ErrClosed, name, f.MaxMemoryPolicy)
		case f.AppendOnly == "no":
			return fmt.Sprintf("redis at %s has no append-only file and forgets the spends when it restarts: "+
				"CONFIG SET appendonly yes", name), nil
		}
	case *pgledger.Ledger:
		if f, err := l.Inspect(ctx); err == nil && !f.Durable() {
			return fmt.Sprintf("postgres at %s confirms commits that are not on disk (fsync %s, "+
				"synchronous_commit %s) and may forget spends: set both on", name, f.Fsync, f.SynchronousCommit), nil
		}
	}
	return "", nil
}
