package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// MissingFile says that a file for a secret could not be read. It leaves out a path that may be the secret itself,
// given by mistake in place of its file.
func MissingFile(doing, path string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if !looksSecret(path) || filepath.IsAbs(path) && FileExists(filepath.Dir(path)) {
		doing += " " + path
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// looksSecret reports whether a path may be a secret: a URL, or a name with a part as long as a key.
func looksSecret(path string) bool {
	long := func(part string) bool { return len(part) >= 20 }
	return strings.Contains(path, "://") || slices.ContainsFunc(strings.Split(filepath.Base(path), "."), long)
}

// googleKey matches Google's API keys with the pattern that secret scanners use.
// https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml, gcp-api-key
var googleKey = regexp.MustCompile(`AIza[0-9A-Za-z_-]{35}`)

// RedactKeys removes everything that looks like an API key from a message: a person may have typed a key in the wrong
// place, and errors are kept in logs.
func RedactKeys(s string) string { return googleKey.ReplaceAllString(s, "***") }
