package pgledger

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/trendvidstream/ingest/quota"
)

// settings are what may follow the '?' of a URL.
var settings = []string{"sslmode", "sslrootcert", "sslcert", "sslkey", "target_session_attrs", "host"}

// Parse reads a URL of this form; everything in brackets may be left out:
//
//	postgres://[user][:password]@[host][:port],…[/database][?sslmode=…][&sslrootcert=FILE][&sslcert=FILE][&sslkey=FILE][&target_session_attrs=…][&host=/SOCKETS]
//
// What it leaves out is as for every client of PostgreSQL: PGUSER, PGPASSWORD, ~/.pgpass and their like. Of several
// hosts the one that may write is used. Special characters of names and passwords are percent-encoded. An error never
// shows what stands before an '@' or behind a '=': it may be a password.
func Parse(s string) (*pgconn.Config, error) {
	c, err := parse(s)
	if err != nil {
		return nil, fmt.Errorf("%w: the ledger's URL: %w", quota.ErrUnknown, err)
	}
	return c, nil
}

func parse(s string) (*pgconn.Config, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme != "postgres" && scheme != "postgresql" {
		return nil, errors.New("it does not begin with postgres://")
	}
	authority, behind := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, behind = rest[:i], rest[i:]
	}
	if strings.Contains(behind, "@") {
		return nil, errors.New("a '/', '?' or '#' before the '@' has to be written as %2F, %3F or %23, an '@' behind it as %40")
	}
	if strings.Contains(behind, "#") {
		return nil, errors.New("a '#' has to be written as %23")
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		for _, part := range strings.SplitN(authority[:i], ":", 2) {
			if _, err := url.PathUnescape(part); err != nil {
				return nil, errors.New("the user or the password has a '%' that is not followed by two hexadecimal digits: write %25")
			}
		}
		authority = authority[i+1:]
	}
	_, query, _ := strings.Cut(behind, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("what follows the '?' is not name=value&name=value, percent-encoded")
	}
	for name, v := range values {
		if !slices.Contains(settings, name) {
			return nil, fmt.Errorf("an unknown setting follows the '?': use %s", strings.Join(settings, ", "))
		}
		if len(v) != 1 || v[0] == "" {
			return nil, fmt.Errorf("%s is empty or there twice", name)
		}
	}
	c, err := pgconn.ParseConfig(s)
	if err != nil {
		return nil, errors.New("it is not postgres://user:password@host:port/database, or names a file that cannot be read")
	}
	if strings.Contains(authority, ",") && !values.Has("target_session_attrs") {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "ingest"
	}
	c.OnNotice = func(*pgconn.PgConn, *pgconn.Notice) {}
	c.AfterConnect = func(context.Context, *pgconn.PgConn) error { return nil }
	return c, nil
}
