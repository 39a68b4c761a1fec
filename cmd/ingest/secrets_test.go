//go:build linux

package main_test

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	program "github.com/trendvidstream/ingest/cmd/ingest"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// secrets are values that a user hands to the program and that it never shows, each with a canary of its own. watch
// sees a piece of any of them.
type secrets struct {
	canary

	apiKey, store, ledger, ping, token, proxy, others, hook, sign string
}

func newSecrets() secrets {
	s := secrets{}
	for name, secret := range map[string]*string{
		"the API key": &s.apiKey, "the store's password": &s.store, "the ledger's password": &s.ledger, "the ping's address": &s.ping,
		"a client's token": &s.token, "the proxy's password": &s.proxy, "a library's variable": &s.others,
		"a hook's address": &s.hook, "a hook's secret": &s.sign,
	} {
		c := newCanary(unlike)
		*secret = c.key
		for _, n := range c.needles {
			s.needles = append(s.needles, needle{name + ", " + n.form, n.text})
		}
	}
	return s
}

// librariesRead are variables that linked libraries, and clients of the same servers, read secrets from.
var librariesRead = []string{
	"PGPASSWORD", "PGSERVICE", "PGUSER", "PGAPPNAME", "PGSSLPASSWORD", "PGOPTIONS", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_QUOTA_PROJECT",
	"GOOGLE_CLOUD_UNIVERSE_DOMAIN", "S2A_ACCESS_TOKEN", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_RESOURCE_ATTRIBUTES", "GRPC_GCP_OBSERVABILITY_CONFIG",
	"GRPC_XDS_BOOTSTRAP_CONFIG", "REDISCLI_AUTH", "DATABASE_URL", "REDIS_URL",
}

// plight is a world where the secrets are used, and something is wrong in it.
type plight struct {
	name                string
	base, ledger, store string // URLs
	config              string // before the rest of it
	https               string // HTTPS_PROXY
	spoil               func(t *testing.T, h *home)
}

// plights returns all worlds. A peer that repeats its requests is the worst of its kind.
func plights(t *testing.T, s secrets) []plight {
	t.Helper()
	sim, err := youtubesim.New(youtubesim.Options{Seed: 3, RequireKey: s.apiKey})
	if err != nil {
		t.Fatal(err)
	}
	up := serveHazard(t, "upstream", sim)
	echo := serveHazard(t, "echo", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `{"error":{"code":403,"message":"%[1]s","errors":[{"reason":"%[1]s","message":"%[1]s"}]}}`, r.Header.Get("X-Goog-Api-Key"))
	}))
	closed := "127.0.0.1:1"
	redis := func(at string) string { return "redis://user:" + s.ledger + "@" + at + "/0?timeout=100ms" }
	postgres := func(password, at, more string) string {
		return "postgres://me:" + password + "@" + at + "/db?connect_timeout=1" + more
	}
	web := listen(t, func(c net.Conn) {
		text := make([]byte, 4096)
		n, _ := c.Read(text)
		_, _ = fmt.Fprintf(c, "HTTP/1.1 400 %q\r\n\r\n%s", text[:n], text[:n])
	})
	nobody := httptest.NewUnstartedServer(http.NotFoundHandler())
	nobody.Config.ErrorLog = quietLog()
	nobody.StartTLS()
	t.Cleanup(nobody.Close)
	secure := strings.TrimPrefix(nobody.URL, "https://")
	all := []plight{
		{name: "all is well", base: up.base},
		{name: "the upstream is away", base: "http://" + closed + "/"},
		{name: "the upstream repeats the key", base: echo.base},
		{name: "the ledger is away", base: up.base, ledger: redis(closed)},
		{name: "the ledger repeats its password", base: up.base, ledger: redis(echoingRedis(t))},
		{name: "the ledger's port is another server's", base: up.base, ledger: redis(web)},
		{name: "the ledger has a certificate of nobody", base: up.base, ledger: strings.Replace(redis(secure), "redis:", "rediss:", 1)},
		{name: "the ledger is a PostgreSQL that repeats its password", base: up.base, ledger: postgres(s.ledger, echoingPostgres(t), "&sslmode=disable")},
		{name: "the store is away", base: up.base, store: postgres(s.store, closed, "")},
		{name: "the store repeats its password", base: up.base, store: postgres(s.store, echoingPostgres(t), "&sslmode=disable"), ledger: redis(closed)},
		{name: "the store's port is another server's", base: up.base, store: postgres(s.store, web, "")},
		{name: "the store has no such certificate", base: up.base, store: postgres(s.store, closed, "&sslmode=verify-full&sslrootcert=/nowhere/"+"ca.crt")},
		{name: "the config is wrong beside its secrets", base: up.base, config: "ledger: " + redis(closed) + "\nstore: [" + postgres(s.store, closed, "") + "\n"},
		{name: "a setting has no such name", base: up.base, config: "ledgers: " + redis(closed) + "\nclient: {" + s.token + ": {}}\n"},
		{name: "quota.db is damaged", base: up.base, spoil: func(t *testing.T, h *home) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(h.data(), ledgerFile), []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "the proxy repeats its password", base: "https://stand-in.invalid/", https: "http://me:" + s.proxy + "@" + web},
	}
	return all
}

