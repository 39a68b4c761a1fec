//go:build unix

package main_test

import (
	"fmt"
	"strings"
	"testing"

	program "github.com/trendvidstream/ingest/cmd/ingest"
)

// wrongServerURLs are sixty mistakes in the URL of a store or a ledger, each with a password in it.
func wrongServerURLs(password string) (urls []string) {
	for _, form := range []string{
		"%s", ":%s", "://%s", "postgres:%s", "postgres:/%s", "postgres//me:%s@h/db", "postgres:me:%s@h/db", "postgre://me:%s@h/db", "psql://me:%s@h/db", "http://me:%s@h/db",
		"host=h user=me password=%s", "password='%s' host=h", "user=me\npassword=%s", "jdbc:postgresql://h/db?user=me&password=%s", "me:%s@h/db", "//me:%s@h/db",
		"postgres://me:%s/@h/db", "postgres://me:1/%s@h/db", "postgres://me:1?%s@h/db", "postgres://me:1#%s@h/db", "postgres://me:1@2/%s@h/db", "postgres://me:%%q%s@h/db", "postgres://me:%s%%@h/db",
		"postgres://me:1%%zz%s@h/db", "postgres://me:[%s@h/db", "postgres://me:%s]@h/db", "postgres://me:%s @h/db", "postgres://me: %s@h/db", "postgres://me:%s\\@h/db", "postgres://me:%s\x00@h/db", "postgres://me:%s\n@h/db",
		"postgres://me:x@h:%s/db", "postgres://me:x@h:5432:%s/db", "postgres://me:x@[%s]/db", "postgres://me:x@[::1%%25%s/db", "postgres://me:x@h:1,h:%s/db", "postgres://h:%s", "postgres://h:%s/db", "postgres://:%s:x@h:a/db",
		"postgres://me@h/db?password=%s", "postgres://me@h/db?pass%%77ord=%s", "postgres://me@h/db?sslpassword=%s", "postgres://me@h/db?passwrd=%s", "postgres://me@h/db?%s", "postgres://me@h/db?%s=1", "postgres://me@h/db?a=%s;b=2", "postgres://me@h/db?a=%%q%s",
		"postgres://me@h/db?sslmode=%s", "postgres://me@h/db?sslrootcert=/%s", "postgres://me@h/db?sslrootcert=%s", "postgres://me@h/db?sslcert=/%s&sslkey=/x", "postgres://me@h/db?sslkey=%s&sslcert=/dev/null",
		"postgres://me@h/db?target_session_attrs=%s", "postgres://me@h/db?connect_timeout=%s", "postgres://me@h/db?port=%s", "postgres://me@h/db?service=%s", "postgres://me@h/db?options=-c%%20a=%s",
		"postgres://me:x@h/db#%s", "postgres://me@h/db?channel_binding=%s", "postgres://me@h/db?require_auth=%s", "postgres://me@h/db?sslnegotiation=direct&sslmode=%s",
		"redis://:%s@h:x/0", "redis://:%s@h/a",
	} {
		urls = append(urls, fmt.Sprintf(form, password))
	}
	return urls
}

// readers are the commands that read the store or the ledger, in both of the forms that they print.
var readers = [][]string{
	{"run"}, {"run", "--json"}, {"doctor"}, {"doctor", "--json"}, {"slots"}, {"search", "x"}, {"chart", "US", "--json"}, {"history", "v"},
	{"metrics"}, {"config", "check"}, {"config", "check", "--json"}, {"quota"}, {"quota", "--json"}, {"quota", "take", "videos.list"}, {"quota", "rebuild"}, {"backfill", "status"}, {"backup", "$HOME/copy.db"},
}

// No command that is given a wrong URL shows the password in it, whether it is the URL of the store or of the ledger, and
// whether an environment variable or the config holds it.
func TestLongNoCommandShowsThePasswordOfAWrongURL(t *testing.T) {
	c := newCanary(unlike)
	urls := wrongServerURLs(c.key)
	if len(urls) < 60 {
		t.Fatalf("%d URLs, want at least 60", len(urls))
	}
	runs := 0
	for i, url := range urls {
		h := newHome(t, c.key, "http://127.0.0.1:1/")
		for j, args := range readers {
			if (i+j)%3 > 0 {
				continue
			}
			for _, what := range []string{"STORE", "LEDGER"} {
				h.wrongURL(c, what, url, (i+j)%2 == 0, args)
				runs++
			}
		}
		h.wrongURL(c, "none", url, false, []string{"store", "copy", "--from", url, "--to", "sqlite"})
		h.wrongURL(c, "none", url, false, []string{"store", "copy", "--from", "sqlite", "--to", url})
		c.watchFiles(t, url, h.dir)
	}
	t.Logf("%d runs with %d URLs: no piece of the password", runs, len(urls))
}

// wrongURL runs one command with the URL in INGEST_STORE, INGEST_LEDGER or the config, and expects it to be refused.
func (h *home) wrongURL(c canary, what, url string, inConfig bool, args []string) {
	h.t.Helper()
	g := handed{env: map[string]string{"INGEST_STORE": "", "INGEST_LEDGER": "", "INGEST_KEY": "not-the-canary"}}
	switch {
	case strings.Contains(url, "\x00") || inConfig:
		text := fmt.Sprintf("%s: %q\n", strings.ToLower(what), url)
		g.env["INGEST_CONFIG"] = h.secret("url.yaml", text+canaryConfig, 0o600)
	default:
		g.env["INGEST_"+what] = url
	}
	for name, value := range h.env(g) {
		h.t.Setenv(name, value)
	}
	var out, messages strings.Builder
	code := program.Run(h.args(args, g), &out, &messages, nil)
	where := fmt.Sprintf("%q as %s: ingest %s", url, what, strings.Join(args, " "))
	if code == 0 && args[0] != "metrics" {
		h.t.Errorf("%s: is accepted: %s%s", where, &out, &messages)
	}
	c.watch(h.t, where, []byte(out.String()+messages.String()))
}
