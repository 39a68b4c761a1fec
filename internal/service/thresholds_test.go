package service_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/service"
	"github.com/trendvidstream/ingest/quota"
)

var noon = time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)

// hook is a webhook that remembers what it was sent.
type hook struct {
	mu     sync.Mutex
	status int // of its answers; 0: 200
	sent   []service.Warning
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	var warning service.Warning
	if r.Method != http.MethodPost || r.URL.Path != "/hook/"+pingSecret || r.Header.Get("Content-Type") != "application/json" || json.Unmarshal(body, &warning) != nil {
		warning.Text = "wrong: " + r.Method + " " + r.URL.Path + " " + string(body)
	}
	h.sent = append(h.sent, warning)
	if h.status != 0 {
		w.WriteHeader(h.status)
	}
}

// wants compares the thresholds that were sent since it was last called.
func (h *hook) wants(t *testing.T, what string, percent ...int64) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var got []int64
	for _, w := range h.sent {
		got = append(got, w.Threshold)
		if !strings.HasPrefix(w.Text, "units: ") {
			t.Errorf("%s: sent %q", what, w.Text)
		}
	}
	if !slices.Equal(got, percent) {
		t.Errorf("%s: sent %v, want %v", what, got, percent)
	}
	h.sent = nil
}

// teller is a world that uses up a pool of 10,000 units, of which the schedule may use 9,500.
type teller struct {
	*hook

	t      *testing.T
	dir    string
	url    string
	now    time.Time
	check  *service.Pinger
	logged bytes.Buffer
}

func newTeller(t *testing.T) *teller {
	t.Helper()
	w := &teller{hook: &hook{}, t: t, dir: t.TempDir(), now: noon}
	server := httptest.NewServer(w.hook)
	t.Cleanup(server.Close)
	w.url = server.URL + "/hook/" + pingSecret
	return w
}

// report returns what a run sees when so many units are used, in a provider's day that ends at 08:00.
func (w *teller) report(used int64) quota.Report {
	turns := time.Date(2026, 2, 15, 8, 0, 30, 0, time.UTC)
	for !turns.After(w.now) {
		turns = turns.AddDate(0, 0, 1)
	}
	return quota.Report{At: w.now, Account: "default", Pools: []quota.PoolReport{{
		Pool: "units", Limit: 10_000, Ceilings: map[quota.Purpose]int64{quota.Scheduled: 9500},
		Windows: []quota.WindowState{
			{Window: quota.Window{Name: "24h", Length: 24 * time.Hour, Limit: 10_000}, Used: used / 2, FreesAt: w.now.Add(time.Hour)},
			{Window: quota.Window{Name: "day", Limit: 10_000}, Used: used, FreesAt: turns},
		},
	}}}
}

// run is one process that checks once.
func (w *teller) run(used int64) {
	log := slog.New(slog.NewTextHandler(&w.logged, nil))
	service.NewThresholds(w.dir, ingest.NewSecret(w.url), w.check, "test", func() time.Time { return w.now }, log).Check(w.t.Context(), w.report(used))
}

func TestEachThresholdIsSentOnceADayByOneShotRuns(t *testing.T) {
	w := newTeller(t)
	w.run(5699)
	w.wants(t, "59 %")
	w.run(5700)
	w.run(5800)
	w.wants(t, "60 %, twice", 60)
	w.run(9100)
	w.wants(t, "95 %: the highest that is passed", 95)
	w.run(7700)
	w.run(9500)
	w.wants(t, "again what was sent, or lies below it")
	w.now = w.now.AddDate(0, 0, 1)
	w.run(7600)
	w.wants(t, "the next day", 80)
	if w.logged.Len() > 0 {
		t.Errorf("it logged %s", w.logged.String())
	}
}

func TestAWarningSaysWhatAPersonNeeds(t *testing.T) {
	w := newTeller(t)
	w.run(7600)
	got := w.sent[0]
	want := "units: 80 % of what the schedule may use are passed: 7,600 of 9,500 in window day; more from 2026-02-15 08:00:30Z"
	if got.Text != want || got.Event != "quota_threshold" || got.Used != 7600 || got.Ceiling != 9500 || got.Purpose != quota.Scheduled || got.Account != "default" || !got.At.Equal(noon) || got.ResetsAt == nil {
		t.Errorf("%+v, want %s", got, want)
	}
}

