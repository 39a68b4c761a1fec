package main_test

import (
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// ledgerTroubles are reasons why a ledger's server cannot be used, each with the messages about it.
var ledgerTroubles = []struct {
	name, url string // of the listener there
	serve     func(net.Conn)
	cause     string
	cure      string
}{
	{"a Cluster", "redis://", redisSays("MOVED 3999 10.0.0.1:6381"), "the server is part of a cluster", "use redis+cluster:// instead of redis:// in the ledger's URL"},
	{"a Cluster without a master", "redis://", redisSays("CLUSTERDOWN Hash slot not served"), "the cluster is down: some of its slots have no master", "see redis-cli cluster info"},
	{"no memory", "redis://", redisSays("OOM command not allowed when used memory > 'maxmemory'."), "the server is out of memory", "raise maxmemory, or remove the data that fill it"},
	{"a replica", "redis://", redisSays("READONLY You can't write against a read only replica."), "the server is a replica, which takes no writes", "name the master in the ledger's URL"},
	{"too few replicas", "redis://", redisSays("NOREPLICAS Not enough good replicas to write."), "the server has too few replicas to write", "lower min-replicas-to-write"},
	{"loading", "redis://", redisSays("LOADING Redis is loading the dataset in memory"), "the server is loading its data", "wait: it answers when it has loaded them"},
	{"no disk", "redis://", redisSays("MISCONF Redis is configured to save RDB snapshots"), "the server cannot save its data, and takes no writes", "free space on its disk"},
	{"another's script", "redis://", redisSays("BUSY Redis is busy running a script."), "the server is busy with another client's script", "redis-cli SCRIPT KILL ends it"},
	{"no password", "redis://", redisSays("NOAUTH Authentication required."), "user or password is refused", "check user and password in the ledger's URL"},
	{"a wrong password", "redis://", redisSays("WRONGPASS invalid username-password pair or user is disabled."), "user or password is refused", "check user and password in the ledger's URL"},
	{"a right that lacks", "redis://", redisSays("NOPERM User ingest has no permissions to run the 'evalsha' command"), "the user lacks some rights", "give it all rights of the line ACL SETUSER in docs/hosts.md"},
	{"a database that is not there", "redis://", redisSays("ERR DB index is out of range"), "the server does not have a database of that number", "use /0 in the ledger's URL"},
	{"too many clients", "redis://", redisSays("ERR max number of clients reached"), "the server has too many connections", "raise maxclients, or close some"},
	{"a command renamed", "redis://", redisSays("ERR unknown command 'EVALSHA', with args beginning with: 'x'"), "the server has renamed or disabled a command that the ledger needs", "remove its rename-command lines"},
	{"no listener", "redis://", nil, "nothing listens at the server's address", "check host and port in the ledger's URL"},
	{"silence, as under CLIENT PAUSE", "redis://", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, "the server does not answer within 500ms", "see that it runs and is not paused"},
	{"TLS where none is asked for", "redis://", func(c net.Conn) { _, _ = c.Read(make([]byte, 1)); _, _ = c.Write([]byte{21, 3, 1, 0, 2, 2, 70}) }, "the server speaks TLS there", "use rediss:// in the ledger's URL"},
	{"no TLS", "rediss://", redisSays("ERR"), "the server does not speak TLS there", "use redis:// in the ledger's URL"},
	{"an unknown authority", "rediss://", unknownAuthority, "the server's certificate is refused", "set SSL_CERT_FILE=FILE to the authority that signed it"},

	{"a pooler", "postgres://", postgresSays("08P01", "unsupported startup parameter"), "a pooler such as pgbouncer stands before it", "give the store PostgreSQL's own address"},
	{"a replica", "postgres://", postgresSays("25006", "cannot execute INSERT in a read-only transaction"), "it takes no writes: it is a replica, or read-only", "name the primary"},
	{"a wrong password", "postgres://", postgresSays("28P01", "password authentication failed"), "the user or the password is refused", "check user and password in the URL"},
	{"no such database", "postgres://", postgresSays("3D000", `database "x" does not exist`), "there is no such database", "create it with createdb NAME"},
	{"a right that lacks", "postgres://", postgresSays("42501", "permission denied for database x"), "the user lacks a right", "the ledger needs CREATE on the database once"},
	{"no disk", "postgres://", postgresSays("53100", "could not extend file"), "its disk is full", "free some space there"},
	{"too many connections", "postgres://", postgresSays("53300", "sorry, too many clients already"), "it has no connection left", "raise max_connections"},
	{"statement_timeout", "postgres://", postgresSays("57014", "canceling statement due to statement timeout"), "a statement was ended, by statement_timeout or by a person", "ALTER ROLE NAME SET statement_timeout"},
	{"starting", "postgres://", postgresSays("57P03", "the database system is starting up"), "it is being stopped or started", "the next call asks it again"},
	{"no listener", "postgres://", nil, "nothing listens there", "check host and port in the URL"},
}

// redisSays serves a connection on which each command gets the same error.
func redisSays(text string) func(net.Conn) {
	return func(c net.Conn) {
		in := make([]byte, 64<<10)
		for {
			n, err := c.Read(in)
			if err != nil {
				return
			}
			for range strings.Count("\n"+string(in[:n]), "\n*") {
				_, _ = fmt.Fprintf(c, "-%s\r\n", text)
			}
			if in[0] != '*' { // it speaks TLS to us
				_, _ = fmt.Fprintf(c, "-%s\r\n", text)
				return
			}
		}
	}
}

// postgresSays serves a connection that is refused with a SQLSTATE.
func postgresSays(code, text string) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = c.Read(make([]byte, 64<<10))
		fields := "SFATAL\x00VFATAL\x00C" + code + "\x00M" + text + "\x00\x00"
		_, _ = c.Write(append([]byte{'E', 0, 0, 0, byte(len(fields) + 4)}, fields...))
	}
}

