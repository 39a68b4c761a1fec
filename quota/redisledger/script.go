package redisledger

import (
	"context"
	"crypto/sha1" //nolint:gosec // how Redis names scripts
	"embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/trendvidstream/ingest/quota/sharedledger"
)

//go:embed lua/*.lua
var lua embed.FS

// script is a Lua source and its hash; Redis calls it by the hash.
type script struct {
	source, sha string
	own         bool // of a generation: only Renew and Resume load it
}

// generationScripts are the scripts that only Renew and Resume load. They begin with the names of account and
// generation, so that their hashes are unique: a server that has them began the generation and has not restarted since.
type generationScripts struct {
	name       string
	once, sync script
}

// files lists the files of each script in order; each may use the ones before.
var files = map[string]string{
	"take": "local function find() common seek return (seek) end local function rare() " +
		"common pools writers return meta,pool,whole,prolong,sweep end common take",
	"refund": "common seek pools tail refund",
	"post":   "common seek pools tail post",
	"drain":  "common seek pools tail drain",
	"reset":  "common seek pools tail reset",
	"rebase": "common seek pools tail rebase",
	"scan":   "common seek pools tail account scan",
	"state":  "common seek pools tail account state",
	"log":    "common seek pools tail account log",
	"stage":  "common seek pools tail account stage",
	"renew":  "common seek pools tail account renew",
	"resume": "common seek pools tail account resume",
	"sync":   "common seek pools tail account writers sync",
	"probe":  "probe",
}

// own returns the scripts of an account's generation. A server on which another generation began lacks them.
func (l *Ledger) own(account string, g sharedledger.Generation) *generationScripts {
	name := fmt.Sprintf("%s %d", l.keys(account)[0], g)
	if last := l.last.Load(); last != nil && last.name == name {
		return last
	}
	head := fmt.Sprintf("-- for %q\n", name)
	own := &generationScripts{name, l.join(head, "take"), l.join(head, "sync")}
	l.last.Store(own)
	return own
}

func (l *Ledger) join(head, name string) script {
	var source strings.Builder
	source.WriteString("#!lua\n" + head)
	for f := range strings.FieldsSeq(files[name]) {
		text, err := lua.ReadFile("lua/" + f + ".lua")
		if err != nil {
			text = []byte(f + " ")
		}
		source.Write(text)
	}
	all := l.change(source.String())
	sum := sha1.Sum([]byte(all)) //nolint:gosec // how Redis names scripts
	return script{source: all, sha: hex.EncodeToString(sum[:]), own: head != ""}
}

// once is a command that the Cluster client may redirect to another node, but never resends after it may have been
// carried out.
type once struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (once) NoRetry() bool { return true }

// run calls a script. A server without it did nothing: run loads it and asks again. If a generation's script is
// missing, the server was restarted, or another was promoted, and the newest data may be lost.
func (l *Ledger) run(ctx context.Context, s script, keys []string, args []any) (any, error) {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, l.bound())
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

// load loads the script on the server that holds the key.
func (l *Ledger) load(ctx context.Context, s script, key string) error {
	client, err := l.master(ctx, key)
	if err != nil {
		return err
	}
	sha, err := client.ScriptLoad(ctx, s.source).Result()
	if err == nil && sha != s.sha {
		return fmt.Errorf("the server names a script %q, but its hash is %q", sha, s.sha)
	}
	return err
}

// known reports whether the server that holds the key has the script.
func (l *Ledger) known(ctx context.Context, s script, key string) (bool, error) {
	client, err := l.master(ctx, key)
	if err != nil {
		return false, err
	}
	there, err := client.ScriptExists(ctx, s.sha).Result()
	return err == nil && len(there) == 1 && there[0], err
}

// master returns the server that holds the key.
func (l *Ledger) master(ctx context.Context, key string) (redis.UniversalClient, error) {
	if cluster, ok := l.client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, key)
	}
	return l.client, nil
}