func TestAClosedPoolIsUsedUp(t *testing.T) {
	w := newTeller(t)
	r := w.report(10)
	r.Pools[0].DrainedUntil = noon.Add(20 * time.Hour)
	service.NewThresholds(w.dir, ingest.NewSecret(w.url), nil, "test", func() time.Time { return w.now }, slog.New(slog.DiscardHandler)).Check(t.Context(), r)
	if len(w.sent) != 1 || w.sent[0].Threshold != 95 || !strings.HasSuffix(w.sent[0].Text, "; closed until 2026-02-15 08:00:00Z") {
		t.Errorf("%+v", w.sent)
	}
}

// TestWhatCouldNotBeToldIsTriedAgain: not at once by the next run, and never with the URL in the log.
func TestWhatCouldNotBeToldIsTriedAgain(t *testing.T) {
	w := newTeller(t)
	w.status = http.StatusBadGateway
	w.run(7600)
	w.run(7600)
	w.wants(t, "twice within a moment, and refused", 80)
	w.status, w.now = 0, w.now.Add(5*time.Minute)
	w.run(7600)
	w.now = w.now.Add(5 * time.Minute)
	w.run(7600)
	w.wants(t, "later, and heard", 80)
	w.url, w.dir = "http://127.0.0.1:1/hook/"+pingSecret, t.TempDir()
	w.run(7600)
	if n := strings.Count(w.logged.String(), "could not be sent"); n != 2 {
		t.Errorf("%d lines, want 2:\n%s", n, w.logged.String())
	}
	if strings.Contains(w.logged.String(), "very-secret") {
		t.Errorf("the address is shown: %s", w.logged.String())
	}
}

// A webhook that never answers leaves a file for each try: these go as well.
func TestTriesThatFailedAreForgotten(t *testing.T) {
	w := newTeller(t)
	w.status = http.StatusInternalServerError
	w.run(7_000)
	tries, err := filepath.Glob(filepath.Join(w.dir, "told", "*.try-*"))
	if err != nil || len(tries) == 0 {
		t.Fatal(tries, err)
	}
	old := time.Now().AddDate(0, 0, -3)
	for _, try := range tries {
		if err := os.Chtimes(try, old, old); err != nil {
			t.Fatal(err)
		}
	}
	w.now = w.now.AddDate(0, 0, 3)
	w.run(7_000)
	for _, try := range tries {
		if _, err := os.Stat(try); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", try, err)
		}
	}
}

func TestSeveralProcessesTellOnce(t *testing.T) {
	w := newTeller(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			service.NewThresholds(w.dir, ingest.NewSecret(w.url), nil, "test", func() time.Time { return w.now }, slog.New(slog.DiscardHandler)).Check(t.Context(), w.report(7600))
		})
	}
	all.Wait()
	w.wants(t, "eight at once", 80)
}

// TestTheSwitchHearsOfThresholdsAsOfAnEvent: that is not a failure of the check.
func TestTheSwitchHearsOfThresholdsAsOfAnEvent(t *testing.T) {
	d := &deadman{}
	w := newTeller(t)
	w.check = service.NewPinger(ingest.NewSecret(serveDeadman(t, d)), "test", slog.New(slog.DiscardHandler))
	w.run(7600)
	w.run(7600)
	w.wants(t, "the webhook beside it", 80)
	if heard := d.told(); !slices.Equal(heard, []string{"/log"}) || !strings.Contains(d.bodies[0], "80 % of what the schedule may use") {
		t.Errorf("the switch was told %q: %q", heard, d.bodies)
	}
}

// A webhook that hangs costs a run five seconds at most, and nothing once the run is to end.
func TestAWebhookThatHangsIsGivenUp(t *testing.T) {
	w := newTeller(t)
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
		<-r.Context().Done()
	}))
	defer hangs.Close()
	w.url = hangs.URL + "/hook/" + pingSecret
	began := time.Now()
	w.run(7600)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it held the run up for %v", took)
	}
	if !strings.Contains(w.logged.String(), "could not be sent") {
		t.Errorf("nothing is said of it: %s", w.logged.String())
	}
}

func TestNobodyIsToldWhereNothingIsConfigured(t *testing.T) {
	if none := service.NewThresholds(t.TempDir(), ingest.Secret{}, nil, "test", time.Now, nil); none != nil {
		t.Error("there is somebody to tell")
	} else {
		none.Check(t.Context(), quota.Report{})
	}
}