// echoingRedis is a server that refuses every command with its own words, as no Redis does.
func echoingRedis(t *testing.T) (addr string) {
	t.Helper()
	return listen(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		for {
			words, err := redisCommand(in)
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(c, "-ERR cannot do %s\r\n", strings.Join(words, " "))
		}
	})
}

// redisCommand reads an array of strings.
func redisCommand(in *bufio.Reader) (words []string, err error) {
	count := func(mark string) (n int, err error) {
		line, err := in.ReadString('\n')
		if err == nil {
			n, err = strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, mark)))
		}
		return n, err
	}
	n, err := count("*")
	for ; err == nil && n > 0; n-- {
		var size int
		if size, err = count("$"); err == nil {
			text := make([]byte, size+2)
			_, err = io.ReadFull(in, text)
			words = append(words, strings.TrimSpace(string(text)))
		}
	}
	return words, err
}

// echoingPostgres is a server that asks for the password in clear and repeats it in its refusal, in each field that is
// shown.
func echoingPostgres(t *testing.T) (addr string) {
	t.Helper()
	return listen(t, func(c net.Conn) {
		startup := make([]byte, 4)
		if _, err := io.ReadFull(c, startup); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(startup))-4); err != nil {
			return
		}
		_, _ = c.Write([]byte("R\x00\x00\x00\x08\x00\x00\x00\x03")) // in clear
		head := make([]byte, 5)
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		password := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(c, password); err != nil {
			return
		}
		said := strings.TrimRight(string(password), "\x00")
		fields := "SFATAL\x00VFATAL\x00C28P01\x00Mno user with " + said + "\x00D" + said + "\x00Htry another than " + said + "\x00\x00"
		_, _ = c.Write(append(binary.BigEndian.AppendUint32([]byte("E"), uint32(len(fields)+4)), fields...))
	})
}

// env returns the variables of a command in that world, which find every secret in one of the places for it.
func (p plight) env(h *home, s secrets, i int) map[string]string {
	config := p.config
	env := map[string]string{"INGEST_KEY": "", "INGEST_KEY_FILE": "", "INGEST_LEDGER": "", "INGEST_STORE": "", "INGEST_PING_URL": "", "INGEST_PING_URL_FILE": ""}
	if i%2 == 0 {
		env["INGEST_KEY"], env["INGEST_LEDGER"], env["INGEST_STORE"] = s.apiKey, p.ledger, p.store
		env["INGEST_PING_URL"] = "http://127.0.0.1:1/ping/" + s.ping
	} else {
		env["INGEST_KEY_FILE"], env["INGEST_PING_URL_FILE"] = h.secret("key", s.apiKey, 0o600), h.secret("ping", h.ping+s.ping, 0o600)
		for name, url := range map[string]string{"ledger": p.ledger, "store": p.store} {
			if url != "" {
				config += fmt.Sprintf("%s: %q\n", name, url)
			}
		}
	}
	for _, name := range librariesRead {
		env[name] = s.others
	}
	if p.https != "" {
		env["HTTPS_PROXY"], env["HTTP_PROXY"] = p.https, p.https
	}
	config += fmt.Sprintf("clients: {tool: {token_sha256: %064x, limits: {units: {24h: 5}}}}\n", i)
	config += fmt.Sprintf("hooks: [{on: [chart.saved, series.stale, quota.threshold, backfill.ended], post_file: %q, secret_file: %q}]\n",
		h.secret("hook", h.ping+"hooks/"+s.hook, 0o600),
		h.secret("sign", "whsec_"+base64.StdEncoding.EncodeToString([]byte(s.sign)), 0o600))
	env["INGEST_CONFIG"] = h.secret("ingest.yaml", config+canaryConfig, 0o600)
	g := handed{env: env}
	return h.env(g)
}

