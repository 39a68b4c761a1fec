//go:build unix

package main_test

import (
	"bytes"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	program "github.com/trendvidstream/ingest/cmd/ingest"
	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// The commands of docs/scale.md, block by block as printed, except for the address, the password and the place of the
// certificate: users who may do nothing else on the server fetch over TLS that is verified, move a store there, and
// read it, and no more.
func TestLongTheDocsOfScaleWorkAsWritten(t *testing.T) {
	d := faulty.Postgres(t, "fsync=on")
	d.Admin(t, "ALTER DATABASE postgres OWNER TO admin; DROP ROLE ingest")
	authority := d.RequireTLS(t)
	sim, err := youtubesim.New(youtubesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(sim)
	defer upstream.Close()
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": "", "INGEST_DATA": filepath.Join(home, "data"),
		"INGEST_UPSTREAM_URL": upstream.URL + "/", "PGPASSWORD": "", "PGPASSFILE": ""} {
		t.Setenv(name, value)
	}
	host, port, _ := net.SplitHostPort(d.Addr())
	here := strings.NewReplacer("db.example.net:5432", host+":"+port, "/etc/ingest/db-ca.crt", authority, "PASSWORD", "correct-horse")
	setup, move := here.Replace(docSection(t, "docs/scale.md", "Setting it up")), here.Replace(docSection(t, "docs/scale.md", "The move"))

	sql := docBlocks(setup, "sql")
	if len(sql) != 2 {
		t.Fatalf("%d blocks of SQL, want those of the administrator and of the owner", len(sql))
	}
	for _, s := range statements(sql[0]) {
		d.Admin(t, s)
	}
	d.Admin(t, "ALTER ROLE ingest PASSWORD 'correct-horse'")
	d.Admin(t, "ALTER ROLE ingest_reader PASSWORD 'correct-horse'")
	config := filepath.Join(home, ".config", "ingest", "ingest.yaml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(strings.Join(docBlocks(setup, "yaml"), "")), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := docBlocks(setup, "sh")
	if len(commands) != 2 {
		t.Fatalf("%d blocks of commands, want those of each machine and the doctor", len(commands))
	}
	shell(t, commands[:1])
	ingestCode(t, exitOK, "run", "--quiet", "--force", "--region", "US", "--data", filepath.Join(home, "second"))
	said := shell(t, commands[1:])
	for line := range strings.Lines(said) {
		status, _, _ := strings.Cut(line, " ")
		// Here the two machines are one, with two data directories.
		one := strings.Contains(line, "running as root") || strings.Contains(line, "2 of 2 have synced") && strings.Contains(said, "has two:")
		if (status == "warn" || status == "fail") && !one {
			t.Errorf("something is not well: %s", line)
		}
	}
	if strings.Contains(said, "is fetched by") {
		t.Errorf("two machines, with the config that the docs give both:\n%s", said)
	}

	url := "postgres://ingest@" + d.Addr() + "/ingest?sslmode=verify-full&sslrootcert=" + authority
	reader := strings.Replace(url, "//ingest@", "//ingest_reader:correct-horse@", 1)
	search := []string{"search", "the", "--store", reader}
	if _, errs := ingestCode(t, 1, search...); !strings.Contains(errs, "permission denied") {
		t.Errorf("before the rights are given: %s, want \"permission denied\" in it", errs)
	}
	if out, _ := ingestCode(t, 1, "doctor", "--json", "--store", reader); !strings.Contains(out, "GRANT USAGE ON SCHEMA") {
		t.Errorf("doctor does not say which right is missing:\n%s", out)
	}
	owner, err := pgconn.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements(sql[1]) {
		if _, err := owner.Exec(t.Context(), s).ReadAll(); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	_ = owner.Close(t.Context())
	ingestCode(t, exitOK, search...)
	ingestCode(t, exitOK, "chart", "US", "--store", reader)
	if _, errs := ingestCode(t, 1, "run", "--force", "--region", "US", "--store", reader); !strings.Contains(errs, "let in by GRANT") {
		t.Errorf("a reader fetches: %s, want \"let in by GRANT\" in it", errs)
	}

	t.Run("a certificate of somebody else is called that", func(t *testing.T) {
		for _, bad := range []string{strings.Replace(url, "&sslrootcert="+authority, "", 1), strings.Replace(url, "127.0.0.1", "localhost", 1)} {
			for _, args := range [][]string{{"chart", "US", "--store", bad}, {"quota", "--ledger", bad}, {"doctor", "--json", "--ledger", bad}} {
				var out bytes.Buffer
				if code := program.Run(args, &out, &out, nil); code == exitOK && args[0] == "chart" || !strings.Contains(out.String(), "certificate is refused") {
					t.Errorf("ingest %s: exit %d, %s", strings.Join(args, " "), code, out.String())
				}
			}
		}
	})
	t.Run("a .pgpass that others can read is refused", func(t *testing.T) {
		passwords := filepath.Join(home, ".pgpass")
		if err := os.Chmod(passwords, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, errs := ingestCode(t, exitConfig, "chart", "US"); !strings.Contains(errs, "can be read by others: chmod 600") ||
			strings.Contains(errs, "correct-horse") {
			t.Error(errs)
		}
		ingestCode(t, exitOK, "chart", "US", "--store", reader, "--ledger", "sqlite", "--data", t.TempDir()) // a URL with a password in it
		if err := os.Chmod(passwords, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("serve keeps to its connections", func(t *testing.T) {
		served := startServe(t)
		served.until("it answers", func() bool { code, _ := served.get("livez"); return code == 200 })
		most := ""
		for range 20 {
			n := d.Admin(t, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'ingest'")
			if len(n) > len(most) || len(n) == len(most) && n > most {
				most = n
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Logf("serve holds %s connections", most)
		if len(most) > 2 || len(most) == 2 && most > "17" {
			t.Errorf("serve holds %s connections, docs/scale.md says 17", most)
		}
	})
	t.Run("the move", func(t *testing.T) {
		d.Admin(t, "DROP DATABASE ingest WITH (FORCE)")
		d.Admin(t, "CREATE DATABASE ingest OWNER ingest")
		t.Setenv("INGEST_DATA", filepath.Join(home, "moved"))
		t.Setenv("INGEST_CONFIG", os.DevNull)
		ingestCode(t, exitOK, "run", "--region", "US,GB", "--quiet")
		blocks := docBlocks(move, "sh")
		for i, b := range blocks {
			_, blocks[i], _ = strings.Cut(b, "\n") // the first line stops the units
		}
		if said := shell(t, append([]string{"exec 2>&1\n"}, blocks...)); strings.Contains(said, "was lost") {
			t.Errorf("nothing was lost, and it says %s", said)
		}
		ingestCode(t, exitOK, "chart", "US", "--store", url)
		ingestCode(t, exitOK, "quota", "take", "videos.list", "--ledger", url, "--store", url)
		if out, _ := ingestCode(t, exitOK, "quota", "--json", "--ledger", url, "--store", url, "--jq", ".pools[] | select(.pool == \"units\") | .windows[0].used"); out != "9\n" {
			t.Errorf("the ledger counts %s, want 9", out)
		}
	})
}

// docSection returns a section of a document.
func docSection(t *testing.T, file, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	_, section, found := strings.Cut(string(text), "\n## "+name+"\n")
	if !found {
		t.Fatalf("%s has no section %q: %v", file, name, err)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// docBlocks returns the blocks of a language.
func docBlocks(text, language string) (blocks []string) {
	for i, part := range strings.Split(text, "```"+language+"\n") {
		if block, _, ok := strings.Cut(part, "```"); ok && i > 0 {
			blocks = append(blocks, block)
		}
	}
	return blocks
}

func statements(block string) []string {
	return strings.Split(strings.TrimSuffix(strings.TrimSpace(block), ";"), ";")
}

// shell runs blocks as a person pastes them, and returns their output.
func shell(t *testing.T, blocks []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", strings.Join(blocks, ""))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s\n%v\n%s", cmd.Args[3], err, out)
	}
	return string(out)
}
