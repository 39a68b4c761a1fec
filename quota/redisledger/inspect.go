package redisledger

import (
	"bufio"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Facts are a server's settings and its user's rights. Unknown facts are empty, or -1.
type Facts struct {
	Server  string // "redis", or the server's own name: "valkey"
	Version string
	Role    string // "master", "replica"

	ClockAhead time.Duration // how far the server's clock is ahead of ours; negative: behind
	RoundTrip  time.Duration // ClockAhead is exact to half of this either way

	MaxMemory       int64  // bytes; 0: no limit
	MaxMemoryPolicy string // "noeviction"; any other deletes keys
	AppendOnly      string // "yes", "no"
	AppendFsync     string // "always", "everysec", "no"

	Lacks      []string // the missing rights, as ACL rules without their '+'
	LacksKnown bool     // false if rights could not be tried: on a replica, or out of memory
}

// Evicts reports whether the policy lets the server delete keys in use. All our keys expire some day, so that
// volatile- is no better than allkeys-.
func (f Facts) Evicts() bool {
	return strings.HasPrefix(f.MaxMemoryPolicy, "allkeys-") || strings.HasPrefix(f.MaxMemoryPolicy, "volatile-")
}

// Glance asks only for the facts of INFO, in one round trip, as a start needs.
func (l *Ledger) Glance(ctx context.Context) (Facts, error) {
	return l.facts(ctx, infoOf)
}

// Inspect asks the server for all facts, and changes nothing. It fails only if the server does not answer.
func (l *Ledger) Inspect(ctx context.Context) (Facts, error) {
	return l.facts(ctx, clockOf, infoOf, fsyncOf, l.rightsOf)
}

// facts asks the server of the account "default". Facts that the server forbids stay unknown.
func (l *Ledger) facts(ctx context.Context,
	questions ...func(context.Context, redis.UniversalClient, *Facts) error) (Facts, error) {
	f := Facts{MaxMemory: -1}
	within, cancel := context.WithTimeout(ctx, l.bound())
	defer cancel()
	client, err := l.master(within, l.keys("default")[0])
	if err != nil {
		return f, l.explain(ctx, err, nil)
	}
	for _, ask := range questions {
		within, cancel := context.WithTimeout(ctx, l.bound())
		err := ask(within, client, &f)
		cancel()
		if err != nil && !forbidden(err) {
			return f, l.explain(ctx, err, nil)
		}
	}
	return f, nil
}

// forbidden reports whether the server forbids or does not know a command.
func forbidden(err error) bool {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return false
	}
	text := answer.Error()
	word, _, _ := strings.Cut(text, " ")
	if _, known := causes[word]; known && word != "NOPERM" { // "OOM command not allowed" is no missing right
		return false
	}
	return word == "NOPERM" || strings.HasPrefix(text, "ERR unknown") || strings.Contains(text, "not allowed") ||
		strings.Contains(text, "disabled")
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
	if name := info["server_name"]; name != "" { // Valkey also has redis_version, for compatibility
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

func fsyncOf(ctx context.Context, client redis.UniversalClient, f *Facts) error {
	reply, err := client.ConfigGet(ctx, "appendfsync").Result()
	f.AppendFsync = reply["appendfsync"]
	return err
}

// number parses a number; -1 if it is none.
func number(s string) int64 {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	return -1
}

// rightsOf finds out a user's rights by using them.
func (l *Ledger) rightsOf(ctx context.Context, client redis.UniversalClient, f *Facts) error {
	key := l.prefix + ":{}:probe"
	try := func(right string, err error) error {
		if forbidden(err) {
			f.Lacks = append(f.Lacks, right)
			return nil
		}
		return err
	}
	if err := try("script|exists", client.ScriptExists(ctx, l.scripts["probe"].sha).Err()); err != nil {
		return err
	}
	_, err := client.ScriptLoad(ctx, l.scripts["probe"].source).Result()
	if err := try("script|load", err); err != nil {
		return err
	}
	refused, err := client.EvalSha(ctx, l.scripts["probe"].sha, []string{key}).StringSlice()
	switch {
	case err == nil:
		f.Lacks, f.LacksKnown = append(f.Lacks, refused...), true
	case forbidden(err):
		f.Lacks, f.LacksKnown = append(f.Lacks, "evalsha"), true
	case errors.As(err, new(redis.Error)): // not loaded, a replica, no memory: other facts show that
	default:
		return err
	}
	slices.Sort(f.Lacks)
	return nil
}
