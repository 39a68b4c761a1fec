package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"unicode"

	"github.com/trendvidstream/ingest/fetch/wire"
	"github.com/trendvidstream/ingest/internal/postgres"
)

// oneWord matches a text that was probably meant as one of a few names, and cannot be a secret.
var oneWord = regexp.MustCompile(`^[A-Za-z]{1,16}$`)

// CheckLedger refuses anything but sqlite and the URL of a Redis or a PostgreSQL. No error repeats a password.
func CheckLedger(s string) error {
	return checkServer("ledger", s, "sqlite, redis://host:port/db or postgres://user@host:port/database",
		"redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster", "postgres", "postgresql")
}

// CheckStore refuses anything but sqlite and the URL of a PostgreSQL. No error repeats a password.
func CheckStore(s string) error {
	return checkServer("store", s, "sqlite or postgres://user@host/database", "postgres", "postgresql")
}

func checkServer(what, s, use string, schemes ...string) error {
	if s == "sqlite" {
		return nil
	}
	scheme, rest, isURL := strings.Cut(s, "://")
	isURL = isURL && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	switch {
	case !isURL && oneWord.MatchString(s):
		return Invalid(fmt.Errorf("%s %q is not known: use %s", what, s, use))
	case !isURL:
		return Invalid(fmt.Errorf("%s: this is not a URL, and is not shown since it may hold a password: use %s", what, use))
	case !slices.Contains(schemes, scheme):
		return Invalid(fmt.Errorf("%s %s is of another kind: use %s", what, wire.ShowURL(s), use))
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 && strings.Contains(rest[i:], "@") {
		return Invalid(fmt.Errorf("%s: there is an '@' after the host: "+
			"in names and passwords write %%40 for '@', %%2F for '/', %%3F for '?', %%23 for '#', %%25 for '%%'", what))
	}
	if strings.HasPrefix(scheme, "postgres") {
		if _, err := postgres.Parse(s); err != nil {
			return Invalid(fmt.Errorf("the %s's URL: %w", what, err))
		}
		return checkPassfile(s)
	}
	return nil
}

// checkPassfile refuses a password file that others can read if this URL's password would come from it, as PostgreSQL's
// own programs do.
func checkPassfile(s string) error {
	u, err := url.Parse(s)
	given := os.Getenv("PGPASSWORD") != "" || os.PathSeparator != '/'
	if err == nil { // else the URL's own check reports it
		_, set := u.User.Password()
		given = given || set
	}
	if given {
		return nil
	}
	home, _ := os.UserHomeDir()
	path := cmp.Or(os.Getenv("PGPASSFILE"), filepath.Join(home, ".pgpass"))
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return Invalid(fmt.Errorf("the passwords in %s can be read by others: chmod 600 %s", path, path))
	}
	return nil
}

// checkPasswordFile refuses a config that every user of this machine may read if the URL of one of these servers has a
// password.
func checkPasswordFile(path string, servers ...string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o004 == 0 || os.PathSeparator != '/' {
		return nil //nolint:nilerr // reading it has failed already
	}
	for _, server := range servers {
		u, err := url.Parse(server)
		if err != nil {
			continue // its own check refuses it
		}
		if _, set := u.User.Password(); set {
			return fmt.Errorf("%s holds a password and can be read by every user of this machine: chmod o-r %s", path, path)
		}
	}
	return nil
}

// ServerName returns a ledger or a store in a form that may be shown: sqlite, or the URL's server.
func ServerName(s string) string {
	if s == "sqlite" {
		return s
	}
	return wire.ShowURL(s)
}

// IsLoopbackURL reports whether a base URL leads to this machine.
func IsLoopbackURL(base string) bool {
	u, err := url.Parse(base)
	return err == nil && base != "" && wire.IsLoopback(u.Hostname())
}

// StoreHost returns a host as a store remembers it: without its port, and with one name for this machine, so that a
// stand-in that moved to another port counts as the same.
func StoreHost(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if wire.IsLoopback(host) {
		return "localhost"
	}
	return host
}

// Hostname returns the name of this machine for others to see.
func Hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// ModuleVersion returns the version of the module that go install built; "dev" if it was built otherwise.
func ModuleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		return info.Main.Version
	}
	return "dev"
}
