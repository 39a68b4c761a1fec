package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/trendvidstream/ingest"
)

// credential is the name under which systemd hands the key over: LoadCredential=youtube-key:FILE.
const credential = "youtube-key"

// key finds the API key: --key-file, a systemd credential, INGEST_KEY_FILE, INGEST_KEY, and last the
// config's key_file. The zero Secret means that there is none. A key that was named but cannot be
// used is an error: falling through to another one would spend somebody else's quota.
func (a *app) key() (ingest.Secret, error) {
	files := []string{a.flags.keyFile}
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" {
		if path := filepath.Join(dir, credential); exists(path) {
			files = append(files, path)
		}
	}
	files = append(files, os.Getenv("INGEST_KEY_FILE"))
	for _, path := range files {
		if path != "" {
			return readKey(path)
		}
	}
	if text := os.Getenv("INGEST_KEY"); text != "" {
		return parseKey("INGEST_KEY", text)
	}
	if a.cfg.keyFile != "" {
		return readKey(a.cfg.keyFile)
	}
	return ingest.Secret{}, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func readKey(path string) (ingest.Secret, error) {
	info, err := os.Stat(path)
	if err != nil {
		return ingest.Secret{}, codeError{exitKey, fmt.Errorf("%w: --key-file, INGEST_KEY_FILE and key_file: name a file, and never hold the key", missing("read the key file", path, err))}
	}
	if !info.Mode().IsRegular() {
		return ingest.Secret{}, codeError{exitKey, fmt.Errorf("key file %s is not a file", path)}
	}
	if info.Mode().Perm()&0o007 != 0 && os.PathSeparator == '/' {
		return ingest.Secret{}, codeError{exitKey, fmt.Errorf("key file %s can be read by everybody: chmod 600 %s", path, path)}
	}
	if info.Size() > 4096 {
		return ingest.Secret{}, codeError{exitKey, fmt.Errorf("key file %s has %d bytes: it should hold a key and nothing else", path, info.Size())}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ingest.Secret{}, codeError{exitKey, fmt.Errorf("read the key file: %w", err)}
	}
	return parseKey("key file "+path, string(data))
}

// parseKey trims the newline that editors leave, and refuses what no key holds. The text itself must
// not be in the error.
func parseKey(where, text string) (ingest.Secret, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return ingest.Secret{}, codeError{exitKey, fmt.Errorf("%s is empty: put the API key into it", where)}
	}
	for _, r := range text {
		if r > unicode.MaxASCII || !unicode.IsPrint(r) || r == ' ' {
			return ingest.Secret{}, codeError{exitKey, fmt.Errorf("%s holds more than one word, or characters that no key has", where)}
		}
	}
	return ingest.NewSecret(text), nil
}

var errNoKey = codeError{exitKey, errors.New("no API key: give --key-file FILE, set INGEST_KEY_FILE, or try without one: ingest demo")}
