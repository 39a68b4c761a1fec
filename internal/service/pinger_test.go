package service_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/service"
)

const pingSecret = "5f0c1b1e-very-secret-check"

// deadman is a switch that remembers its requests.
type deadman struct {
	answer func(http.ResponseWriter, *http.Request) // nil: 200

	mu     sync.Mutex
	heard  []string
	bodies []string
}

func (d *deadman) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	d.mu.Lock()
	signal, ok := strings.CutPrefix(r.URL.Path, "/ping/"+pingSecret)
	if !ok || r.Method != http.MethodPost || r.URL.Query().Get("create") != "1" {
		signal = "wrong: " + r.Method + " " + r.URL.String()
	}
	d.heard, d.bodies = append(d.heard, signal), append(d.bodies, string(body))
	d.mu.Unlock()
	if d.answer != nil {
		d.answer(w, r)
	}
}

// told returns the requests so far.
func (d *deadman) told() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.heard)
}

// run is one run that pings address; it returns the log about it.
func run(t *testing.T, address, summary string) (logged string) {
	t.Helper()
	var log bytes.Buffer
	p := service.NewPinger(ingest.NewSecret(address), "test", "here", slog.New(slog.NewTextHandler(&log, nil)))
	p.BeginRun(t.Context())(0, summary)
	if strings.Contains(log.String(), "very-secret") {
		t.Errorf("the switch's address is shown: %s", log.String())
	}
	return log.String()
}

func serveDeadman(t *testing.T, d *deadman) (address string) {
	t.Helper()
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	return server.URL + "/ping/" + pingSecret + "?create=1"
}

func TestPingNeverHoldsUpARun(t *testing.T) {
	d := &deadman{answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}
	address := serveDeadman(t, d)
	began := time.Now()
	logged := run(t, address, "")
	if took := time.Since(began); took > 30*time.Second { // the promise is two; without it, it would never end
		t.Errorf("a switch that hangs held the run up: %v", took)
	}
	if strings.Count(logged, "dead man's switch") != 1 {
		t.Errorf("want one line about the switch:\n%s", logged)
	}
	if heard := d.told(); !slices.Equal(heard, []string{"/start", "/0"}) {
		t.Errorf("the switch was told %q, want a start and a 0", heard)
	}
}

func TestPingFailsNothingAndFollowsNothing(t *testing.T) {
	for _, code := range []int{301, 307, 404, 500} {
		d := &deadman{answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
		}}
		logged := run(t, serveDeadman(t, d), "")
		if want := []string{"/start", "/0"}; !slices.Equal(d.heard, want) {
			t.Errorf("%d: the switch was told %q, want %q", code, d.heard, want)
		}
		if strings.Count(logged, "dead man's switch") != 1 {
			t.Errorf("%d: want one line about the switch:\n%s", code, logged)
		}
	}
}

// An address without a listener, or one that drops the connection, or one that echoes the request, which is not HTTP.
func TestPingHidesTheUrlInErrors(t *testing.T) {
	for _, host := range []string{"127.0.0.1:1", answering(t, false), answering(t, true)} {
		if logged := run(t, "http://"+host+"/ping/"+pingSecret, ""); !strings.Contains(logged, "dead man's switch") {
			t.Errorf("%s: nothing is said of it: %s", host, logged)
		}
	}
}

// answering returns an address where a connection is closed, after it echoed the request if echo is set.
func answering(t *testing.T, echo bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	t.Cleanup(func() {
		_ = l.Close()
		<-gone
	})
	go func() {
		defer close(gone)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if echo {
				buf := make([]byte, 4096)
				n, _ := c.Read(buf)
				_, _ = c.Write(append(buf[:n:n], '\n'))
			}
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func TestASummaryIsCutBeforeTheSwitchCutsIt(t *testing.T) {
	d := &deadman{}
	run(t, serveDeadman(t, d), strings.Repeat("ü", 20_000))
	if body := d.bodies[len(d.bodies)-1]; len(body) > 10_000 || !strings.HasPrefix(body, "ingest run on ") || !strings.HasSuffix(body, "ü") {
		t.Errorf("%d bytes: %.40s, want at most 10,000, \"ingest run on \" at the beginning and \"ü\" at the end", len(body), body)
	}
}

func TestNoPingerPingsNothing(t *testing.T) {
	var none *service.Pinger
	none.BeginRun(t.Context())(0, "done")
}

// The same warning comes at every heartbeat, and is written once an hour.
func TestAWarningIsRepeatedOnceAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		log, _ := service.NewLogs(&text, false, service.LogFormat{})
		for range 240 { // two hours of heartbeats
			log.Warn("the ledger cannot answer")
			log.With("region", "US").Warn("the ledger cannot answer")
			time.Sleep(30 * time.Second)
		}
		if n := strings.Count(text.String(), "level=WARN"); n != 4 {
			t.Errorf("%d lines in two hours of two warnings, want 4:\n%s", n, text.String())
		}
	})
}
