//go:build unix

package main_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// documented returns the one block of a language in a page of the documents.
func documented(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(here, "../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)\n```"+language+"\n(.*?)```").FindAllSubmatch(text, -1)
	if len(m) != 1 {
		t.Fatalf("docs/%s has %d blocks of %s, want 1", page, len(m), language)
	}
	return string(m[0][1])
}

// askedLimits posts a question, and returns the status.
func (d *served) askedLimits(question string) int {
	d.t.Helper()
	resp, err := http.Post(d.url+"v1/limits", "application/json", strings.NewReader(question))
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// Two serve on one Redis admit one limit together, to the programs of the documents as to a test.
func TestLongServesOnOneRedisAdmitOneLimit(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	redis := faulty.Redis(t)
	configured(t, "jobs: [{name: chart, kind: chart, every: 720h}]\napi: {limits: {1h: 60}, plans: {starter: {1h: 300}}, address: {1h: 90}, callers: [127.0.0.1]}\n")
	ledger := "redis://" + redis.Addr() + "/0"
	both := []*served{startServe(t, "--ledger", ledger), startServe(t, "--ledger", ledger)}
	for _, c := range []struct {
		question string
		limit    int
	}{
		{`{"client": "free"}`, 60}, {`{"client": "paying", "plan": "starter"}`, 300},
		{`{"client": "ann", "address": "192.0.2.1"}`, 60}, {`{"client": "bob", "plan": "starter", "address": "192.0.2.1"}`, 30}, // of one address
	} {
		admitted := 0
		for i := range c.limit + 40 {
			if both[i%2].askedLimits(c.question) == http.StatusOK {
				admitted++
			}
		}
		if admitted != c.limit {
			t.Errorf("%s: %d admitted, limit %d", c.question, admitted, c.limit)
		}
	}
	for _, c := range []struct{ language, interpreter, file string }{{"python", "python3", "ask.py"}, {"js", "node", "ask.mjs"}, {"php", "php", "ask.php"}} {
		t.Run(c.language, func(t *testing.T) {
			path, err := exec.LookPath(c.interpreter)
			if err != nil {
				t.Skipf("%s: not installed", c.interpreter)
			}
			client := "user of " + c.language
			file := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(documented(t, "limits.md", c.language), "user-7", client)), 0o600); err != nil {
				t.Fatal(err)
			}
			run := func(d *served) string {
				cmd := exec.Command(path, file)
				cmd.Env = append(os.Environ(), "LIMITS="+strings.TrimSuffix(d.url, "/"))
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				return strings.TrimSpace(string(out))
			}
			if got := run(both[0]); got != "0" {
				t.Errorf("the first is told to wait for %s s, want \"0\"", got)
			}
			for range 59 {
				both[1].askedLimits(`{"client": "` + client + `"}`)
			}
			var seconds int
			if got := run(both[1]); got == "0" {
				t.Errorf("the 61st of 60: got %s seconds to wait, want some", got)
			} else if _, err := fmt.Sscan(got, &seconds); err != nil || seconds < 3000 || seconds > 3600 {
				t.Errorf("it waits for %q s, of an hour, want at least 3000 and at most 3600", got)
			}
		})
	}
}

// The programs of docs/data.md read a store with any SQLite.
func TestOtherProgramsReadTheStore(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	configured(t, "jobs: [{name: chart, kind: chart, every: 720h, regions: [US]}]\n")
	ingestCode(t, 0, "run")
	chart := ingestJSON[struct{ Items []struct{ Title string } }](t, 0, "chart", "US", "--json")
	for _, c := range []struct {
		language, interpreter, file string
		lines                       int
	}{{"python", "python3", "chart.py", len(chart.Items)}, {"php", "php", "gained.php", 10}} {
		t.Run(c.language, func(t *testing.T) {
			path, err := exec.LookPath(c.interpreter)
			if err != nil {
				t.Skipf("%s: not installed", c.interpreter)
			}
			file := filepath.Join(t.TempDir(), c.file)
			text := strings.ReplaceAll(documented(t, "data.md", c.language), "86400", "31*86400") // the slot may be as old
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(path, file)
			cmd.Env = append(os.Environ(), "INGEST_DB="+filepath.Join(os.Getenv("INGEST_DATA"), "ingest.db"))
			out, err := cmd.CombinedOutput()
			if lines := len(regexp.MustCompile(`(?m)\t(\d+|None)$`).FindAll(out, -1)); err != nil || lines != c.lines ||
				c.language == "python" && !strings.Contains(string(out), chart.Items[0].Title) {
				t.Errorf("%v: %d lines, want %d:\n%s", err, lines, c.lines, out)
			}
		})
	}
}

