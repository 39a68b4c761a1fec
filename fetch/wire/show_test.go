package wire_test

import (
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/fetch/wire"
)

// With any text in place of an address, no part of a password is shown.
func TestOfAURLOnlyWhereItLeadsIsShown(t *testing.T) {
	for s, want := range map[string]string{
		"redis://h:6379/1":                       "redis://h:6379/1",
		"redis+sentinel://a:1,b:2/0":             "redis+sentinel://a:1,b:2/0",
		"postgres://u:pass@[::1]:5432/db":        "postgres://[::1]:5432/db",
		"postgres://u:pass@h/db?sslmode=require": "postgres://h/db",
		"postgres://u:p%2Fass@h/db":              "postgres://h/db",
		"postgres://u:p@ss@h/db":                 "postgres://h/db",
		"postgres:///db?host=/run/postgresql":    "postgres:///db",
		"postgres://u:p@ss/PASS@h":               "***",
		"postgres://u:p/pass@h/db":               "***",
		"postgres://u:p?pass@h/db":               "***",
		"postgres://u:p#pass@h/db":               "***",
		"redis://user:pass":                      "***",
		"redis://:pass":                          "***",
		"redis://:123456":                        "***",
		"host=db password=pass user=x":           "***",
		"password=pass":                          "***",
		"pass":                                   "***",
		"":                                       "***",
		"://pass":                                "***",
		"postgres://h/db/pass/x":                 "***",
		"postgres://h/db pass":                   "***",
		"redis:pass@h":                           "***",
		"postgres://u:pass@h/db\nSet-Cookie: x":  "***",
		"https://" + strings.Repeat("pass", 10) + ":x@h/": "https://h/",
	} {
		if got := wire.ShowURL(s); got != want {
			t.Errorf("%q is shown as %q, want %q", s, got, want)
		}
	}
}
