package redisledger

import (
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // how Redis names scripts
	"embed"
	"encoding/hex"
	"fmt"
	"regexp"
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

// generationScripts are the scripts that only Renew installs on a server.
type generationScripts struct{ once, sync script }

func newScripts(change func(string) string) *scripts {
	s := &scripts{change: change, own: map[string]generationScripts{}}
	s.take = s.join("", "common", "take")
	s.refund = s.join("", "common", "pools", "tail", "refund")
	s.post = s.join("", "common", "pools", "tail", "post")
	s.drain = s.join("", "common", "pools", "tail", "drain")
	s.reset = s.join("", "common", "pools", "tail", "reset")
	s.scan = s.join("", "common", "pools", "tail", "account", "scan")
	s.state = s.join("", "common", "pools", "tail", "account", "state")
	s.log = s.join("", "common", "pools", "tail", "account", "log")
	s.stage = s.join("", "common", "pools", "tail", "account", "stage")
	s.renew = s.join("", "common", "pools", "tail", "account", "renew")
	s.prolong = s.join("", "common", "pools", "tail", "account", "prolong")
	s.rebase = s.join("", "common", "pools", "tail", "rebase")
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
			once: s.join(head, "common", "take"),
			sync: s.join(head, "common", "pools", "tail", "account", "writers", "sync"),
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
	all := s.change(withoutConstants(source.String()))
	sum := sha1.Sum([]byte(all)) //nolint:gosec // how Redis names scripts
	return script{source: all, sha: hex.EncodeToString(sum[:]), own: head != ""}
}

// included matches a line that is replaced with the text of another file: functions are made where a call needs them.
var included = regexp.MustCompile(`^\s*--: (\w+)\n$`)

func text(file string) string {
	b, err := lua.ReadFile("lua/" + file + ".lua")
	if err != nil {
		panic(err) // not embedded: a mistake in this package
	}
	var all strings.Builder
	for line := range strings.Lines(string(b)) {
		if part := included.FindStringSubmatch(line); part != nil {
			line = text(part[1])
		}
		all.WriteString(line)
	}
	return all.String()
}

var (
	constants = regexp.MustCompile(`(?m)^local ([A-Z][A-Z_]+(?:, [A-Z][A-Z_]+)*) = ([^-\n]*)(?:--.*)?$`)
	words     = regexp.MustCompile(`[A-Z][A-Z_]+`)
)

// withoutConstants puts the values of a script's constants in their places: Redis would set each of them, and let each
// function capture those that it uses, for every call.
func withoutConstants(source string) string {
	values := map[string]string{}
	source = constants.ReplaceAllStringFunc(source, func(line string) string {
		parts := constants.FindStringSubmatch(line)
		all := strings.Split(strings.TrimSpace(parts[2]), ", ")
		for i, name := range strings.Split(parts[1], ", ") {
			values[name] = all[i]
		}
		return ""
	})
	return words.ReplaceAllStringFunc(source, func(word string) string { return cmp.Or(values[word], word) })
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
