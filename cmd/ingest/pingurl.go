package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/trendvidstream/ingest/internal/config"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/wire"
)

// pingCredential is the name under which systemd hands the URL over: LoadCredential=ping-url:FILE.
const pingCredential = "ping-url"

// pingURL finds the address of the dead man's switch: a systemd credential, INGEST_PING_URL_FILE,
// INGEST_PING_URL, and last the config's ping_file. Who knows it can lull the switch, so that it is a
// secret, and never an argument. The zero Secret means that there is none; one that was named but cannot
// be used is an error, since a switch that nobody feeds is found out too late.
func (a *app) pingURL() (ingest.Secret, error) {
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" {
		if path := filepath.Join(dir, pingCredential); config.FileExists(path) {
			return readPingURL(path)
		}
	}
	if path := os.Getenv("INGEST_PING_URL_FILE"); path != "" {
		return readPingURL(path)
	}
	if text := os.Getenv("INGEST_PING_URL"); text != "" {
		return parsePingURL("INGEST_PING_URL", text)
	}
	if a.cfg.PingFile != "" {
		return readPingURL(a.cfg.PingFile)
	}
	return ingest.Secret{}, nil
}

func readPingURL(path string) (ingest.Secret, error) {
	refused := func(format string, args ...any) (ingest.Secret, error) {
		return ingest.Secret{}, config.Invalid(fmt.Errorf(format, args...))
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return refused("%w: ping_file: and INGEST_PING_URL_FILE name a file, and never hold the URL", config.MissingFile("read the ping file", path, err))
	case !info.Mode().IsRegular():
		return refused("ping file %s is not a file", path)
	case info.Mode().Perm()&0o007 != 0 && os.PathSeparator == '/':
		return refused("ping file %s can be read by everybody: chmod 600 %s", path, path)
	case info.Size() > 4096:
		return refused("ping file %s has %d bytes: it should hold a URL and nothing else", path, info.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return refused("read the ping file: %w", err)
	}
	return parsePingURL("ping file "+path, string(data))
}

// parsePingURL trims the newline that editors leave, and refuses what no switch has. The text itself
// must not be in the error.
func parsePingURL(where, text string) (ingest.Secret, error) {
	text = strings.TrimSpace(text)
	if err := checkPingURL(text); err != nil {
		return ingest.Secret{}, config.Invalid(fmt.Errorf("%s %w", where, err))
	}
	return ingest.NewSecret(text), nil
}

func checkPingURL(text string) error {
	if text == "" {
		return errors.New("is empty: put the URL of the check into it")
	}
	for _, r := range text {
		if r > unicode.MaxASCII || !unicode.IsPrint(r) || r == ' ' {
			return errors.New("holds more than one word, or characters that no URL has")
		}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Host == "", strings.Trim(u.Path, "/") == "":
		return errors.New("does not hold a URL such as https://hc-ping.com/UUID")
	case u.User != nil, u.Fragment != "":
		return errors.New("holds a URL with a user or a fragment: leave that out")
	case u.Scheme != "https" && (u.Scheme != "http" || !wire.IsLoopback(u.Hostname())):
		return errors.New("holds a URL that is neither https nor on this machine")
	}
	return nil
}
