package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/wire"
)

// pingCredential is the name under which systemd hands the URL over: LoadCredential=ping-url:FILE.
const pingCredential = "ping-url"

// PingURL finds the address of the dead man's switch. It looks at a systemd credential, INGEST_PING_URL_FILE,
// INGEST_PING_URL and the config's ping_file, in this order. Whoever knows the address can silence the switch: it is a
// secret, and never an argument. The zero Secret means that there is none. One that was named but cannot be used is an
// error, since nobody would notice a switch that is not fed until it is too late.
func (c *Config) PingURL() (ingest.Secret, error) {
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" {
		if path := filepath.Join(dir, pingCredential); FileExists(path) {
			return ReadPingURL(path)
		}
	}
	if path := os.Getenv("INGEST_PING_URL_FILE"); path != "" {
		return ReadPingURL(path)
	}
	if text := os.Getenv("INGEST_PING_URL"); text != "" {
		return parsePingURL("INGEST_PING_URL", text)
	}
	if c.PingFile != "" {
		return ReadPingURL(c.PingFile)
	}
	return ingest.Secret{}, nil
}

// ReadPingURL reads a ping file as ReadKey reads a key file.
func ReadPingURL(path string) (ingest.Secret, error) {
	text, err := secretFile{"ping", "a URL", "ping_file: and INGEST_PING_URL_FILE name a file, and never hold the URL"}.read(path)
	if err != nil {
		return ingest.Secret{}, Invalid(err)
	}
	return parsePingURL("ping file "+path, text)
}

// parsePingURL trims the newline that editors leave, and refuses what no switch has. Its errors never quote the text.
func parsePingURL(where, text string) (ingest.Secret, error) {
	text = strings.TrimSpace(text)
	if err := checkPingURL(text); err != nil {
		return ingest.Secret{}, Invalid(fmt.Errorf("%s %w", where, err))
	}
	return ingest.NewSecret(text), nil
}

func checkPingURL(text string) error {
	if text == "" {
		return errors.New("is empty: put the URL of the check into it")
	}
	if !oneWord(text) {
		return errors.New("holds more than one word, or characters that no URL has")
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
