package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// redacted is a ledger's URL without what must not be seen: a password may stand before the host, or
// in the query. What does not name a host is not shown at all.
func redacted(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return "***"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// missing says that a file which should hold a secret could not be found. It names only what is no secret
// given in place of its file: a path in a directory that is there, or a short name with a dot, which no key
// of Google's has.
func missing(doing, path string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	inDir := filepath.Dir(path) != "." && exists(filepath.Dir(path))
	if inDir || len(path) <= 32 && strings.Contains(path, ".") {
		doing += " " + path
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// googleKey is what an API key of Google's looks like, as secret scanners know it.
// https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml, gcp-api-key
var googleKey = regexp.MustCompile(`AIza[0-9A-Za-z_-]{35}`)

// keyless is a message without what looks like an API key: a person may have typed one where it does not
// belong, and what an error repeats is kept in a log.
func keyless(s string) string { return googleKey.ReplaceAllString(s, "***") }
