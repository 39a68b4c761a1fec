package main_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

func TestServeWarnsWhereOthersCanReachIt(t *testing.T) {
	standIn(t, youtubesim.Options{})
	t.Setenv("INGEST_OWN_FRONT_END", "true")
	for address, warned := range map[string]int{"127.0.0.1:0": 0, "0.0.0.0:0": 1} {
		d := startServe(t, "--listen", address)
		d.end(syscall.SIGTERM)
		if n := strings.Count(d.stderr.String(), "other machines can reach"); n != warned {
			t.Errorf("--listen %s: %d warnings, want %d", address, n, warned)
		}
	}
}

func TestServeFetchesDueSlots(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5})
	at(t, "2026-02-14T09:40:00Z")
	d := startServe(t, "--json")
	d.until("all regions are fresh", d.isReady)
	if code, body := d.get("livez"); code != 200 || body != "ok\n" {
		t.Errorf("/livez: %d %q", code, body)
	}
	d.end(syscall.SIGTERM)
	if n := sim.Ledger().Units["units"]; n != 32 {
		t.Errorf("%d units, want 32", n)
	}
	sameCount(t, sim)
	var docs []slotEvent
	for dec := json.NewDecoder(strings.NewReader(d.stdout.String())); dec.More(); {
		var doc slotEvent
		if err := dec.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	if len(docs) != 9 { // eight regions and the refresh
		t.Errorf("%d events, want 9:\n%s", len(docs), d.stdout.String())
	}
	for _, doc := range docs {
		if doc.Outcome != "done" || doc.Job == "chart" && (doc.Units != 4 || doc.Region == "") {
			t.Errorf("%+v, want done, and a chart with 4 units and a region", doc)
		}
	}
	for _, want := range []string{"data=", "ledger=sqlite", "jobs=chart,refresh", "next=2026-02-14T09:41:15Z", "listen=http://127.0.0.1:"} {
		if line, _, _ := strings.Cut(d.stderr.String()[strings.Index(d.stderr.String(), `msg="ingest serves"`):], "\n"); !strings.Contains(line, want) {
			t.Errorf("the first line does not say %s: %s", want, line)
		}
	}
	if n := d.stderr.count("level=INFO msg=slot job=chart region="); n != 8 {
		t.Errorf("%d lines for eight regions, want 8\n%s", n, d.stderr.String())
	}
	for _, key := range []string{" slot=2026-02-14T", " outcome=done", " units=4", " took="} {
		if d.stderr.count(key) < 8 {
			t.Errorf("a line has no%s, want at least 8", key)
		}
	}
}

func TestAQuietServeSaysNothingWhileAllIsWell(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5})
	d := startProcess(t, "serve", "--quiet")
	d.until("all is fetched", func() bool { return len(sim.Log()) >= 32 })
	d.end(syscall.SIGTERM)
	if out, err := d.stdout.String(), d.stderr.String(); out != "" || err != "ingest: ended by signal: terminated\n" {
		t.Errorf("%q and %q", out, err)
	}
}

func TestTwoServesFetchEachSlotOnce(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5, Latency: 20 * time.Millisecond})
	at(t, "2026-02-14T09:40:00Z")
	a, b := startServe(t), startServe(t)
	a.until("it is ready", a.isReady)
	b.until("it is ready", b.isReady)
	a.end(syscall.SIGTERM)
	b.end(syscall.SIGTERM)
	if n := sim.Ledger().Units["units"]; n != 32 {
		t.Errorf("%d units, want 32: no page twice", n)
	}
	sameCount(t, sim)
	if one, two := a.stderr.count("outcome=done"), b.stderr.count("outcome=done"); one+two != 9 {
		t.Errorf("%d and %d slots were done, want 9 in all: one was done by both, or by none", one, two)
	}
}

func TestLongASignalEndsServeInTheMiddleOfAPass(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		sim, slow := slowStandIn(t)
		at(t, "2026-02-14T09:40:00Z")
		d := startServe(t)
		d.until("some pages came", func() bool { return len(sim.Log()) >= 6 })
		d.end(sig)
		slow.Store(0)
		ingestJSON[runDocument](t, exitOK, "run")
		sameCount(t, sim)
		if n := sim.Ledger().Units["units"]; n != 32 {
			t.Errorf("%v: %d pages were fetched in all, want 32", sig, n)
		}
		for _, s := range ingestJSON[struct{ Slots []slotDocument }](t, exitOK, "slots").Slots {
			if s.Outcome != "done" {
				t.Errorf("%v: %+v, want \"done\"", sig, s)
			}
		}
	}
}

// The upstream takes a minute over each call.
func TestLongAStopDoesNotWaitForASlowUpstream(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5, Latency: time.Minute})
	d := startServe(t)
	d.until("it called", func() bool { return len(sim.Log()) >= 4 })
	d.end(syscall.SIGTERM)
}