var selfSigned *httptest.Server

// unknownAuthority forwards a connection to a server with an unknown certificate.
func unknownAuthority(c net.Conn) {
	there, err := net.Dial("tcp", selfSigned.Listener.Addr().String())
	if err != nil {
		return
	}
	defer func() { _ = there.Close() }()
	go func() { _, _ = io.Copy(there, c) }()
	_, _ = io.Copy(c, there)
}

// listenFor returns the URL of a server whose connections serve answers; nil: nothing listens.
func listenFor(t *testing.T, scheme string, serve func(net.Conn)) string {
	t.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", faulty.FreePort(t))
	if serve != nil {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() { serve(c); _ = c.Close() }()
			}
		}()
	}
	if scheme == "postgres://" {
		return scheme + "u:hunter2@" + address + "/x?sslmode=disable"
	}
	return scheme + address
}

const causesPage = "../../docs/causes.md"

// TestLongEachTroubleOfALedgerHasOneCauseAndCure: run, quota, slots, doctor, the status page and serve's log say the same
// cause and cure of each, end as docs/causes.md says, and never doubt whether anything was spent where nothing was.
func TestLongEachTroubleOfALedgerHasOneCauseAndCure(t *testing.T) {
	rows := ""
	for _, trouble := range ledgerTroubles {
		t.Run(trouble.url+" "+trouble.name, func(t *testing.T) {
			rows += sayTrouble(t, trouble.url, trouble.name, trouble.cause, trouble.cure, trouble.serve)
		})
	}
	page, err := os.ReadFile(causesPage)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(page), "\n| ledger")
	_, stores, _ := strings.Cut(string(page), "\n## ")
	want := head + "\n| ledger | trouble | cause | cure | run | quota | slots | doctor |\n|---|---|---|---|---|---|---|---|\n" + rows + "\n## " + stores
	if *update {
		if err := os.WriteFile(causesPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if string(page) != want && !t.Failed() {
		t.Errorf("docs/causes.md is not what is said: go test ./cmd/ingest -run %s -update\n%s", t.Name(), want)
	}
}

// TestATroubleOfALedgerHasOneCauseAndCure is the long one for two of the troubles.
func TestATroubleOfALedgerHasOneCauseAndCure(t *testing.T) {
	for _, trouble := range ledgerTroubles {
		if trouble.name == "no memory" || trouble.name == "too many connections" {
			sayTrouble(t, trouble.url, trouble.name, trouble.cause, trouble.cure, trouble.serve)
		}
	}
}

// sayTrouble returns a trouble's row of docs/causes.md.
func sayTrouble(t *testing.T, url, name, cause, cure string, serve func(net.Conn)) string {
	t.Helper()
	standIn(t, youtubesim.Options{Seed: 7})
	config := filepath.Join(t.TempDir(), "ingest.yaml")
	if err := os.WriteFile(config, []byte("jobs: [{name: chart, kind: chart, regions: [US], every: 30m}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("INGEST_CONFIG", config)
	if selfSigned == nil {
		selfSigned = httptest.NewUnstartedServer(nil)
		selfSigned.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		selfSigned.StartTLS()
	}
	t.Setenv("INGEST_LEDGER", listenFor(t, url, serve))
	check := func(mouth, said string) {
		t.Helper()
		said = strings.ToLower(strings.Join(strings.Fields(said), " "))
		for _, want := range []string{cause, cure} {
			if !strings.Contains(said, strings.ToLower(want)) {
				t.Errorf("%s%s: %s does not say %q:\n%s", url, name, mouth, want, said)
			}
		}
	}
	row := fmt.Sprintf("| %s | %s | %s | %s |", strings.TrimSuffix(url, "://"), name, cause, cure)
	for _, command := range []string{"run", "quota", "slots --region US", "doctor"} {
		code, said := ingestSays(strings.Fields(command)...)
		check(command, said)
		row += fmt.Sprintf(" %d |", code)
	}
	d := startServe(t)
	d.until("it has asked its ledger", func() bool { return strings.Contains(d.stderr.String(), cure) })
	check("the log", strings.ReplaceAll(d.stderr.String(), `\"`, `"`))
	d.until("its page says it", func() bool {
		_, page := d.get("/status")
		return strings.Contains(html.UnescapeString(page), cure)
	})
	_, page := d.get("/status")
	check("the page", html.UnescapeString(page))
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	<-d.gone
	return row + "\n"
}

// TestLongEachTroubleOfAStoreHasOneCauseAndCure is the same for the store: in a PostgreSQL it has the causes of the ledger there.
func TestLongEachTroubleOfAStoreHasOneCauseAndCure(t *testing.T) { sayTroublesOfAStore(t, "") }

// TestATroubleOfAStoreHasOneCauseAndCure is the long one for one of the troubles.
func TestATroubleOfAStoreHasOneCauseAndCure(t *testing.T) { sayTroublesOfAStore(t, "no disk") }

// serveSaysOfAStore returns the words of serve, by mouth, about a store that it cannot open: it begins and asks again where that
// may pass by itself, and refuses to start where a person must act.
func serveSaysOfAStore(t *testing.T, cure string, passes bool) map[string]string {
	t.Helper()
	if !passes {
		d := startProcess(t, "serve", "--listen", "127.0.0.1:0")
		select {
		case <-d.gone:
		case <-time.After(waitAtMost):
			t.Fatalf("serve still runs after %v", waitAtMost)
		}
		return map[string]string{"its end": d.stderr.String()}
	}
	d := startServe(t)
	d.until("it has asked its store", func() bool { return strings.Contains(d.stderr.String(), cure) })
	_, page := d.get("/status")
	_, ready := d.get("/readyz")
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	<-d.gone
	return map[string]string{"the log": strings.ReplaceAll(d.stderr.String(), `\"`, `"`), "the page": html.UnescapeString(page), "/readyz": ready}
}

// sayTroublesOfAStore compares the second table of docs/causes.md with the commands' words, or one named row of it.
func sayTroublesOfAStore(t *testing.T, only string) {
	t.Helper()
	standIn(t, youtubesim.Options{Seed: 7})
	page, err := os.ReadFile(causesPage)
	if err != nil {
		t.Fatal(err)
	}
	rows := ""
	for _, trouble := range ledgerTroubles {
		if trouble.url != "postgres://" || only != "" && trouble.name != only {
			continue
		}
		t.Setenv("INGEST_STORE", listenFor(t, trouble.url, trouble.serve))
		row, ended := fmt.Sprintf("| %s | %s | %s |", trouble.name, trouble.cause, trouble.cure), 0
		for _, command := range []string{"run", "quota", "slots --region US", "search x", "chart US", "doctor"} {
			code, said := ingestSays(strings.Fields(command)...)
			plain := strings.ToLower(strings.Join(strings.Fields(said), " "))
			for _, want := range []string{trouble.cause, trouble.cure} {
				if !strings.Contains(plain, strings.ToLower(want)) {
					t.Errorf("%s: %s does not say %q:\n%s", trouble.name, command, want, said)
				}
			}
			if strings.Contains(said, "hunter2") {
				t.Errorf("%s: %s shows the password:\n%s", trouble.name, command, said)
			}
			row, ended = row+fmt.Sprintf(" %d |", code), code
		}
		for mouth, said := range serveSaysOfAStore(t, trouble.cure, ended == exitUnavailable) {
			plain := strings.ToLower(said)
			for _, want := range []string{trouble.cure, trouble.cause} {
				if !strings.Contains(plain, strings.ToLower(want)) {
					t.Errorf("%s: %s: got this about the store, want %q:\n%s", trouble.name, mouth, want, said)
				}
			}
			for _, wrong := range []string{"ledger cannot be read", "ledger unreadable", "hunter2"} {
				if strings.Contains(plain, wrong) {
					t.Errorf("%s: %s: got %q, want none of it:\n%s", trouble.name, mouth, wrong, said)
				}
			}
		}
		if rows += row + "\n"; only != "" && !strings.Contains(string(page), row) {
			t.Errorf("docs/causes.md lacks\n%s", row)
		}
	}
	head, _, _ := strings.Cut(string(page), "\n| store's trouble")
	want := head + "\n| store's trouble | cause | cure | run | quota | slots | search | chart | doctor |\n|---|---|---|---|---|---|---|---|---|\n" + rows
	switch {
	case only != "":
	case *update:
		if err := os.WriteFile(causesPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	case string(page) != want && !t.Failed():
		t.Errorf("docs/causes.md is not what is said: go test ./cmd/ingest -run %s -update\n%s", t.Name(), want)
	}
}
