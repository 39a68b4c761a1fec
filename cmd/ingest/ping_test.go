package main_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

const pingSecret = "5f0c1b1e-very-secret-check"

// deadman is a dead man's switch that records what it was told.
type deadman struct {
	mu    sync.Mutex
	calls []pingCall
	delay time.Duration // before every answer
	code  int           // 0 is 200
}

type pingCall struct{ signal, rid, body string }

// startDeadman serves a switch, and passes its address to the program in a file.
func startDeadman(t *testing.T, d *deadman) {
	t.Helper()
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "ping.url")
	if err := os.WriteFile(path, []byte(server.URL+"/ping/"+pingSecret+"?create=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("INGEST_PING_URL_FILE", path)
}

func (d *deadman) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	d.mu.Lock()
	signal, ok := strings.CutPrefix(r.URL.Path, "/ping/"+pingSecret)
	if !ok || r.Method != http.MethodPost || r.URL.Query().Get("create") != "1" {
		signal = "wrong: " + r.Method + " " + r.URL.String()
	}
	d.calls = append(d.calls, pingCall{signal, r.URL.Query().Get("rid"), string(body)})
	delay, code := d.delay, d.code
	d.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-r.Context().Done():
	}
	if code != 0 {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(code)
	}
}

func (d *deadman) received() []pingCall {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]pingCall{}, d.calls...)
}

// checkSignals checks the signals of one run, their order and their run id.
func (d *deadman) checkSignals(t *testing.T, signals ...string) (last pingCall) {
	t.Helper()
	heard := d.received()
	var got []string
	for _, h := range heard {
		got = append(got, h.signal)
		if h.rid != heard[0].rid || !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(h.rid) {
			t.Errorf("run id %q: want one UUID of version 4 for the run", h.rid)
		}
	}
	if strings.Join(got, " ") != strings.Join(signals, " ") {
		t.Fatalf("the switch was told %q, want %q", got, signals)
	}
	return heard[len(heard)-1]
}

func hidesPing(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(text, "very-secret") {
			t.Errorf("the switch's address is shown: %s", text)
		}
	}
}

func TestPingTellsOfARunFromStartToEnd(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5})
	d := &deadman{}
	startDeadman(t, d)
	stdout, stderr := ingestCode(t, exitOK, "run")
	last := d.checkSignals(t, "/start", "/0")
	if !strings.Contains(last.body, "exit 0") || !strings.Contains(last.body, "DE") || !strings.HasPrefix(last.body, "ingest run on ") {
		t.Errorf("%s", last.body)
	}
	if n := sim.Ledger().Units["units"]; n != 32 {
		t.Errorf("%d units", n)
	}
	hidesPing(t, stdout, stderr)
}

func TestPingTakesADayStoppedByQuotaForAGoodOne(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	at(t, "2026-02-14T09:40:00Z")
	t.Setenv("INGEST_PACING", "off")
	t.Setenv("INGEST_COSTS", limits(t, "20"))
	d := &deadman{}
	startDeadman(t, d)
	ingestCode(t, exitStopped, "run")
	if last := d.checkSignals(t, "/start", "/log", "/0"); !strings.Contains(last.body, "exit 75") || !strings.Contains(last.body, "19 of 19 used") {
		t.Errorf("%s", last.body)
	}
}

func TestPingTellsOfFailure(t *testing.T) {
	tests := []struct {
		name string
		o    youtubesim.Options
		key  string
		code int
		body string
	}{
		{"a region fails", youtubesim.Options{Faults: []youtubesim.Fault{faultOf(t, "badtoken@1")}}, "", exitPartial, "failed"},
		{"the key is refused", youtubesim.Options{RequireKey: "another"}, "a-wrong-key", exitKey, "exit 77"},
	}
	for _, tt := range tests {
		standIn(t, tt.o)
		t.Setenv("INGEST_KEY", tt.key)
		d := &deadman{}
		startDeadman(t, d)
		_, stderr := ingestCode(t, tt.code, "run")
		last := d.checkSignals(t, "/start", fmt.Sprint("/", tt.code))
		if !strings.Contains(last.body, tt.body) || tt.key != "" && strings.Contains(last.body, tt.key) {
			t.Errorf("%s: %s", tt.name, last.body)
		}
		hidesPing(t, stderr)
	}
}

