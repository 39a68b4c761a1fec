package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/config"
)

// Text that may hold a password is refused in one line that does not repeat it.
func TestAConnectionThatIsNoURLIsRefusedAndNotShown(t *testing.T) {
	const secret = "hunter2"
	for s, want := range map[string]string{
		"host=db password=hunter2 user=x":                "this is not a URL",
		"password=hunter2":                               "this is not a URL",
		"hunter2hunter2hunter2":                          "this is not a URL",
		"postgres://u:p@ss/hunter2@host":                 "after the host",
		"postgres://u:p?hunter2@host/db":                 "after the host",
		"mysql://u:hunter2@host/db":                      "mysql://host/db is of another kind",
		"sqlite3":                                        "this is not a URL",
		"sqllite":                                        `"sqllite" is not known: use sqlite`,
		"postgres:u:hunter2@host":                        "this is not a URL",
		"postgres://u:hunter2@host/db\nhost=b password=": "this is not a URL",
	} {
		for name, check := range map[string]func(string) error{"ledger": config.CheckLedger, "store": config.CheckStore} {
			err := check(s)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) ||
				strings.Contains(err.Error(), "\n") || !errors.As(err, new(config.Error)) {
				t.Errorf("%s %q: %v, want %q", name, s, err, want)
			}
			if shown := config.ServerName(s); strings.Contains(shown, secret) {
				t.Errorf("%q is shown as %q", s, shown)
			}
		}
	}
	for _, s := range []string{"sqlite", "redis://:hunter2@h:1/0", "redis+sentinel://a:1,b:2/0?master=m", "postgres://u:hunter%40@h/db"} {
		if err := config.CheckLedger(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}
