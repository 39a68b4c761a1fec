// Package redisledger keeps quota in Redis 7 or newer: one ledger for many hosts.
//
// Every operation is one Lua script. All keys of an account share one hash slot: its state is the hash
// "<prefix>:{<account>}", the log of a pool the list "<prefix>:{<account>}:<pool>"; lua/common.lua has the formats.
// Scripts answer with facts (sums, times), and quota.Ask.Decide makes the decision from them, as for the other
// ledgers. Redis's clock counts. Keys expire about two hours after the account's longest horizon; keys of an account
// with a horizon shorter than quota.MinHorizon, such as a client's account, within two seconds after it.
//
// The client never resends by itself. A call that timed out may have been carried out: its error is quota.ErrInDoubt.
// The numbered take of sharedledger.Remote can be asked again.
//
// A server that was restarted or promoted may have lost its newest entries; State distinguishes the two. It lacks the
// scripts of TakeOnce and Sync, which contain the names of account and generation and are loaded by Renew and Resume
// alone. A master that was turned into a replica and back keeps the scripts, but has a new replication id. A take
// checks that before it charges, unless the server has data that this writer wrote less than a millisecond ago.
//
// The ledger's own user needs no more than this (Cluster adds +cluster|slots and +command, Sentinel has users of its
// own; with +config|get, Inspect knows more):
//
//	ACL SETUSER ingest on >PASSWORD resetkeys ~ingest:* resetchannels -@all +evalsha +script|load
//	    +script|exists +info +time +hmget +hset +hdel +hgetall +hscan +del
//	    +llen +lindex +lrange +lset +ltrim +rpush +rpop +rename +pexpire
package redisledger

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/trendvidstream/ingest/quota"
)

// Options of a ledger. The zero value is ready to use.
type Options struct {
	Prefix  string        // of every key; "" is "ingest"
	Timeout time.Duration // of every round trip beyond the time of connecting; 0 is the URL's ?timeout=, else 500 ms
	TLS     *tls.Config   // for rediss URLs; nil: the system's certificates
}

// Ledger counts an account in Redis. It implements sharedledger.Remote: several hosts wrap it with sharedledger.Open,
// since Redis may forget. As a plain quota.Ledger it fits one process.
type Ledger struct {
	client    redis.UniversalClient
	passwords [2]string // of the server and of the sentinels
	prefix    string
	timeout   time.Duration
	scripts   map[string]script   // by name, as in files
	change    func(string) string // a change of the source, for tests
	last      atomic.Pointer[generationScripts]
}

// Open returns the ledger at a URL that Parse reads. It connects on first use, so that an outage is an error of the
// ledger's methods and not a failure to start.
func Open(_ context.Context, url string, o Options) (*Ledger, error) {
	return open(url, o, func(source string) string { return source })
}

// open lets tests change the source of the scripts.
func open(url string, o Options, change func(string) string) (*Ledger, error) {
	t, err := Parse(url)
	if err != nil {
		return nil, err
	}
	o.Prefix = cmp.Or(o.Prefix, "ingest")
	o.Timeout = cmp.Or(o.Timeout, t.ReadTimeout, 500*time.Millisecond)
	if t.TLSConfig != nil && o.TLS != nil {
		t.TLSConfig = o.TLS
	}
	l := &Ledger{client: connect(t, o.Timeout), passwords: [2]string{t.Password, t.SentinelPassword},
		prefix: o.Prefix, timeout: o.Timeout, scripts: map[string]script{}, change: change}
	for name := range files {
		l.scripts[name] = l.join("", name)
	}
	return l, nil
}

// bound returns how long an operation may take: to connect, to log in, to miss a script, load it and run it takes up to
// eight round trips. A server that does not answer ends the first of them, and with it the operation.
func (l *Ledger) bound() time.Duration { return 8 * l.timeout }

// Close implements quota.Ledger.
func (l *Ledger) Close() error {
	if err := l.client.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("%w: close: %w", quota.ErrUnavailable, err)
	}
	return nil
}

// keys returns the keys of an account's state and of the logs of pools.
func (l *Ledger) keys(account string, pools ...string) []string {
	state := l.prefix + ":{" + account + "}"
	keys := append(make([]string, 0, 1+len(pools)), state)
	for _, p := range pools {
		keys = append(keys, state+":"+p)
	}
	return keys
}
