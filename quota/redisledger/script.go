package redisledger

import (
	"context"
	"crypto/sha1" //nolint:gosec // how Redis names scripts
	"embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var lua embed.FS

// script is a Lua source and the name that Redis gives it.
type script struct{ source, sha string }

type scripts struct{ take, refund, post, drain, spent script }

func newScripts(change func(string) string) scripts {
	join := func(files ...string) script {
		var source strings.Builder
		source.WriteString("#!lua\n")
		for _, f := range files {
			text, err := lua.ReadFile("lua/" + f + ".lua")
			if err != nil {
				panic(err) // not embedded: a mistake in this file
			}
			source.Write(text)
		}
		s := change(source.String())
		sum := sha1.Sum([]byte(s)) //nolint:gosec // how Redis names scripts
		return script{s, hex.EncodeToString(sum[:])}
	}
	return scripts{
		take:   join("common", "take"),
		refund: join("common", "tail", "refund"),
		post:   join("common", "tail", "post"),
		drain:  join("common", "tail", "drain"),
		spent:  join("common", "tail", "spent"),
	}
}

// once is a command that the Cluster client may follow to another node, but never sends again after
// it may have been carried out.
type once struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (once) NoRetry() bool { return true }

// run asks for a script. A server that does not have it did nothing, gets it, and is asked again.
func (l *Ledger) run(ctx context.Context, s script, keys []string, args []any) (any, error) {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	reply, err := l.evalsha(ctx, s, keys, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = l.load(ctx, s, keys[0]); err == nil {
			reply, err = l.evalsha(ctx, s, keys, args)
		}
	}
	if err != nil {
		return nil, l.explain(outer, err, keys)
	}
	return reply, nil
}

func (l *Ledger) evalsha(ctx context.Context, s script, keys []string, args []any) (any, error) {
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
	client := redis.Scripter(l.client)
	if cluster, ok := l.client.(*redis.ClusterClient); ok {
		master, err := cluster.MasterForKey(ctx, key)
		if err != nil {
			return err
		}
		client = master
	}
	sha, err := client.ScriptLoad(ctx, s.source).Result()
	if err == nil && sha != s.sha {
		return fmt.Errorf("the server names a script %q that it ought to name %q", sha, s.sha)
	}
	return err
}
