package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/trendvidstream/ingest"
)

// Credential is the name under which systemd hands the key over: LoadCredential=youtube-key:FILE.
const Credential = "youtube-key"

// Key finds the API key. It looks at --key-file, a systemd credential, INGEST_KEY_FILE, INGEST_KEY and the config's
// key_file, in this order. The zero Secret means that there is none. A key that was named but cannot be used is a
// KeyError: falling through to another key would spend somebody else's quota.
func (c *Config) Key() (ingest.Secret, error) {
	_, key, err := c.findKey()
	return key, err
}

// KeySource says where Key looks for the key, for a person; "" where nothing names one.
func (c *Config) KeySource() string {
	source, _, _ := c.findKey()
	return source
}

func (c *Config) findKey() (source string, key ingest.Secret, err error) {
	var path string
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" && FileExists(filepath.Join(dir, Credential)) {
		path = filepath.Join(dir, Credential)
	}
	switch fromEnv := os.Getenv("INGEST_KEY_FILE"); {
	case c.flags.KeyFile != "":
		source, path = "--key-file "+c.flags.KeyFile, c.flags.KeyFile
	case path != "":
		source = "the systemd credential " + Credential
	case fromEnv != "":
		source, path = "INGEST_KEY_FILE "+fromEnv, fromEnv
	case os.Getenv("INGEST_KEY") != "":
		key, err = parseKey("INGEST_KEY", os.Getenv("INGEST_KEY"))
		return "INGEST_KEY: other processes of this user can read it, a file is safer", key, err
	case c.KeyFile != "":
		source, path = "key_file: "+c.KeyFile, c.KeyFile
	default:
		return "", ingest.Secret{}, nil
	}
	key, err = ReadKey(path)
	return source, key, err
}

// FileExists reports whether there is something at path.
func FileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ReadKey reads a key file, and refuses one that everybody may read or that holds more than a key.
func ReadKey(path string) (ingest.Secret, error) {
	text, err := secretFile{"key", "a key", "--key-file, INGEST_KEY_FILE and key_file: name a file, and never hold the key"}.read(path)
	if err != nil {
		return ingest.Secret{}, KeyError{err}
	}
	return parseKey("key file "+path, text)
}

// parseKey trims the newline that editors leave, and refuses what cannot be a key. Its errors never quote the text.
func parseKey(where, text string) (ingest.Secret, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return ingest.Secret{}, KeyError{fmt.Errorf("%s is empty: put the API key into it", where)}
	}
	if !oneWord(text) {
		return ingest.Secret{}, KeyError{fmt.Errorf("%s holds more than one word, or characters that no key has", where)}
	}
	return ingest.NewSecret(text), nil
}

// ErrNoKey is a call that needs a key where none is configured.
var ErrNoKey = KeyError{errors.New("no API key: give --key-file FILE, set INGEST_KEY_FILE, or try without one: ingest demo")}
