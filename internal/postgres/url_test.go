package postgres_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/postgres"
)

const secret = "hunter2hunter2"

func TestAURLThatCannotBeReadIsNotQuoted(t *testing.T) {
	for _, url := range []string{
		"mysql://u:" + secret + "@h/db", "postgres//u:" + secret + "@h/db", "postgres:u:" + secret + "@h/db", "postgres://u:" + secret + "%@h/db",
		"postgres://u:" + secret + "/x@h/db", "postgres://u:1?" + secret + "@h/db", "postgres://u:1#" + secret + "@h/db", "postgres://u:p@h:" + secret + "/db",
		"postgres://u@h/db?password=" + secret, "postgres://u@h/db?pass%77ord=" + secret, "postgres://u@h/db?" + secret + "=1", "postgres://u@h/db?sslmode=" + secret,
		"postgres://u@h/db?sslmode=verify-full&sslrootcert=/" + secret, "postgres://u@h/db?target_session_attrs=" + secret, "postgres://u@h/db?connect_timeout=" + secret,
		"postgres://u@h/db?port=" + secret, "postgres://u:p@[" + secret + "]/db", "postgres://u:" + secret + "@h:1,b:2:3/db", "postgres://u@h/db?x=%zz" + secret,
		"postgres://u:p@h/db#" + secret, "host=h password=" + secret, secret,
	} {
		_, err := postgres.Parse(url)
		if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestTLSIsAskedForBeyondThisMachine(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	t.Setenv("HOME", t.TempDir())
	for url, inClear := range map[string]string{
		"postgres://u:p@db.example/x":                                   "",
		"postgres://u:p@db.example/x?connect_timeout=2":                 "",
		"postgres://u:p@127.0.0.1,db.example/x":                         "",
		"postgres://u:p@10.0.0.1/x?":                                    "",
		"postgres://u:p@db.example/x?sslmode=prefer":                    "db.example", // as the user wants it; doctor and run warn
		"postgres://u:p@db.example/x?sslmode=disable":                   "db.example",
		"postgres://u@db.example/x?sslmode=disable":                     "", // there is no password
		"postgres://u:p@localhost/x":                                    "",
		"postgres://u:p@[::1]/x?sslmode=disable":                        "",
		"postgres://u:p@/x?host=/run/postgresql":                        "",
		"postgres://u:p@127.0.0.1:1,db.example:2/x?sslmode=disable":     "db.example",
		"postgres://u:p@db.example/x?sslmode=verify-full&search_path=a": "",
	} {
		c, err := postgres.Parse(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
		} else if got := postgres.InClear(&c.ConnConfig.Config); got != inClear {
			t.Errorf("%s: the password goes in clear to %q, want %q", url, got, inClear)
		}
	}
}

// The password and the mode may come from the environment, a service file or a .pgpass, and a host has many spellings.
func TestAPasswordInClearIsSeenWhereverItsPartsComeFrom(t *testing.T) {
	home := t.TempDir()
	service := filepath.Join(home, "service")
	must := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must(service, "[open]\nhost=db.example\npassword=p\nsslmode=disable\n[maybe]\nhost=db.example\npassword=p\nsslmode=prefer\n[near]\nhost=127.0.0.1\npassword=p\nsslmode=disable\n")
	must(filepath.Join(home, ".pgpass"), "pass.example:*:*:*:p\n")
	for _, tt := range []struct{ env, url, inClear string }{
		{"PGSSLMODE=disable", "postgres://u:p@db.example/x", "db.example"},
		{"PGSSLMODE=prefer", "postgres://u:p@db.example/x", "db.example"},
		{"PGSSLMODE=allow", "postgres://u:p@db.example/x", "db.example"},
		{"PGSSLMODE=disable", "postgres://u:p@db.example/x?sslmode=require", ""},
		{"PGSSLMODE=require", "postgres://u:p@db.example/x?sslmode=disable", "db.example"},
		{"PGSSLMODE=verify-full", "postgres://u:p@db.example/x", ""},
		{"PGPASSWORD=p", "postgres://u@db.example/x?sslmode=disable", "db.example"},
		{"PGHOST=db.example", "postgres://u:p@/x?sslmode=disable", "db.example"},
		{"PGHOST=db.example", "postgres://u:p@/x", ""},
		{"PGHOST=/run/postgresql", "postgres://u:p@/x?sslmode=disable", ""},
		{"PGSERVICE=open", "postgres://u@/x", "db.example"},
		{"PGSERVICE=maybe", "postgres://u@/x", ""}, // require takes the place of a prefer that the URL does not have
		{"PGSERVICE=near", "postgres://u@/x", ""},
		{"", "postgres://u@pass.example/x?sslmode=disable", "pass.example"},
		{"", "postgres://u@other.example/x?sslmode=disable", ""},
		{"", "postgres://u:p@[2001:db8::1]/x?sslmode=disable", "2001:db8::1"},
		{"", "postgres://u:p@[::ffff:127.0.0.1]/x?sslmode=disable", ""},
		{"", "postgres://u:p@[::ffff:192.0.2.1]/x?sslmode=disable", "::ffff:192.0.2.1"},
		{"", "postgres://u:p@127.9.8.7/x?sslmode=disable", ""},
		{"", "postgres://u:p@127.0.0.1.example/x?sslmode=disable", "127.0.0.1.example"},
		{"", "postgres://u:p@LOCALHOST/x?sslmode=disable", ""},
		{"", "postgres://u:p@ip6-localhost/x?sslmode=disable", "ip6-localhost"}, // a name may lead elsewhere tomorrow
		{"", "postgres://u:p@0.0.0.0/x?sslmode=disable", "0.0.0.0"},
		{"", "postgresql://u:p@db.example/x?sslmode=allow", "db.example"},
		{"", "postgres://u:p@db.example/x?sslnegotiation=direct&sslmode=require", ""},
	} {
		for _, name := range []string{"PGSSLMODE", "PGPASSWORD", "PGHOST", "PGSERVICE", "PGPASSFILE"} {
			t.Setenv(name, "")
		}
		t.Setenv("HOME", home)
		t.Setenv("PGPASSFILE", filepath.Join(home, ".pgpass"))
		t.Setenv("PGSERVICEFILE", service)
		if name, value, ok := strings.Cut(tt.env, "="); ok {
			t.Setenv(name, value)
		}
		c, err := postgres.Parse(tt.url)
		if err != nil {
			t.Errorf("%s %s: %v", tt.env, tt.url, err)
		} else if got := postgres.InClear(&c.ConnConfig.Config); got != tt.inClear {
			t.Errorf("%s %s: the password goes in clear to %q, want %q", tt.env, tt.url, got, tt.inClear)
		}
	}
}

func TestACertificateIsCheckedWhereARootIsKnown(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	root := rootCertificate(t)
	for url, checked := range map[string]bool{
		"postgres://u:p@db.example/x":                                    false,
		"postgres://u:p@db.example/x?sslrootcert=" + root:                true,
		"postgres://u:p@db.example/x?sslmode=prefer&sslrootcert=" + root: false,
	} {
		t.Setenv("HOME", t.TempDir())
		c, err := postgres.Parse(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if got := c.ConnConfig.TLSConfig != nil && !c.ConnConfig.TLSConfig.InsecureSkipVerify && c.ConnConfig.TLSConfig.ServerName == "db.example"; got != checked {
			t.Errorf("%s: the certificate is checked: %t, want %v", url, got, checked)
		}
	}
}

func TestAMissingFileIsReportedWithItsSetting(t *testing.T) {
	_, err := postgres.Parse("postgres://u@h/db?sslrootcert=" + filepath.Join(t.TempDir(), "none"))
	if err == nil || !strings.Contains(err.Error(), "the file that sslrootcert names cannot be read") {
		t.Error(err)
	}
}

// rootCertificate writes a certificate that signs itself.
func rootCertificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The URLs that providers show for copying work, or the error names the setting to change.
func TestURLsOfProvidersWorkAsCopied(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	t.Setenv("HOME", t.TempDir())
	for url, want := range map[string]string{
		// Neon
		"postgresql://ann:" + secret + "@ep-cool-a1b2-pooler.us-east-2.aws.neon.tech/db?sslmode=require&channel_binding=require":       "",
		"postgresql://ann:" + secret + "@ep-cool-a1b2.us-east-2.aws.neon.tech/db?sslmode=require&options=endpoint%3Dep-cool-a1b2":      "",
		"postgresql://ann:" + secret + "@ep-cool-a1b2-pooler.us-east-2.aws.neon.tech/db?sslmode=require&pgbouncer=true&pool_timeout=0": "",
		// Supabase
		"postgresql://postgres:" + secret + "@db.abcd.supabase.co:5432/postgres":                                                        "",
		"postgresql://postgres.abcd:" + secret + "@aws-0-us-east-1.pooler.supabase.com:6543/postgres?pgbouncer=true&connection_limit=1": "",
		"postgres://postgres.abcd:" + secret + "@aws-0-us-east-1.pooler.supabase.com:6543/postgres?sslmode=require&supa=base-pooler.x":  "",
		// RDS and Cloud SQL
		"postgres://ann:" + secret + "@x.abc.us-east-1.rds.amazonaws.com:5432/db?sslmode=verify-full&sslrootcert=system": "",
		"postgres://ann:" + secret + "@/db?host=/cloudsql/project:region:instance":                                       "",
		// other clients' forms
		"postgres://ann:" + secret + "@h/db?schema=public":                    "schema= after the '?' belongs to another client: write search_path=",
		"postgres://ann:" + secret + "@h/db?ssl=true":                         "write sslmode=require",
		"postgres://ann:" + secret + "@h/db?sslmode=no-verify":                "sslmode= is disable, require (which checks no certificate)",
		"postgresql://postgres:[" + secret + "]@db.abcd.supabase.co/postgres": "%5B for '['",
		"postgres://ann@h/db?password=" + secret:                              "write the password before the '@'",
		"postgres://ann:" + secret + "@h/db?keepalives=1&gssencmode=disable":  "",
	} {
		c, err := postgres.Parse(url)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret)) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
		if err == nil && (c.ConnConfig.Password != secret || c.ConnConfig.RuntimeParams["pgbouncer"] != "") {
			t.Errorf("%s: read as %+v", url, c.ConnConfig.RuntimeParams)
		}
		if err == nil && strings.Contains(url, "options=") && c.ConnConfig.RuntimeParams["options"] != "endpoint=ep-cool-a1b2" {
			t.Errorf("%s: options are %q", url, c.ConnConfig.RuntimeParams["options"])
		}
	}
}