func faultOf(t *testing.T, text string) youtubesim.Fault {
	t.Helper()
	f, err := youtubesim.ParseFault(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A run that could not even be opened is reported as well.
func TestPingTellsOfAMissingKey(t *testing.T) {
	standIn(t, youtubesim.Options{})
	t.Setenv("INGEST_UPSTREAM_URL", "")
	d := &deadman{}
	startDeadman(t, d)
	ingestCode(t, exitKey, "run")
	if last := d.checkSignals(t, "/start", "/77"); !strings.Contains(last.body, "no API key") {
		t.Errorf("%s", last.body)
	}
	d.calls = nil
	ingestCode(t, exitKey, "serve")
	if last := d.checkSignals(t, "/fail"); !strings.Contains(last.body, "no API key") {
		t.Errorf("%s", last.body)
	}
}

func TestPingOfARunThatASignalEnds(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5, Latency: time.Minute})
	d := &deadman{delay: time.Minute}
	startDeadman(t, d)
	s := startProcess(t, "run")
	s.until("it called", func() bool { return len(sim.Log()) > 0 })
	if cmdline, err := os.ReadFile("/proc/self/cmdline"); err == nil {
		hidesPing(t, string(cmdline), strings.Join(s.cmd.Args, " "))
	}
	s.end(syscall.SIGTERM)
	d.checkSignals(t, "/start", "/143")
	hidesPing(t, s.stdout.String(), s.stderr.String())
}

func TestPingTellsHowServeGoes(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	d := &deadman{}
	startDeadman(t, d)
	s := startServe(t)
	s.until("the switch was told", func() bool { return len(d.received()) > 0 })
	if first := d.received()[0]; first.signal != "" || !strings.Contains(first.body, "well") || !strings.Contains(first.body, "nothing stale") {
		t.Errorf("%+v, want success, and only once the first round is done", first)
	}
	s.end(syscall.SIGTERM)
	hidesPing(t, s.stdout.String(), s.stderr.String())
}

func TestPingTellsThatServeIsClosed(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	ingestJSON[runDocument](t, exitOK, "run")
	for _, file := range []string{"quota.db", "quota.db-wal", "quota.db-shm"} {
		_ = os.Remove(filepath.Join(os.Getenv("INGEST_DATA"), file))
	}
	d := &deadman{}
	startDeadman(t, d)
	s := startServe(t)
	s.until("the switch was told", func() bool { return len(d.received()) > 0 })
	if first := d.received()[0]; first.signal != "/fail" || !strings.Contains(first.body, "ingest quota rebuild") {
		t.Errorf("%+v, want failure, and what to do", first)
	}
	s.end(syscall.SIGTERM)
}

func TestPingOfServeTakesStoppedForWell(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	at(t, "2026-02-14T09:40:00Z")
	ingestCode(t, exitOK, "quota", "post", "units", "9499")
	d := &deadman{}
	startDeadman(t, d)
	s := startServe(t)
	s.until("the switch was told of a stop", func() bool {
		heard := d.received()
		return len(heard) > 0 && strings.Contains(heard[len(heard)-1].body, "stopped by quota")
	})
	for _, h := range d.received() {
		if h.signal != "" && h.signal != "/log" { // of the threshold that was passed
			t.Errorf("%+v, want success", h)
		}
	}
	s.end(syscall.SIGTERM)
}

// TestThresholdsAreSentByRunAndByServe: once for both, to the webhook named in a file.
func TestThresholdsAreSentByRunAndByServe(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	at(t, "2026-02-14T09:40:00Z")
	d := &deadman{}
	startDeadman(t, d)
	t.Setenv("INGEST_WEBHOOK_URL_FILE", os.Getenv("INGEST_PING_URL_FILE"))
	t.Setenv("INGEST_PING_URL_FILE", "")
	ingestCode(t, exitOK, "quota", "post", "units", "7600")
	for range 2 {
		stdout, stderr := ingestCode(t, exitOK, "run")
		hidesPing(t, stdout, stderr)
	}
	quickHeart(t)
	s := startServe(t)
	s.until("it is ready", s.isReady)
	ingestCode(t, exitOK, "quota", "post", "units", "1500")
	s.until("the second threshold was sent", func() bool { return len(d.received()) >= 2 })
	heard := d.received()
	for i, percent := range []string{`"threshold_percent":80`, `"threshold_percent":95`} {
		if h := heard[i]; h.signal != "" || !strings.Contains(h.body, percent) || !strings.Contains(h.body, `"purpose":"scheduled"`) {
			t.Errorf("%+v, want %s", h, percent)
		}
	}
	if len(heard) != 2 {
		t.Errorf("sent %d times, want twice: %+v", len(heard), heard)
	}
	hidesPing(t, s.stderr.String())
}
