package redisledger

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/trendvidstream/ingest/quota"
)

var schemes = []string{"redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"}

// Parse reads a URL of one of these forms; everything in brackets may be left out, and rediss stands
// for TLS in each:
//
//	redis://[user][:password@]host[:port][/db]
//	redis+sentinel://[user][:password@]host[:port],…[/db]?master_name=NAME[&sentinel_username=…][&sentinel_password=…]
//	redis+cluster://[user][:password@]host[:port],…
//
// Special characters of names and passwords are percent-encoded. An error never shows what stands
// before an '@' or behind a '=': it may be a password.
func Parse(s string) (*redis.UniversalOptions, error) {
	o, err := parse(s)
	if err != nil {
		return nil, fmt.Errorf("%w: the ledger's URL: %w", quota.ErrUnknown, err)
	}
	return o, nil
}

func parse(s string) (*redis.UniversalOptions, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || !slices.Contains(schemes, scheme) {
		return nil, errors.New("it does not begin with redis://, rediss://, redis+sentinel:// or redis+cluster://")
	}
	o := &redis.UniversalOptions{IsClusterMode: strings.HasSuffix(scheme, "+cluster")}
	if strings.HasPrefix(scheme, "rediss") {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	sentinel, port := strings.HasSuffix(scheme, "+sentinel"), "6379"
	if sentinel {
		port = "26379"
	}
	hosts, path, query := split(rest)
	if strings.Contains(path+query, "@") {
		return nil, errors.New("a '/', '?' or '#' before the '@' has to be written as %2F, %3F or %23, an '@' behind it as %40")
	}
	if i := strings.LastIndexByte(hosts, '@'); i >= 0 {
		var err error
		if o.Username, o.Password, err = userinfo(hosts[:i]); err != nil {
			return nil, err
		}
		hosts = hosts[i+1:]
	}
	for i, h := range strings.Split(hosts, ",") {
		host, err := hostPort(h, port)
		if err != nil {
			return nil, fmt.Errorf("host %d: %w", i+1, err)
		}
		o.Addrs = append(o.Addrs, host)
	}
	if !sentinel && !o.IsClusterMode && len(o.Addrs) > 1 {
		return nil, errors.New("several hosts: use redis+sentinel:// or redis+cluster://")
	}
	if db := strings.TrimPrefix(path, "/"); db != "" {
		n, err := strconv.ParseUint(db, 10, 16)
		if err != nil {
			return nil, errors.New("what follows the '/' is not the number of a database")
		}
		if o.IsClusterMode && n != 0 {
			return nil, errors.New("a Cluster has only database 0")
		}
		o.DB = int(n)
	}
	return o, settings(o, sentinel, query)
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

// settings reads what follows the '?'; only Sentinel has any.
func settings(o *redis.UniversalOptions, sentinel bool, query string) error {
	if strings.Contains(query, "#") {
		return errors.New("a '#' has to be written as %23")
	}
	values, err := url.ParseQuery(strings.TrimPrefix(query, "?"))
	if err != nil {
		return errors.New("what follows the '?' is not name=value&name=value, percent-encoded")
	}
	fields := map[string]*string{}
	if sentinel {
		fields = map[string]*string{
			"master_name": &o.MasterName, "sentinel_username": &o.SentinelUsername, "sentinel_password": &o.SentinelPassword,
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
	if sentinel && o.MasterName == "" {
		return errors.New("redis+sentinel needs ?master_name=NAME")
	}
	return nil
}

// connect makes a client, which does not connect yet. It never sends a command twice, and no time-out is longer than
// the ledger's.
func connect(o *redis.UniversalOptions, timeout time.Duration) redis.UniversalClient {
	quiet()
	o.Protocol, o.DisableIdentity = 2, true
	o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	o.PoolSize, o.PipelinePoolSize = 8, -1 // operations take microseconds
	o.ConnMaxIdleTime = 5 * time.Minute    // before servers and firewalls close what is not used
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if !o.IsClusterMode {
		return redis.NewUniversalClient(o)
	}
	cluster := o.Cluster()
	cluster.DisableRoutingPolicies = true
	return redis.NewClusterClient(cluster)
}

// quiet keeps the client from writing to stderr: what went wrong is in the errors it returns.
var quiet = sync.OnceFunc(logging.Disable)