// No byte of any output, log, file, metric or page, nor of a command line, holds any secret that a user hands over,
// whatever the command and whatever is wrong.
func TestNoSecretIsShown(t *testing.T) { noSecretIsShown(t, share{of: 11}) }

func TestLongNoSecretIsShown(t *testing.T) { noSecretIsShown(t, longShare(t)) }

// noSecretIsShown runs some of the pairs of a command and a world.
func noSecretIsShown(t *testing.T, pairs share) {
	t.Helper()
	s := newSecrets()
	worlds := plights(t, s)
	ping := serveHazard(t, "the dead man's switch", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.URL.Path, http.StatusTeapot)
	}))
	var wait sync.WaitGroup
	few := make(chan struct{}, 4)
	runs, processes := 0, 0
	var homes []*home
	for i, world := range worlds {
		h := newHome(t, s.apiKey, world.base)
		h.ping = ping.base
		homes = append(homes, h)
		if world.spoil != nil {
			_ = os.MkdirAll(h.data(), 0o700)
			world.spoil(t, h)
		}
		for j, path := range commands() {
			r := canaryRows[path]
			if !pairs.has(i+j) || r.alone && i > 0 || r.slow || path == "ingest simulate" {
				continue
			}
			args, env := r.args[i%len(r.args)], world.env(h, s, i+j)
			where := "ingest " + strings.Join(args, " ") + ", " + world.name
			if r.child || world.https != "" {
				if pairs.of > 4 && path != "ingest run" {
					continue
				}
				own := newHome(t, s.apiKey, world.base)
				own.ping = ping.base
				homes = append(homes, own)
				env = world.env(own, s, i+j)
				processes++
				wait.Go(func() {
					few <- struct{}{}
					defer func() { <-few }()
					s.process(own, where, env, args)
				})
				continue
			}
			for name, value := range env {
				t.Setenv(name, value)
			}
			var out, messages strings.Builder
			program.Run(h.args(args, handed{}), &out, &messages, nil)
			s.watch(t, where+": standard output", []byte(out.String()))
			s.watch(t, where+": standard error", []byte(messages.String()))
			runs++
		}
	}
	wait.Wait()
	files := 0
	for _, h := range homes {
		files += s.watchFiles(t, h.dir, h.dir)
	}
	t.Logf("%d secrets x %d commands x %d worlds: %d runs in process, %d processes, %d files: no piece of any", 9, len(commands()), len(worlds), runs, processes, files)
}

// process runs a command as a process of its own, looks at all that it shows to others, and ends it.
func (s secrets) process(h *home, where string, env map[string]string, args []string) {
	work := (*home).waits
	switch args[0] {
	case "serve":
		work = (*home).asks
	case "gateway":
		work = (*home).stops
	}
	p := h.start(s.canary, way{give: func(*home) handed { return handed{env: env} }}, hazard{name: where}, args)
	s.watchChildren(h.t, where, p.cmd.Process.Pid)
	work(h, p)
	p.end()
}

// watchChildren looks at the public facts of the processes that one has started, and at their variables: the program
// starts none.
func (s secrets) watchChildren(t *testing.T, where string, parent int) {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		text, _ := os.ReadFile(path)
		_, after, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(after); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			t.Errorf("%s: it has started %s", where, text)
		}
	}
}
