//go:build unix

package pgledger_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/pgledger"
)

func TestAURLThatCannotBeReadShowsNoPassword(t *testing.T) {
	for _, url := range []string{
		"mysql://u:" + secret + "@h/db", "postgres//u:" + secret + "@h/db", "postgres://u:" + secret + "%@h/db",
		"postgres://u:" + secret + "/x@h/db", "postgres://u:1?" + secret + "@h/db", "postgres://u:1#" + secret + "@h/db", "postgres://u:p@h:" + secret + "/db",
		"postgres://u@h/db?password=" + secret, "postgres://u@h/db?" + secret + "=1", "postgres://u@h/db?sslmode=" + secret,
		"postgres://u@h/db?sslmode=verify-full&sslrootcert=/" + secret,
	} {
		_, err := pgledger.Parse(url)
		if !errors.Is(err, quota.ErrUnknown) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestAURLIsReadAsWritten(t *testing.T) {
	c, err := pgledger.Parse("postgres://us%40er:p%2Fw%25@a.example:1,b.example:2/db?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	if c := c.ConnConfig; c.User != "us@er" || c.Password != "p/w%" || c.Host != "a.example" || c.Port != 1 || c.Database != "db" || c.ValidateConnect == nil {
		t.Errorf("%q %q %q %d %q, want the parts of the URL, unescaped", c.User, c.Password, c.Host, c.Port, c.Database)
	}
}