func TestASecondSignalKillsServe(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5, Latency: time.Minute})
	d := startServe(t)
	d.until("it called", func() bool { return len(sim.Log()) >= 4 })
	for ended := false; !ended; { // two that arrive at once are one
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-d.gone:
			ended = true
		case <-time.After(300 * time.Millisecond):
		}
	}
	if status, ok := d.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
		t.Errorf("%v: want it killed, not ended by itself", d.cmd.ProcessState)
	}
}

// upstreamAt serves h at an address of its own that outlives any one server there.
type upstreamAt struct {
	t       *testing.T
	address string
	server  *http.Server
}

func (u *upstreamAt) start(h http.Handler) {
	u.t.Helper()
	l, err := net.Listen("tcp", u.address)
	if err != nil {
		u.t.Fatal(err)
	}
	u.address, u.server = l.Addr().String(), &http.Server{Handler: h}
	go func() { _ = u.server.Serve(l) }()
	u.t.Cleanup(u.stop)
}

func (u *upstreamAt) stop() { _ = u.server.Close() }

func TestReadyzKnowsWhenRegionsAreStale(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5})
	up := &upstreamAt{t: t, address: "127.0.0.1:0"}
	up.start(sim)
	t.Setenv("INGEST_UPSTREAM_URL", "http://"+up.address+"/")
	at(t, "2026-02-14T09:40:00Z")
	ingestJSON[runDocument](t, exitOK, "run")
	up.stop()

	at(t, "2026-02-14T11:40:00Z")
	quickHeart(t)
	d := startServe(t)
	d.until("it has looked at the ledger", func() bool { return d.check("ledger").OK })
	if code, body := d.get("readyz"); code != 503 || !strings.Contains(body, "8 of 9 are stale: chart US (2 h") {
		t.Errorf("%d, want 503 for charts of two hours ago, every half hour:\n%s", code, body)
	}
	if code, _ := d.get("livez"); code != 200 {
		t.Errorf("/livez: %d with the upstream down, want 200", code)
	}
	_, body := d.get("freshness")
	var f report.Freshness
	if err := json.Unmarshal([]byte(body), &f); err != nil || len(f.Series) != 9 {
		t.Fatalf("%v\n%s", err, body)
	}
	for _, s := range f.Series[:8] {
		if !s.Stale || *s.AgeS < 7200 || s.IntervalS != 1800 || s.Slot == nil {
			t.Errorf("%+v, want it stale for two hours at least, with its slot", s)
		}
	}
	up.start(sim)
	d.until("the upstream is back and all is fresh", d.isReady)
	d.end(syscall.SIGTERM)
}

func TestALostLedgerKeepsServeWaiting(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	ingestJSON[runDocument](t, exitOK, "run")
	loseLedger()
	quickHeart(t)
	d := startServe(t)
	d.until("the heart has beaten a few times", func() bool { return d.check("ledger").Detail != "not asked yet" })
	if c := d.check("ledger"); c.OK || !strings.Contains(c.Detail, "ingest quota rebuild") {
		t.Errorf("%+v, want what to do", c)
	}
	if code, _ := d.get("livez"); code != 200 {
		t.Errorf("/livez: %d, want 200: a restart would not bring the ledger back", code)
	}
	ingestCode(t, exitUnavailable, "quota", "rebuild")
	ingestCode(t, exitOK, "quota", "post", "units", "32")
	d.until("the ledger is there again", d.isReady)
	d.end(syscall.SIGTERM)
	if n := d.stderr.count("quota.db is missing"); n < 1 || n > 2 { // a heart that beats while it is rebuilt sees the missing parts
		t.Errorf("%d lines about it, want 1, or 2 if one came during the rebuild", n)
	}
}

// dead returns an address where connections are accepted, dropped and counted.
func dead(t *testing.T) (address string, dials *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	dials = new(atomic.Int64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			dials.Add(1)
			_ = c.Close()
		}
	}()
	return l.Addr().String(), dials
}

func TestLongADeadLedgerKeepsServeRunning(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	address, dials := dead(t)
	configured(t, "jobs: [{name: chart, kind: chart, every: 720h}]\n") // with nothing due while the test looks
	d := startServe(t, "--ledger", "redis://:hunter2@"+address+"/0")
	d.until("it knows", func() bool { return strings.HasPrefix(d.check("ledger").Detail, "degraded") })
	if code, _ := d.get("livez"); code != 200 {
		t.Errorf("/livez: %d, want 200", code)
	}
	if d.isReady() {
		t.Error("/readyz without a ledger: got ready, want not ready")
	}
	d.until("what could go on has gone on", func() bool { return d.stderr.count("outcome=done") == 8 })
	time.Sleep(time.Second) // for the look behind it
	before := dials.Load()
	time.Sleep(3 * time.Second) // of a real heartbeat of 30
	if n := dials.Load() - before; n > 3 {
		t.Errorf("%d connections to a dead ledger in 3 s of rest, want at most 3", n)
	}
	d.end(syscall.SIGTERM)
	if strings.Contains(d.stderr.String(), "hunter2") {
		t.Errorf("the ledger's password is in the log: %s", d.stderr.String())
	}
}

