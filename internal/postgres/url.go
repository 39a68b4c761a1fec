// Package postgres reads the URL of a PostgreSQL, in one way for the ledger, the store and the queue. No error quotes
// the URL: it may hold a password, and where it cannot be read, any part of it may be one. The server is not trusted
// further than the client must: the client asks it for TLS unless it is on this machine, and its messages are
// bounded.
package postgres

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
)

// settings are the parameters that a URL may have after its '?'. A password is none of them: it belongs before the '@',
// or into PGPASSWORD or ~/.pgpass.
var settings = []string{
	"sslmode", "sslrootcert", "sslcert", "sslkey", "sslsni", "sslnegotiation", "channel_binding", "require_auth",
	"user", "host", "port", "dbname", "target_session_attrs", "connect_timeout", "application_name", "search_path",
	"lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout", "options",
}

// ignored are settings of other clients, which providers put into the URLs that they hand out. None is needed here.
var ignored = []string{
	"pgbouncer", "connection_limit", "pool_timeout", "statement_cache_size", "prepared_statements",
	"supa", "uselibpqcompat", "gssencmode",
	"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
}

// instead says what to write in place of other clients' settings.
var instead = map[string]string{"schema": "search_path=", "currentSchema": "search_path=",
	"ssl": "sslmode=require", "sslaccept": "sslmode=verify-full", "password": "the password before the '@'"}

// Parse reads a URL of this form; everything in brackets may be left out:
//
//	postgres://[user][:password]@[host][:port],…[/database][?sslmode=…][&sslrootcert=FILE][&…]
//
// Defaults come from PGUSER, PGPASSWORD, ~/.pgpass and so on, as for every client of PostgreSQL, with one exception:
// unless the URL or PGSSLMODE says otherwise, a server beyond this machine must use TLS (sslmode=require), and its
// certificate is checked if a root is known (verify-full).
func Parse(s string) (*pgxpool.Config, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Opaque != "" ||
		strings.Contains(s, "#") || strings.Contains(u.Path+u.RawQuery, "@") {
		return nil, errors.New("it is not postgres://user:password@host:port/database; " +
			"in names and passwords write %40 for '@', %2F for '/', %3F for '?', %23 for '#', %25 for '%', %5B for '['")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("its settings after the '?' are not of the form name=value&name=value, percent-encoded")
	}
	for name := range query {
		if slices.Contains(ignored, name) {
			query.Del(name)
			u.RawQuery, s = query.Encode(), ""
			continue
		}
		if other, ok := instead[name]; ok {
			return nil, fmt.Errorf("the setting %s= after the '?' belongs to another client: write %s", name, other)
		}
		if !slices.Contains(settings, name) {
			return nil, errors.New("an unknown setting follows the '?': use " + strings.Join(settings, ", "))
		}
	}
	if s == "" { // without the ignored parts
		s = u.String()
	}
	c, err := pgxpool.ParseConfig(s)
	if err != nil {
		return nil, unreadable(query)
	}
	if !query.Has("sslmode") && os.Getenv("PGSSLMODE") == "" && mayFallBack(&c.ConnConfig.Config) {
		mode := "require"
		if c.ConnConfig.TLSConfig != nil && c.ConnConfig.TLSConfig.RootCAs != nil {
			mode = "verify-full"
		}
		if c, err = pgxpool.ParseConfig(s + separator(u) + "sslmode=" + mode); err != nil {
			return nil, unreadable(query)
		}
	}
	c.ConnConfig.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		server := &bounded{from: r, to: w, password: c.ConnConfig.Password}
		return pgproto3.NewFrontend(server, server)
	}
	return c, nil
}

func separator(u *url.URL) string {
	switch {
	case u.ForceQuery: // it ends with a '?'
		return ""
	case u.RawQuery == "":
		return "?"
	}
	return "&"
}

// unreadable says which setting pgx could not read. For a file it gives the system's reason, and not the name.
func unreadable(query url.Values) error {
	for _, name := range []string{"sslrootcert", "sslcert", "sslkey"} {
		path := query.Get(name)
		if path == "" || path == "system" {
			continue
		}
		f, err := os.Open(path)
		if err == nil {
			_ = f.Close()
			continue
		}
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err
		}
		return fmt.Errorf("the file that %s names cannot be read: %v", name, err) //nolint:errorlint // no missing store
	}
	if query.Has("sslrootcert") || query.Has("sslcert") || query.Has("sslkey") {
		return errors.New("a setting has a value that is not known, or sslrootcert, " +
			"sslcert or sslkey names a file that is no such certificate or key")
	}
	modes := []string{"", "disable", "allow", "prefer", "require", "verify-ca", "verify-full"}
	if !slices.Contains(modes, query.Get("sslmode")) {
		return errors.New("sslmode= is disable, require (which checks no certificate), verify-ca or verify-full")
	}
	return errors.New("its port is not a number in 1..65535, or a setting has a value that is not known")
}

// mayFallBack reports whether a connection beyond this machine would try TLS, and go on without it if the server
// refuses.
func mayFallBack(c *pgconn.Config) bool {
	secure := c.TLSConfig != nil && !onThisMachine(c.Host)
	inClear := c.TLSConfig == nil && !onThisMachine(c.Host)
	for _, f := range c.Fallbacks {
		secure = secure || f.TLSConfig != nil && !onThisMachine(f.Host)
		inClear = inClear || f.TLSConfig == nil && !onThisMachine(f.Host)
	}
	return secure && inClear
}

// InClear returns the host beyond this machine that may get the password in clear; "" if none does.
func InClear(c *pgconn.Config) string {
	if c.Password == "" {
		return ""
	}
	if c.TLSConfig == nil && !onThisMachine(c.Host) {
		return c.Host
	}
	for _, f := range c.Fallbacks {
		if f.TLSConfig == nil && !onThisMachine(f.Host) {
			return f.Host
		}
	}
	return ""
}

// onThisMachine reports whether a host is a loopback address or a directory of sockets.
func onThisMachine(host string) bool {
	if strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
