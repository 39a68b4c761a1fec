package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
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

// missing says that a file which should hold a secret could not be found. It does not repeat what may be
// the secret itself, given in place of its file.
func missing(doing, path string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if !secretive(path) || filepath.IsAbs(path) && exists(filepath.Dir(path)) {
		doing += " " + path
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// secretive reports whether a path may be a secret: a URL, or a name with a part as long as keys are.
func secretive(path string) bool {
	long := func(part string) bool { return len(part) >= 20 }
	return strings.Contains(path, "://") || slices.ContainsFunc(strings.Split(filepath.Base(path), "."), long)
}

// googleKey is what an API key of Google's looks like, as secret scanners know it.
// https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml, gcp-api-key
var googleKey = regexp.MustCompile(`AIza[0-9A-Za-z_-]{35}`)

// keyless is a message without what looks like an API key: a person may have typed one where it does not
// belong, and what an error repeats is kept in a log.
func keyless(s string) string { return googleKey.ReplaceAllString(s, "***") }