// boundaries are programs that ask 50 times just before four seconds of the clock turn and 50 times just after, by the
// wait of the documents, and print how many were admitted and how many milliseconds it took.
var boundaries = map[string]string{
	"python3": `
import time
turn = (time.time() // 4 + 1) * 4
time.sleep(max(turn - 1 - time.time(), 0))
began = time.time()
admitted = [wait(CLIENT, plan="boundary") for _ in range(50)]
time.sleep(max(turn - time.time(), 0))
admitted += [wait(CLIENT, plan="boundary") for _ in range(50)]
print(admitted.count(0), int((time.time() - began) * 1000))
`,
	"node": `
const turn = (Math.floor(Date.now() / 4000) + 1) * 4000
const until = (t) => new Promise((go) => setTimeout(go, Math.max(t - Date.now(), 0)))
await until(turn - 1000)
const began = Date.now()
let admitted = 0
const ask = async () => { for (let i = 0; i < 50; i++) if (await wait(CLIENT, { plan: "boundary" }) === 0) admitted++ }
await ask()
await until(turn)
await ask()
console.log(admitted, Date.now() - began)
`,
}

// TestLongLimitsAreExactOverTwoServes: plans of 100 and 3,000 a minute, asked for as fast as two serve on one Redis answer;
// and a plan of 50, where a fixed window lets 100 in, asked for by programs in Python and JavaScript.
func TestLongLimitsAreExactOverTwoServes(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	redis := faulty.Redis(t)
	configured(t, "jobs: [{name: chart, kind: chart, every: 720h}]\napi: {plans: {free: {1m: 100}, starter: {1m: 3000}, boundary: {4s: 50}}, callers: [127.0.0.1]}\n")
	ledger := "redis://" + redis.Addr() + "/0"
	both := []*served{startServe(t, "--ledger", ledger), startServe(t, "--ledger", ledger)}
	for plan, limit := range map[string]int64{"free": 100, "starter": 3000} {
		var admitted atomic.Int64
		var asking sync.WaitGroup
		began := time.Now()
		for i := range 8 {
			asking.Go(func() {
				for range (limit + 160) / 8 {
					if both[i%2].askedLimits(`{"client": "of-`+plan+`", "plan": "`+plan+`"}`) == http.StatusOK {
						admitted.Add(1)
					}
				}
			})
		}
		asking.Wait()
		took := time.Since(began)
		t.Logf("%d a minute over two serve: %d of %d admitted in %v", limit, admitted.Load(), limit+160, took)
		if got := admitted.Load(); got < limit || got > limit && took < time.Minute {
			t.Errorf("plan %s: %d admitted in %v, limit %d", plan, got, took, limit)
		}
	}
	var asking sync.WaitGroup
	for interpreter, program := range boundaries {
		path, err := exec.LookPath(interpreter)
		if err != nil {
			t.Logf("%s: not installed, and not tried", interpreter)
			continue
		}
		language := map[string]string{"python3": "python", "node": "js"}[interpreter]
		asking.Go(func() {
			admitted, ms := 0, 4000
			for try := 0; ms >= 4000 && try < 10; try++ { // else the machine was too busy for one window
				client := fmt.Sprint(interpreter, try)
				file := filepath.Join(t.TempDir(), "ask.mjs")
				if err := os.WriteFile(file, []byte(documented(t, "limits.md", language)+strings.ReplaceAll(program, "CLIENT", `"`+client+`"`)), 0o600); err != nil {
					t.Error(err)
				}
				cmd := exec.Command(path, file)
				cmd.Env = append(os.Environ(), "LIMITS="+strings.TrimSuffix(both[try%2].url, "/"))
				out, err := cmd.CombinedOutput()
				lines := strings.Split(strings.TrimSpace(string(out)), "\n")
				if _, errScan := fmt.Sscan(lines[len(lines)-1], &admitted, &ms); err != nil || errScan != nil {
					t.Errorf("%s: %v: %s", interpreter, err, out)
					return
				}
			}
			t.Logf("%s asks 50 times before four seconds turn and 50 times after, in %d ms: %d admitted, limit 50", interpreter, ms, admitted)
			if ms < 4000 && admitted != 50 {
				t.Errorf("%s: %d admitted in %d ms, limit 50", interpreter, admitted, ms)
			}
		})
	}
	asking.Wait()
}

// debianProgram returns the path of a program that may be unpacked from its Debian package.
func debianProgram(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("sh", filepath.Join(here, "../../tools/debian-program.sh"), name).Output()
	if err != nil {
		t.Skipf("%s: not installed", name)
	}
	return strings.TrimSpace(string(out))
}

// limitedSite starts serve with limits for the clients of a site that knows nothing of limits, and the site.
func limitedSite(t *testing.T) (*served, string) {
	t.Helper()
	standIn(t, youtubesim.Options{Seed: 5})
	configured(t, "jobs: [{name: chart, kind: chart, every: 720h}]\napi: {limits: {1h: 10}, routes: [{name: search, match: GET /search, cost: 4}], callers: [127.0.0.1]}\n")
	d := startServe(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, "site ", r.URL.Path) }))
	t.Cleanup(site.Close)
	return d, site.URL
}

