package config

import (
	"fmt"
	"os"
	"strings"
	"unicode"
)

// secretFile is a kind of file that holds a secret and nothing else.
type secretFile struct {
	name, holds string
	hint        string // where one that is not there may have been named
}

// read refuses a file that everybody may read, or that holds more than a secret.
func (f secretFile) read(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %s", MissingFile("read the "+f.name+" file", path, err), f.hint)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s file %s is not a file", f.name, path)
	case info.Mode().Perm()&0o007 != 0 && os.PathSeparator == '/':
		return "", fmt.Errorf("%s file %s can be read by everybody: chmod 600 %s", f.name, path, path)
	case info.Size() > 4096:
		return "", fmt.Errorf("%s file %s has %d bytes: it should hold %s and nothing else", f.name, path, info.Size(), f.holds)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the %s file: %w", f.name, err)
	}
	return string(data), nil
}

// oneWord reports whether a secret is one word of printable ASCII, as keys and URLs are.
func oneWord(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) || r == ' ' })
}
