package redisledger

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/trendvidstream/ingest/quota"
)

// Facts are a server's settings and its user's rights. A fact that could not be asked is empty, or -1.
type Facts struct {
	Server  string // "redis", or what else the server calls itself: "valkey"
	Version string
	Address string // host:port of the server; in a Cluster, of the one that keeps the account "default"
	Role    string // "master", "replica"

	ClockAhead time.Duration // the server's clock before this machine's; negative: behind it
	RoundTrip  time.Duration // how exact that is: the shortest of a few, half of it either way

	MaxMemory       int64  // bytes; 0: no limit
	MaxMemoryPolicy string // "noeviction"; any other throws keys away
	AppendOnly      string // "yes", "no"
	AppendFsync     string // "always", "everysec", "no"
	Save            string // when snapshots are written: "3600 1 300 100"

	Lacks      []string // the missing rights, as ACL rules without their '+'
	LacksKnown bool     // false if they could not be tried: on a replica, or a server that is out of memory
}

// Evicts reports whether the policy lets the server delete keys that are in use. Every key of ours expires some day,
// so that volatile- is no better than allkeys-.
func (f Facts) Evicts() bool {
	return strings.HasPrefix(f.MaxMemoryPolicy, "allkeys-") || strings.HasPrefix(f.MaxMemoryPolicy, "volatile-")
}

// needed are the commands of a ledger's user, as ACL rules without their '+'.
var needed = []string{
	"evalsha", "script|load", "script|exists", "info", "time", "hmget", "hset", "hdel", "hgetall", "hscan", "del",
	"llen", "lindex", "lrange", "lset", "ltrim", "rpush", "rpop", "rename", "pexpire",
}

// Glance asks in one round trip for what a start has to know: of the facts those that INFO has.
func (l *Ledger) Glance(ctx context.Context) (Facts, error) {
	f, _, err := l.facts(ctx, infoOf)
	return f, err
}

// Inspect asks the server for all facts, and changes nothing. It fails only if the server does not answer.
func (l *Ledger) Inspect(ctx context.Context) (Facts, error) {
	f, client, err := l.facts(ctx, clockOf, infoOf, configOf, l.rightsOf)
	if err == nil {
		f.Address, err = l.addressOf(ctx, client)
	}
	return f, err
}

// facts asks the questions of the server that keeps the account "default". One that it forbids stays without an answer.
func (l *Ledger) facts(ctx context.Context, questions ...func(context.Context, redis.UniversalClient, *Facts) error) (Facts, redis.UniversalClient, error) {
	f := Facts{MaxMemory: -1}
	within, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	client, err := l.master(within, l.keys("default")[0])
	if err != nil {
		return f, nil, l.explain(ctx, err, nil)
	}
	for _, ask := range questions {
		within, cancel := context.WithTimeout(ctx, l.timeout)
		err := ask(within, client, &f)
		cancel()
		if err != nil && !forbidden(err) {
			return f, nil, l.explain(ctx, err, nil)
		}
	}
	return f, client, nil
}

// forbidden reports whether the server refused an answer, as those do that forbid or do not know a command.
func forbidden(err error) bool {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return false
	}
	text := answer.Error()
	if strings.HasPrefix(text, "WRONGPASS") || strings.HasPrefix(text, "NOAUTH") {
		return false
	}
	return strings.HasPrefix(text, "NOPERM") || strings.HasPrefix(text, "ERR unknown") || strings.Contains(text, "not allowed") || strings.Contains(text, "disabled")
}

func clockOf(ctx context.Context, client redis.UniversalClient, f *Facts) error {
	for range 3 {
		began := time.Now()
		clock, err := client.Time(ctx).Result()
		if err != nil {
			return err
		}
		trip := time.Since(began)
		if f.RoundTrip == 0 || trip < f.RoundTrip {
			f.RoundTrip, f.ClockAhead = trip, clock.Sub(began.Add(trip/2))
		}
	}
	return nil
}

func infoOf(ctx context.Context, client redis.UniversalClient, f *Facts) error {
	text, err := client.Info(ctx).Result()
	if err != nil {
		return err
	}
	info := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		info[name] = value
	}
	f.Server, f.Version = "redis", info["redis_version"]
	if name := info["server_name"]; name != "" { // of Valkey, which shows redis_version as a courtesy
		f.Server, f.Version = name, info[name+"_version"]
	}
	f.Role = info["role"]
	if f.Role == "slave" {
		f.Role = "replica"
	}
	f.MaxMemory, f.MaxMemoryPolicy = number(info["maxmemory"]), info["maxmemory_policy"]
	f.AppendOnly = map[string]string{"1": "yes", "0": "no"}[info["aof_enabled"]]
	return nil
}

func configOf(ctx context.Context, client redis.UniversalClient, f *Facts) error {
	reply, err := client.ConfigGet(ctx, "appendfsync").Result()
	if err != nil {
		return err
	}
	f.AppendFsync = reply["appendfsync"]
	reply, err = client.ConfigGet(ctx, "save").Result()
	f.Save = reply["save"]
	return err
}

// number reads a number; -1: it is none.
func number(s string) int64 {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	return -1
}

// rightsOf finds out a user's rights by use.
func (l *Ledger) rightsOf(ctx context.Context, client redis.UniversalClient, f *Facts) error {
	key := l.prefix + ":{}:probe"
	try := func(right string, err error) error {
		if forbidden(err) {
			f.Lacks = append(f.Lacks, right)
			return nil
		}
		return err
	}
	if err := try("script|exists", client.ScriptExists(ctx, l.scripts.probe.sha).Err()); err != nil {
		return err
	}
	_, err := client.ScriptLoad(ctx, l.scripts.probe.source).Result()
	if err := try("script|load", err); err != nil {
		return err
	}
	refused, err := client.EvalSha(ctx, l.scripts.probe.sha, []string{key}).StringSlice()
	var answer redis.Error
	switch {
	case err == nil:
		f.Lacks, f.LacksKnown = append(f.Lacks, refused...), true
	case forbidden(err):
		f.Lacks, f.LacksKnown = append(f.Lacks, "evalsha"), true
	case errors.As(err, &answer): // not loaded, a replica, no memory: the other facts say so
	default:
		return err
	}
	slices.Sort(f.Lacks)
	return nil
}

// addressOf returns the address of the server that answered.
func (l *Ledger) addressOf(ctx context.Context, client redis.UniversalClient) (string, error) {
	if l.target.MasterName == "" {
		if node, ok := client.(*redis.Client); ok {
			host, port, err := net.SplitHostPort(node.Options().Addr)
			if err == nil && host == "" { // a Cluster's node that does not know its own name
				host, _, _ = net.SplitHostPort(l.target.Addrs[0])
			}
			if err == nil {
				return net.JoinHostPort(host, port), nil
			}
		}
		return l.target.Addrs[0], nil
	}
	var last error
	o := l.target.Simple()
	o.Username, o.Password, o.DB = l.target.SentinelUsername, l.target.SentinelPassword, 0
	for _, o.Addr = range l.target.Addrs {
		within, cancel := context.WithTimeout(ctx, l.timeout)
		sentinel := redis.NewSentinelClient(o)
		address, err := sentinel.GetMasterAddrByName(within, l.target.MasterName).Result()
		_ = sentinel.Close() // nothing was written over it
		cancel()
		if err == nil && len(address) == 2 {
			return net.JoinHostPort(address[0], address[1]), nil
		}
		last = err
	}
	return "", fmt.Errorf("%w: redis: no Sentinel names %s: %w", quota.ErrUnavailable, l.target.MasterName, last)
}
