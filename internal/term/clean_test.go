package term_test

import (
	"testing"

	"github.com/trendvidstream/ingest/internal/term"
)

func TestAFileIsNamedWithoutItsDirectories(t *testing.T) {
	for s, want := range map[string]string{
		"/var/lib/ingest/ingest.db":                        "ingest.db",
		"open /var/lib/ingest/quota.db: permission denied": "open quota.db: permission denied",
		`mv "/srv/x/quota.db" x (see /etc/ingest/i.yaml)`:  `mv "quota.db" x (see i.yaml)`,
		"sslrootcert=/etc/ssl/root.crt, /a/b/c/":           "sslrootcert=root.crt, c/",
		"https://127.0.0.1:1/a/b and http://h/x/y":         "https://127.0.0.1:1/a/b and http://h/x/y",
		"see /v1/charts/US, or /status":                    "see /v1/charts/US, or /status",
		"50/60 m/s, 1/2/3":                                 "50/60 m/s, 1/2/3",
	} {
		if got := term.WithoutDirectories(s); got != want {
			t.Errorf("%s becomes %s, want %s", s, got, want)
		}
	}
}
