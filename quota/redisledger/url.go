package redisledger

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/trendvidstream/ingest/quota"
)

// Parse reads a URL of one of these forms, with optional parts in brackets; rediss stands for TLS in each:
//
//	redis://[user][:password@]host[:port][/db]
//	redis+sentinel://[user][:password@]host[:port],…[/db]?master_name=NAME[&sentinel_username=…][&sentinel_password=…]
//	redis+cluster://[user][:password@]host[:port],…
//
// Each may have ?timeout=2s, which bounds every round trip, in 50ms..30s, beyond the time that connecting took.
// Special characters in names and passwords are percent-encoded. An error never quotes the part before an '@' or
// after a '=', which may be a password. The client's own parsers do, and support neither several hosts nor all these
// forms.
func Parse(s string) (*redis.UniversalOptions, error) {
	o, err := parse(s)
	if err != nil {
		return nil, fmt.Errorf("the ledger's URL has something %w: %w", quota.ErrUnknown, err)
	}
	return o, nil
}

func parse(s string) (*redis.UniversalOptions, error) {
	scheme, rest, _ := strings.Cut(s, "://")
	base, kind, plus := strings.Cut(scheme, "+")
	port := map[string]string{"": "6379", "cluster": "6379", "sentinel": "26379"}[kind]
	if base != "redis" && base != "rediss" || port == "" || plus && kind == "" {
		return nil, errors.New("it does not begin with redis://, rediss://, redis+sentinel:// or redis+cluster://")
	}
	o := &redis.UniversalOptions{IsClusterMode: kind == "cluster"}
	if base == "rediss" {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	hosts := strings.LastIndexByte(rest[:end], '@') + 1
	u, err := url.Parse("redis://" + rest[:hosts] + "host" + rest[end:]) // with one host
	if err != nil || u.Fragment != "" || strings.Contains(rest[end:], "@") {
		return nil, errors.New("in names and passwords write %40 for '@', %2F for '/', %3F for '?', " +
			"%23 for '#', %25 for '%', and so on for what is no letter, digit, '-', '.' or '_'")
	}
	o.Username = u.User.Username()
	if o.Password, _ = u.User.Password(); o.Username != "" && o.Password == "" {
		return nil, errors.New("a user without a password")
	}
	for i, h := range strings.Split(rest[hosts:end], ",") {
		host, err := url.Parse("redis://" + h)
		if err != nil || host.Hostname() == "" {
			return nil, fmt.Errorf("host %d is not name, name:port or [address]:port", i+1)
		}
		p := cmp.Or(host.Port(), port)
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("host %d: its port is not a number in 1..65535", i+1)
		}
		o.Addrs = append(o.Addrs, net.JoinHostPort(host.Hostname(), p))
	}
	if kind == "" && len(o.Addrs) > 1 {
		return nil, errors.New("several hosts: use redis+sentinel:// or redis+cluster://")
	}
	if db := strings.TrimPrefix(u.Path, "/"); db != "" {
		n, err := strconv.ParseUint(db, 10, 16)
		if err != nil || o.IsClusterMode && n != 0 {
			return nil, errors.New("the part after '/' is not the number of a database; a Cluster has only 0")
		}
		o.DB = int(n)
	}
	return o, settings(o, kind, u.RawQuery)
}

// settings reads the parameters after '?': timeout, and Sentinel's options.
func settings(o *redis.UniversalOptions, kind, query string) error {
	fields := map[string]*string{}
	if kind == "sentinel" {
		fields = map[string]*string{"master_name": &o.MasterName, "sentinel_username": &o.SentinelUsername,
			"sentinel_password": &o.SentinelPassword}
	}
	values, err := url.ParseQuery(query)
	ok := err == nil
	if v := values["timeout"]; ok && len(v) == 1 {
		o.ReadTimeout, err = time.ParseDuration(v[0])
		if err != nil || o.ReadTimeout < 50*time.Millisecond || o.ReadTimeout > 30*time.Second {
			return errors.New("timeout is a duration in 50ms..30s, such as ?timeout=2s")
		}
		delete(values, "timeout")
	}
	for name, v := range values {
		if ok = ok && fields[name] != nil && len(v) == 1 && v[0] != ""; ok {
			*fields[name] = v[0]
		}
	}
	if !ok || kind == "sentinel" && o.MasterName == "" {
		return errors.New("redis+sentinel:// needs ?master_name=NAME, " +
			"and may have &sentinel_username=NAME and &sentinel_password=…, once each and percent-encoded; " +
			"nothing else has settings behind a '?' but ?timeout=2s")
	}
	return nil
}

// connect makes a client without connecting. The client never resends a command, and each round trip has the timeout.
func connect(o *redis.UniversalOptions, timeout time.Duration) redis.UniversalClient {
	quiet()
	o.Protocol, o.DisableIdentity = 2, true
	o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	dial := redis.NewDialer(&redis.Options{DialTimeout: timeout})
	if secure := o.TLSConfig; secure != nil {
		o.DialTimeout = 4 * timeout // the connection, and up to three round trips of TLS
		plain := dial
		dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialTLS(ctx, plain, network, addr, secure)
		}
	}
	o.Dialer = guard(dial)
	o.PoolSize, o.PipelinePoolSize = 8, -1 // operations take microseconds
	o.ConnMaxIdleTime = 5 * time.Minute    // before servers and firewalls close idle connections
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if !o.IsClusterMode {
		return redis.NewUniversalClient(o)
	}
	cluster := o.Cluster()
	cluster.DisableRoutingPolicies = true
	return redis.NewClusterClient(cluster)
}

// dialTLS agrees on TLS over a connection that has its own timeout, so that an unreachable server costs no more with
// TLS. Its errors are net.OpErrors of a dial: nothing was asked yet.
func dialTLS(ctx context.Context, dial dialer, network, addr string, secure *tls.Config) (net.Conn, error) {
	plain, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if secure.ServerName == "" {
		secure = secure.Clone()
		secure.ServerName, _, _ = net.SplitHostPort(addr)
	}
	c := tls.Client(plain, secure)
	if err := c.HandshakeContext(ctx); err != nil {
		_ = plain.Close()
		return nil, &net.OpError{Op: "dial", Net: network, Addr: plain.RemoteAddr(), Err: err}
	}
	return c, nil
}

// quiet stops the client from writing to stderr, as its errors already describe each failure.
var quiet = sync.OnceFunc(logging.Disable)
