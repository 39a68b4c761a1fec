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
	"github.com/trendvidstream/ingest/quota/pgledger"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// The checks of a Redis as a ledger, and of the hosts that share it.

// askRemote asks the server about itself, once; a ledger in a file has none.
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

// withRedis makes a check that judges what the Redis says about itself, if it says anything.
func withRedis(judge func(redisledger.Facts) Finding) func(context.Context, *Doctor) Finding {
	return func(ctx context.Context, d *Doctor) Finding {
		if err := askRemote(ctx, d); err != nil || d.server.redis == nil {
			return noFinding // redis reports it
		}
		return judge(*d.server.redis)
	}
}

const (
	oldestRedis = 7
	noRedis     = "see that it runs and is reached from here: redis-cli -h HOST ping; until then cheap calls go on from the emergency budget"
)

func checkRedis(ctx context.Context, d *Doctor) Finding {
	err, name := askRemote(ctx, d), config.ServerName(d.Config.Ledger)
	f := d.server.redis
	switch {
	case f == nil:
		return noFinding // the ledger is another, or config reports it
	case err != nil:
		return fail(Unavailable, name+": "+err.Error(), noRedis)
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
		return fail(Unavailable, name+": "+err.Error(), noRedis)
	case errors.Is(err, quota.ErrCorrupt), errors.Is(err, quota.ErrNewer):
		return failWith(err, "the ledger in it cannot be used: see what else writes to this Redis")
	}
	return okf("%s", text)
}

func judgeEviction(f redisledger.Facts) Finding {
	switch {
	case f.MaxMemoryPolicy == "":
		return warn("maxmemory-policy: the server does not say", "see that it is noeviction: redis-cli CONFIG GET maxmemory-policy")
	case f.Evicts():
		return fail(Unavailable, fmt.Sprintf("maxmemory-policy is %s: redis would delete what was spent", f.MaxMemoryPolicy),
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

func judgePersistence(f redisledger.Facts) Finding {
	switch {
	case f.AppendOnly == "":
		return warn("appendonly: the server does not say", "see that it is yes: redis-cli CONFIG GET appendonly")
	case f.AppendOnly == "no":
		return warn("no append-only file: a restart forgets what was spent since the last snapshot",
			"CONFIG SET appendonly yes, and in redis.conf: each host's journal fills the gap, but a host that is away cannot")
	case f.AppendFsync == "no":
		return warn("append-only file, appendfsync no: a power cut forgets half a minute", "CONFIG SET appendfsync everysec, and in redis.conf")
	case f.AppendFsync == "":
		return okf("append-only file")
	}
	return okf("append-only file, appendfsync %s", f.AppendFsync)
}

func checkRedisClock(ctx context.Context, d *Doctor) Finding {
	return withRedis(func(f redisledger.Facts) Finding { return judgeClockGap(f.ClockAhead, d.clockGap(), "redis") })(ctx, d)
}

func judgeRedisRights(f redisledger.Facts) Finding {
	switch {
	case len(f.Lacks) > 0:
		return fail(Unavailable, "its user may not "+strings.Join(f.Lacks, ", "), "ACL SETUSER NAME +"+strings.Join(f.Lacks, " +"))
	case !f.LacksKnown:
		return warn("what its user may do could not be tried", "look again when the Redis takes writes")
	}
	return okf("it has all rights that it needs")
}

func checkRedisURL(_ context.Context, d *Doctor) Finding {
	t, err := redisledger.Parse(d.Config.Ledger)
	if err != nil || d.OpenRemote == nil || t.TLSConfig != nil || t.Password+t.SentinelPassword == "" {
		return noFinding
	}
	for _, h := range t.Addrs {
		if host, _, _ := net.SplitHostPort(h); !wire.IsLoopback(host) {
			return warn("the password goes to "+host+" in clear", "use rediss://, or a tunnel to a loopback address")
		}
	}
	return noFinding
}

func checkHosts(ctx context.Context, d *Doctor) Finding {
	want := d.Config.Hosts
	if d.OpenRemote == nil {
		if want > 1 {
			return warn(fmt.Sprintf("hosts: is %d, but the ledger is %s, which no other host sees", want, d.LedgerFile),
				"set hosts: 1, or share a --ledger redis://... or postgres://...")
		}
		return noFinding
	}
	l, err := d.OpenRemote(ctx)
	if err != nil {
		return noFinding // config reports it
	}
	defer func() { _ = l.Close() }()
	s, err := l.State(ctx, d.Config.Account, nil)
	switch {
	case errors.Is(err, sharedledger.ErrLost):
		return warn("the ledger's server was restarted or replaced since hosts last synced what they spent", "the next run of each host syncs again; let all of them run once")
	case err != nil:
		return noFinding // redis reports it
	case s.Generation == 0:
		return okf("none of %d has come yet", want)
	}
	return judgeHosts(s.Hosts, want)
}

// judgeHosts compares the hosts that have synced in this generation with how many there should be. One that has ended
// with all synced, as a one-shot run or a container does, is no host too many.
func judgeHosts(hosts []sharedledger.Host, want int) Finding {
	var names, advice []string
	ended := 0
	for _, h := range hosts {
		names = append(names, h.Name)
		if h.Left {
			ended++
		}
	}
	synced := max(len(hosts)-ended, min(len(hosts), want))
	lines := []string{fmt.Sprintf("%d of %d have synced: %s", synced, want, strings.Join(names, ", "))}
	switch {
	case synced > want:
		advice = append(advice, fmt.Sprintf("set hosts: %d in every config: each takes a larger part of the emergency budget than it may", synced))
	case synced < want:
		advice = append(advice, "start those that are missing, or set hosts: to how many there are: after a loss expensive calls wait for all of them")
	}
	if shared := inCommon(hosts, func(h sharedledger.Host) []string { return h.Regions }, "%s is fetched by %s and by %s"); len(shared) > 0 {
		lines = append(lines, shared...)
		advice = append(advice, "let each region be fetched by one host: regions: of its jobs")
	}
	if twice := inCommon(hosts, machineOf, "machine %s has two: %s and %s"); len(twice) > 0 {
		lines = append(lines, twice...)
		advice = append(advice, "one data directory a machine is enough: use the same --data for all runs")
	}
	if len(advice) > 0 {
		return warn(strings.Join(lines, "; "), strings.Join(advice, "; "))
	}
	return okf("%s", strings.Join(lines, "; "))
}

// inCommon lists what two hosts have in common, formatted with that and the names of both.
func inCommon(hosts []sharedledger.Host, of func(sharedledger.Host) []string, format string) []string {
	var out []string
	first := map[string]string{}
	for _, h := range hosts {
		for _, key := range of(h) {
			if other, taken := first[key]; taken && other != h.Name {
				out = append(out, fmt.Sprintf(format, key, other, h.Name))
			} else {
				first[key] = h.Name
			}
		}
	}
	return out
}

// machineOf returns the part of a host's name before its data directory.
func machineOf(h sharedledger.Host) []string {
	machine, _, _ := strings.Cut(h.Name, ":")
	return []string{machine}
}
