package redisledger

import (
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

// Target is where a ledger's URL leads.
type Target struct {
	TLS              bool
	Kind             Kind
	Hosts            []string // host:port; one unless Sentinel or Cluster
	Username         string
	Password         string
	DB               int
	Master           string // of Sentinel
	SentinelUsername string
	SentinelPassword string
}

// Kind of a Redis installation.
type Kind int

// The kinds.
const (
	Single Kind = iota
	Sentinel
	Cluster
)

var schemes = map[string]struct {
	kind Kind
	tls  bool
	port string
}{
	"redis":           {Single, false, "6379"},
	"rediss":          {Single, true, "6379"},
	"redis+sentinel":  {Sentinel, false, "26379"},
	"rediss+sentinel": {Sentinel, true, "26379"},
	"redis+cluster":   {Cluster, false, "6379"},
	"rediss+cluster":  {Cluster, true, "6379"},
}

// Parse reads a URL of one of these forms; everything in brackets may be left out, and rediss stands
// for TLS in each:
//
//	redis://[user][:password@]host[:port][/db]
//	redis+sentinel://[user][:password@]host[:port],…[/db]?master_name=NAME[&sentinel_username=…][&sentinel_password=…]
//	redis+cluster://[user][:password@]host[:port],…
//
// Special characters of names and passwords are percent-encoded. An error never shows what stands
// before an '@' or behind a '=': it may be a password.
func Parse(s string) (Target, error) {
	t, err := parse(s)
	if err != nil {
		return Target{}, fmt.Errorf("%w: the ledger's URL: %w", quota.ErrUnknown, err)
	}
	return t, nil
}

func parse(s string) (Target, error) {
	name, rest, ok := strings.Cut(s, "://")
	scheme, known := schemes[name]
	if !ok || !known {
		return Target{}, errors.New("it does not begin with redis://, rediss://, redis+sentinel:// or redis+cluster://")
	}
	t := Target{Kind: scheme.kind, TLS: scheme.tls}
	authority, path, query := split(rest)
	if strings.Contains(path+query, "@") {
		return Target{}, errors.New("a '/', '?' or '#' before the '@' has to be written as %2F, %3F or %23, an '@' behind it as %40")
	}
	hosts := authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		var err error
		if t.Username, t.Password, err = userinfo(authority[:i]); err != nil {
			return Target{}, err
		}
		hosts = authority[i+1:]
	}
	for i, h := range strings.Split(hosts, ",") {
		host, err := hostPort(h, scheme.port)
		if err != nil {
			return Target{}, fmt.Errorf("host %d: %w", i+1, err)
		}
		t.Hosts = append(t.Hosts, host)
	}
	if t.Kind == Single && len(t.Hosts) > 1 {
		return Target{}, errors.New("several hosts: use redis+sentinel:// or redis+cluster://")
	}
	if err := t.path(path); err != nil {
		return Target{}, err
	}
	return t, t.query(query)
}

// split cuts what follows the scheme before its first '/' and '?'. A fragment is part of the last.
func split(s string) (authority, path, query string) {
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		authority, s = s[:i], s[i:]
		if i := strings.IndexAny(s, "?#"); i >= 0 {
			return authority, s[:i], s[i:]
		}
		return authority, s, ""
	}
	return s, "", ""
}

func userinfo(s string) (user, password string, err error) {
	name, pass, _ := strings.Cut(s, ":")
	user, err1 := url.PathUnescape(name)
	password, err2 := url.PathUnescape(pass)
	if err1 != nil || err2 != nil {
		return "", "", errors.New("the user or the password has a '%' that is not followed by two hexadecimal digits: write %25")
	}
	if user != "" && password == "" {
		return "", "", errors.New("a user without a password")
	}
	return user, password, nil
}

func hostPort(s, port string) (string, error) {
	host := s
	if h, p, err := net.SplitHostPort(s); err == nil {
		host, port = h, p
	} else if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		host = s[1 : len(s)-1]
	} else if strings.Contains(s, ":") {
		return "", errors.New("not host, host:port or [address]:port")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", errors.New("its port is not a number in 1..65535")
	}
	if host == "" || strings.ContainsFunc(host, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`%<>"\^{}|[]`+"`", r)
	}) {
		return "", errors.New("its name is empty or has characters that no host name has")
	}
	return net.JoinHostPort(host, port), nil
}

