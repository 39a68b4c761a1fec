package main_test

import (
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

// deadman is a dead man's switch that records its requests.
type deadman struct {
	mu    sync.Mutex
	calls []pingCall
	delay time.Duration // before every answer
}

type pingCall struct{ signal, rid, body string }

// startDeadman serves a switch, and passes its address to the program in a file.
func startDeadman(t *testing.T) *deadman {
	t.Helper()
	d := &deadman{}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "ping.url")
	if err := os.WriteFile(path, []byte(server.URL+"/ping/"+pingSecret+"?create=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("INGEST_PING_URL_FILE", path)
	return d
}

func (d *deadman) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	d.mu.Lock()
	signal, ok := strings.CutPrefix(r.URL.Path, "/ping/"+pingSecret)
	if !ok || r.Method != http.MethodPost || r.URL.Query().Get("create") != "1" {
		signal = "wrong: " + r.Method + " " + r.URL.String()
	}
	d.calls = append(d.calls, pingCall{signal, r.URL.Query().Get("rid"), string(body)})
	delay := d.delay
	d.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-r.Context().Done():
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

// A run pings the switch at its start and at its end, with its exit code: a day that is stopped by quota is a good
// one.
func TestPingTellsOfARunFromStartToEnd(t *testing.T) {
	for _, tt := range []struct {
		name    string
		o       youtubesim.Options
		env     map[string]string
		code    int
		signals string
		body    []string
	}{
		{"all is well", youtubesim.Options{}, nil, exitOK, "/start /0", []string{"ingest run on ", "exit 0", "DE"}},
		{"stopped by quota", youtubesim.Options{}, map[string]string{"INGEST_NOW": "2026-02-14T09:40:00Z", "INGEST_PACING": "off", "INGEST_COSTS": limits(t, "20")},
			exitStopped, "/start /0", []string{"exit 75", "all 19 units that"}},
		{"a region fails", youtubesim.Options{Faults: faultsOf(t, "badtoken@1")}, nil, exitPartial, "/start /3", []string{"failed"}},
		{"the key is refused", youtubesim.Options{RequireKey: "another"}, map[string]string{"INGEST_KEY": "a-very-secret-key"}, exitKey, "/start /77", []string{"exit 77"}},
		{"no key, so that nothing is opened", youtubesim.Options{}, map[string]string{"INGEST_UPSTREAM_URL": ""}, exitKey, "/start /77", []string{"no API key"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			standIn(t, tt.o)
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			d := startDeadman(t)
			stdout, stderr := ingestCode(t, tt.code, "run")
			last := d.checkSignals(t, strings.Fields(tt.signals)...)
			for _, want := range tt.body {
				if !strings.Contains(last.body, want) {
					t.Errorf("%q is not in: %s", want, last.body)
				}
			}
			hidesPing(t, stdout, stderr, last.body)
		})
	}
}

func TestLongPingOfARunThatASignalEnds(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5, Latency: time.Minute})
	d := startDeadman(t)
	d.delay = time.Minute
	s := startProcess(t, "run")
	s.until("it called", func() bool { return len(sim.Log()) > 0 })
	if cmdline, err := os.ReadFile("/proc/self/cmdline"); err == nil {
		hidesPing(t, string(cmdline), strings.Join(s.cmd.Args, " "))
	}
	s.end(syscall.SIGTERM)
	d.checkSignals(t, "/start", "/143")
	hidesPing(t, s.stdout.String(), s.stderr.String())
}

// Serve reports its state once its first round is done: success, also while it is stopped by quota; failure while its
// gate is closed, and what to do.
func TestLongPingTellsHowServeGoes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(t *testing.T)
		signal string
		body   string
	}{
		{"all is well", func(*testing.T) {}, "", "nothing stale"},
		{"the ledger is lost", func(t *testing.T) { t.Helper(); ingestCode(t, exitOK, "run"); loseLedger() }, "/fail", "ingest quota rebuild"},
		{"stopped by quota", func(t *testing.T) {
			t.Helper()
			at(t, "2026-02-14T09:40:00Z")
			ingestCode(t, exitOK, "quota", "post", "units", "9499")
		}, "", "stopped by quota"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			standIn(t, youtubesim.Options{Seed: 5})
			tt.before(t)
			d := startDeadman(t)
			s := startServe(t)
			s.until("the switch was told so", func() bool {
				heard := d.received()
				return len(heard) > 0 && strings.Contains(heard[len(heard)-1].body, tt.body)
			})
			for _, h := range d.received() {
				if h.signal != tt.signal {
					t.Errorf("%+v, want %q", h, tt.signal)
				}
			}
			s.end(syscall.SIGTERM)
			hidesPing(t, s.stdout.String(), s.stderr.String())
		})
	}
	standIn(t, youtubesim.Options{})
	t.Setenv("INGEST_UPSTREAM_URL", "")
	d := startDeadman(t)
	ingestCode(t, exitKey, "serve")
	if last := d.checkSignals(t, "/fail"); !strings.Contains(last.body, "no API key") {
		t.Errorf("%s, want \"no API key\" in it", last.body)
	}
}