// wantLimited asks a site behind a proxy with ten units for each client; fields reports whether admitted requests show
// the rest.
func wantLimited(t *testing.T, fields bool, send func(r *http.Request, from string) (*http.Response, error)) {
	t.Helper()
	ask := func(method, target, from string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequest(method, "http://site"+target, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := send(r, from)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, _ := io.ReadAll(resp.Body)
		return resp, string(text)
	}
	for i, c := range []struct {
		method, target string
		want           int
	}{{"GET", "/search?q=a", 200}, {"GET", "/search", 200}, {"GET", "/search", 429}, {"POST", "/search", 200}, {"GET", "/other", 200}, {"GET", "/", 429}} {
		resp, text := ask(c.method, c.target, "127.0.0.7")
		t.Logf("%s: %s %s: %d", strings.TrimPrefix(t.Name(), "TestLongLimits"), c.method, c.target, resp.StatusCode)
		if retry := resp.Header.Get("Retry-After"); resp.StatusCode != c.want || (retry != "") != (c.want == 429) {
			t.Errorf("request %d: got %d, Retry-After %q, want %d: %q %v", i+1, resp.StatusCode, retry, c.want, text, resp.Header)
		}
		if want := "site " + strings.TrimSuffix(c.target, "?q=a"); c.want == 200 && text != want {
			t.Errorf("request %d: got %q, want %q", i+1, text, want)
		}
		if c.want == 200 && fields && resp.Header.Get("RateLimit") == "" {
			t.Errorf("request %d: got no RateLimit, want one: %v", i+1, resp.Header)
		}
	}
	if resp, _ := ask("GET", "/", "127.0.0.8"); resp.StatusCode != 200 {
		t.Errorf("another client gets %d, want 200", resp.StatusCode)
	}
}

// TestLongLimitsBehindNginx runs the nginx of the documents.
func TestLongLimitsBehindNginx(t *testing.T) {
	path := debianProgram(t, "nginx")
	d, site := limitedSite(t)
	dir := t.TempDir()
	socket := filepath.Join(dir, "nginx.sock")
	conf := strings.NewReplacer("http://127.0.0.1:8080/", d.url, "http://127.0.0.1:3000", site, "$remote_addr", "$http_x_test_address").Replace(documented(t, "limits.md", "nginx"))
	conf = "daemon off; master_process off; pid " + dir + "/pid; error_log stderr;\nevents {}\nhttp { access_log off;\n" +
		"client_body_temp_path " + dir + "/a; proxy_temp_path " + dir + "/b; fastcgi_temp_path " + dir + "/c; uwsgi_temp_path " + dir + "/d; scgi_temp_path " + dir + "/e;\n" +
		"server { listen unix:" + socket + ";\n" + conf + "} }\n"
	if err := os.WriteFile(dir+"/nginx.conf", []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	nginx := startCommand(t, exec.Command(path, "-p", dir, "-c", dir+"/nginx.conf"))
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	nginx.until("it listens", func() bool { _, err := os.Stat(socket); return err == nil })
	wantLimited(t, true, func(r *http.Request, from string) (*http.Response, error) {
		r.Header.Set("X-Test-Address", from)
		return client.Do(r)
	})
}

// TestLongLimitsBehindCaddy runs the Caddy of the documents. Each client has an address of its own, and forges another.
func TestLongLimitsBehindCaddy(t *testing.T) {
	path := debianProgram(t, "caddy")
	d, site := limitedSite(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir, addr := t.TempDir(), l.Addr().String()
	_ = l.Close()
	conf := strings.NewReplacer("127.0.0.1:8080", strings.Trim(d.url, "htp:/"), "127.0.0.1:3000", strings.TrimPrefix(site, "http://")).Replace(documented(t, "limits.md", "caddy"))
	conf = "{\nadmin off\n}\nhttp://:" + addr[strings.LastIndex(addr, ":")+1:] + " {\nbind 127.0.0.1\n" + conf + "}\n"
	if err := os.WriteFile(dir+"/Caddyfile", []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "run", "--adapter", "caddyfile", "--config", dir+"/Caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
	caddy := startCommand(t, cmd)
	dial := func(ctx context.Context, from string) (net.Conn, error) {
		return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(ctx, "tcp", addr)
	}
	caddy.until("it listens", func() bool {
		conn, err := dial(t.Context(), "127.0.0.1")
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	wantLimited(t, false, func(r *http.Request, from string) (*http.Response, error) {
		r.Header.Set("X-Forwarded-For", "203.0.113.9")
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, from) }}}
		return client.Do(r)
	})
}
