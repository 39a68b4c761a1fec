package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/trendvidstream/ingest"
)

// Credential is the name under which systemd hands the key over: LoadCredential=youtube-key:FILE.
const Credential = "youtube-key"

// Key finds the API key. It looks at --key-file, a systemd credential, INGEST_KEY_FILE, INGEST_KEY and the config's
// key_file, in this order. The zero Secret means that there is none. A key that was named but cannot be used is a
// KeyError: falling through to another key would spend somebody else's quota.
func (c *Config) Key() (ingest.Secret, error) {
	files := []string{c.flags.KeyFile}
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" {
		if path := filepath.Join(dir, Credential); FileExists(path) {
			files = append(files, path)
		}
	}
	files = append(files, os.Getenv("INGEST_KEY_FILE"))
	for _, path := range files {
		if path != "" {
			return ReadKey(path)
		}
	}
	if text := os.Getenv("INGEST_KEY"); text != "" {
		return parseKey("INGEST_KEY", text)
	}
	if c.KeyFile != "" {
		return ReadKey(c.KeyFile)
	}
	return ingest.Secret{}, nil
}

// FileExists reports whether there is something at path.
func FileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ReadKey reads a key file, and refuses one that everybody may read or that holds more than a key.
func ReadKey(path string) (ingest.Secret, error) {
	info, err := os.Stat(path)
	if err != nil {
		return ingest.Secret{}, KeyError{fmt.Errorf("%w: --key-file, INGEST_KEY_FILE and key_file: name a file, and never hold the key", MissingFile("read the key file", path, err))}
	}
	if !info.Mode().IsRegular() {
		return ingest.Secret{}, KeyError{fmt.Errorf("key file %s is not a file", path)}
	}
	if info.Mode().Perm()&0o007 != 0 && os.PathSeparator == '/' {
		return ingest.Secret{}, KeyError{fmt.Errorf("key file %s can be read by everybody: chmod 600 %s", path, path)}
	}
	if info.Size() > 4096 {
		return ingest.Secret{}, KeyError{fmt.Errorf("key file %s has %d bytes: it should hold a key and nothing else", path, info.Size())}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ingest.Secret{}, KeyError{fmt.Errorf("read the key file: %w", err)}
	}
	return parseKey("key file "+path, string(data))
}

// parseKey trims the newline that editors leave, and refuses what cannot be a key. Its errors never quote the text.
func parseKey(where, text string) (ingest.Secret, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return ingest.Secret{}, KeyError{fmt.Errorf("%s is empty: put the API key into it", where)}
	}
	for _, r := range text {
		if r > unicode.MaxASCII || !unicode.IsPrint(r) || r == ' ' {
			return ingest.Secret{}, KeyError{fmt.Errorf("%s holds more than one word, or characters that no key has", where)}
		}
	}
	return ingest.NewSecret(text), nil
}

// ErrNoKey is a call that needs a key where none is configured.
var ErrNoKey = KeyError{errors.New("no API key: give --key-file FILE, set INGEST_KEY_FILE, or try without one: ingest demo")}
