package redisledger

import (
	"context"
	"crypto/sha1" //nolint:gosec // how Redis names scripts
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/trendvidstream/ingest/quota/sharedledger"
)

//go:embed lua/*.lua
var lua embed.FS

// script is a Lua source and the name that Redis gives it.
type script struct {
	source, sha string
	own         bool // of a generation: only Renew loads it
}

type scripts struct {
	take, refund, post, drain, reset, scan, state, log, stage, renew, prolong, rebase, probe script

	// The scripts of a generation begin with its name and so have their own hashes: a server that knows them
	// is the one on which the generation began, and was not restarted since.
	change func(string) string
	mu     sync.Mutex
	own    map[string]generationScripts
}

// The files of a script, in their order: what each defines, those behind it use.
var (
	takes    = []string{"common", "seek", "pools", "writers", "take"}
	amends   = []string{"common", "seek", "pools", "tail"}
	accounts = []string{"common", "seek", "pools", "tail", "account"}
)

// generationScripts are the scripts that only Renew installs on a server.
type generationScripts struct{ once, sync script }

func newScripts(change func(string) string) *scripts {
	s := &scripts{change: change, own: map[string]generationScripts{}}
	s.take = s.join("", takes...)
	s.refund = s.join("", append(amends, "refund")...)
	s.post = s.join("", append(amends, "post")...)
	s.drain = s.join("", append(amends, "drain")...)
	s.reset = s.join("", append(amends, "reset")...)
	s.rebase = s.join("", append(amends, "rebase")...)
	s.scan = s.join("", append(accounts, "scan")...)
	s.state = s.join("", append(accounts, "state")...)
	s.log = s.join("", append(accounts, "log")...)
	s.stage = s.join("", append(accounts, "stage")...)
	s.renew = s.join("", append(accounts, "renew")...)
	s.prolong = s.join("", append(accounts, "prolong")...)
	s.probe = s.join("", "probe")
	return s
}

// of returns the scripts of the generation that has that name.
func (s *scripts) of(name string) generationScripts {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.own[name]
	if !ok {
		if len(s.own) == 1000 {
			clear(s.own)
		}
		head := fmt.Sprintf("-- for %q\n", name)
		w = generationScripts{
			once: s.join(head, takes...),
			sync: s.join(head, append(accounts, "writers", "sync")...),
		}
		s.own[name] = w
	}
	return w
}

func (s *scripts) join(head string, files ...string) script {
	var source strings.Builder
	source.WriteString("#!lua\n" + head)
	for _, f := range files {
		source.WriteString(text(f))
	}
	all := s.change(source.String())
	sum := sha1.Sum([]byte(all)) //nolint:gosec // how Redis names scripts
	return script{source: all, sha: hex.EncodeToString(sum[:]), own: head != ""}
}

func text(file string) string {
	b, err := lua.ReadFile("lua/" + file + ".lua")
	if err != nil {
		panic(err) // not embedded: a mistake in this package
	}
	return string(b)
}

// once is a command that the Cluster client may follow to another node, but never sends again after
// it may have been carried out.
type once struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (once) NoRetry() bool { return true }

// run asks for a script. A server that does not have it did nothing, gets it, and is asked again. Where it is one of
// the account's generation, the server was restarted, or another was promoted, and what came last may be lost.
func (l *Ledger) run(ctx context.Context, s script, keys []string, args []any) (any, error) {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	reply, err := l.evalsha(ctx, s, keys, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if s.own {
			return nil, errRestarted
		}
		if err = l.load(ctx, s, keys[0]); err == nil {
			reply, err = l.evalsha(ctx, s, keys, args)
		}
	}
	if err != nil {
		return nil, l.explain(outer, err, keys)
	}
	return reply, nil
}

var errRestarted = fmt.Errorf("%w: redis: it was restarted, or another server was promoted", sharedledger.ErrLost)

func (l *Ledger) evalsha(ctx context.Context, s script, keys []string, args []any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", errEarly, err)
	}
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, "evalsha", s.sha, len(keys))
	for _, k := range keys {
		all = append(all, k)
	}
	cmd := redis.NewCmd(ctx, append(all, args...)...)
	if err := l.client.Process(ctx, once{cmd}); err != nil {
		return nil, err
	}
	return cmd.Result()
}

// load gives the script to the server that keeps the key.
func (l *Ledger) load(ctx context.Context, s script, key string) error {
	client, err := l.master(ctx, key)
	if err != nil {
		return err
	}
	sha, err := client.ScriptLoad(ctx, s.source).Result()
	if err == nil && sha != s.sha {
		return fmt.Errorf("the server names a script %q that it ought to name %q", sha, s.sha)
	}
	return err
}

// known reports whether the server that keeps the key has the script.
func (l *Ledger) known(ctx context.Context, s script, key string) (bool, error) {
	client, err := l.master(ctx, key)
	if err != nil {
		return false, err
	}
	there, err := client.ScriptExists(ctx, s.sha).Result()
	return err == nil && len(there) == 1 && there[0], err
}

// master returns the server that keeps the key.
func (l *Ledger) master(ctx context.Context, key string) (redis.UniversalClient, error) {
	if cluster, ok := l.client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return l.client, nil
}