func (t *Target) path(path string) error {
	db := strings.TrimPrefix(path, "/")
	if db == "" {
		return nil
	}
	n, err := strconv.ParseUint(db, 10, 16)
	if err != nil {
		return errors.New("what follows the '/' is not the number of a database")
	}
	if t.Kind == Cluster && n != 0 {
		return errors.New("a Cluster has only database 0")
	}
	t.DB = int(n)
	return nil
}

func (t *Target) query(query string) error {
	if strings.Contains(query, "#") {
		return errors.New("a '#' has to be written as %23")
	}
	values, err := url.ParseQuery(strings.TrimPrefix(query, "?"))
	if err != nil {
		return errors.New("what follows the '?' is not name=value&name=value, percent-encoded")
	}
	fields := map[string]*string{}
	if t.Kind == Sentinel {
		fields = map[string]*string{
			"master_name": &t.Master, "sentinel_username": &t.SentinelUsername, "sentinel_password": &t.SentinelPassword,
		}
	}
	for name, v := range values {
		field, ok := fields[name]
		if !ok {
			return errors.New("an unknown setting follows the '?': only redis+sentinel has any, which are master_name, sentinel_username and sentinel_password")
		}
		if len(v) != 1 || v[0] == "" {
			return fmt.Errorf("%s is empty or there twice", name)
		}
		*field = v[0]
	}
	if t.Kind == Sentinel && t.Master == "" {
		return errors.New("redis+sentinel needs ?master_name=NAME")
	}
	return nil
}

// poolSize is how many connections a ledger holds at most; its operations take microseconds.
const poolSize = 8

// client does not connect yet. It never sends a command twice, and no time-out is longer than
// the ledger's.
func (t Target) client(o Options) redis.UniversalClient {
	quiet()
	config := t.tls(o)
	switch t.Kind {
	case Sentinel:
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: t.Master, SentinelAddrs: t.Hosts, SentinelUsername: t.SentinelUsername, SentinelPassword: t.SentinelPassword,
			Username: t.Username, Password: t.Password, DB: t.DB, TLSConfig: config,
			Protocol: 2, DisableIdentity: true,
			MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
			DialTimeout: o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, PoolTimeout: o.Timeout,
			PoolSize: poolSize, PipelinePoolSize: -1, ConnMaxIdleTime: idle,
		})
	case Cluster:
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: t.Hosts, Username: t.Username, Password: t.Password, TLSConfig: config,
			Protocol: 2, DisableIdentity: true, DisableRoutingPolicies: true,
			MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
			DialTimeout: o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, PoolTimeout: o.Timeout,
			PoolSize: poolSize, PipelinePoolSize: -1, ConnMaxIdleTime: idle,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
	default:
		return redis.NewClient(&redis.Options{
			Addr: t.Hosts[0], Username: t.Username, Password: t.Password, DB: t.DB, TLSConfig: config,
			Protocol: 2, DisableIdentity: true,
			MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
			DialTimeout: o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, PoolTimeout: o.Timeout,
			PoolSize: poolSize, PipelinePoolSize: -1, ConnMaxIdleTime: idle,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
	}
}

func (t Target) tls(o Options) *tls.Config {
	switch {
	case !t.TLS:
		return nil
	case o.TLS != nil:
		return o.TLS
	default:
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
}

// sentinel is how one of them is asked.
func (t Target) sentinel(host string, o Options) *redis.Options {
	return &redis.Options{
		Addr: host, Username: t.SentinelUsername, Password: t.SentinelPassword, TLSConfig: t.tls(o),
		Protocol: 2, DisableIdentity: true,
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, PoolTimeout: o.Timeout,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// idle is when an unused connection is closed: before servers and firewalls do.
const idle = 5 * time.Minute

// quiet keeps the client from writing to stderr: what went wrong is in the errors it returns.
var quiet = sync.OnceFunc(logging.Disable)