func TestLongARefusedKeyIsTriedAgain(t *testing.T) {
	good, bad := new(youtubesim.Server), new(youtubesim.Server)
	for into, key := range map[**youtubesim.Server]string{&good: "the-key", &bad: "another-key"} {
		sim, err := youtubesim.New(youtubesim.Options{Seed: 5, RequireKey: key})
		if err != nil {
			t.Fatal(err)
		}
		*into = sim
	}
	var now atomic.Pointer[youtubesim.Server]
	now.Store(bad)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.Load().ServeHTTP(w, r) }))
	defer server.Close()
	t.Setenv("INGEST_UPSTREAM_URL", server.URL+"/")
	t.Setenv("INGEST_DATA", filepath.Join(t.TempDir(), "data"))
	t.Setenv("INGEST_KEY", "the-key")
	quickHeart(t)
	d := startServe(t)
	d.until("the key is refused", func() bool { return !d.check("key").OK })
	for _, s := range ingestJSON[struct{ Slots []slotDocument }](t, exitOK, "slots").Slots {
		if s.Region != "" && s.Outcome != "due" && s.Outcome != "claimed" {
			t.Errorf("%+v, want it due again", s)
		}
	}
	time.Sleep(time.Second) // five heartbeats
	if n := len(bad.Log()); n > 16 {
		t.Errorf("%d calls with a refused key: each one costs, want at most 16", n)
	}
	now.Store(good)
	d.until("the key is taken", d.isReady)
	if c := d.check("key"); !c.OK || c.Detail != "accepted" {
		t.Errorf("%+v, want ok, accepted", c)
	}
	d.end(syscall.SIGTERM)
	if n := d.stderr.count("nothing can be fetched now"); n != 1 {
		t.Errorf("%d lines about the key, want 1", n)
	}
	if strings.Contains(d.stderr.String(), "the-key") {
		t.Errorf("the key is in the log: %s", d.stderr.String())
	}
}

func TestATakenPortIsReportedBeforeAnythingStarts(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, stderr := ingestCode(t, exitError, "serve", "--listen", l.Addr().String())
	if !strings.Contains(stderr, "address already in use") || !strings.Contains(stderr, "Give another address") {
		t.Errorf("%s, want \"address already in use\" in it and \"Give another address\" in it", stderr)
	}
	if _, err := os.Stat(os.Getenv("INGEST_DATA")); err == nil || len(sim.Log()) > 0 {
		t.Errorf("something was started: %v, %d calls", err, len(sim.Log()))
	}
}

func TestAStoppedSlotIsToldOnce(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	at(t, "2026-02-14T09:40:00Z")
	t.Setenv("INGEST_PACING", "off")                        // paced, charts of one page fit
	ingestCode(t, exitOK, "quota", "post", "units", "9480") // of 9,500: the rest is not enough for eight regions
	quickHeart(t)
	d := startServe(t)
	d.until("the schedule has stopped", func() bool { return d.stderr.count("outcome=stopped") > 0 })
	time.Sleep(time.Second) // five more rounds
	d.end(syscall.SIGTERM)
	const event = `level=WARN msg="stopped by quota" outcome=stopped slots="chart `
	if n := d.stderr.count("outcome=stopped"); n != 1 || d.stderr.count(event) != 1 {
		t.Errorf("%d events of one stop:\n%s", n, d.stderr.String())
	}
}

// TestAdminHasAnAddressOfItsOwn: visitors get their own answers, and nothing else.
func TestAdminHasAnAddressOfItsOwn(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	t.Setenv("INGEST_ADMIN_LISTEN", "127.0.0.1:0")
	d := startServe(t)
	m := regexp.MustCompile(` admin=(\S+)`).FindStringSubmatch(d.stderr.String())
	if m == nil {
		t.Fatalf("it does not say where: %s", d.stderr.String())
	}
	admin := &served{t: t, url: m[1]}
	for _, path := range []string{"", "metrics", "readyz", "freshness", "status", "v1/quota", "livez"} {
		public, _ := d.get(path)
		if want := path == "v1/quota" || path == "livez"; want != (public == http.StatusOK) || !want && public != http.StatusNotFound {
			t.Errorf("/%s is answered with %d where visitors come", path, public)
		}
		if code, _ := admin.get(path); code == http.StatusNotFound {
			t.Errorf("/%s is not found at the admin's address", path)
		}
	}
	d.end(syscall.SIGTERM)
}
