package hooks_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/hooks"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/storetest"
)

const (
	upstream = "127.0.0.1"
	signing  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
	password = "very-secret-path"
)

var noon = time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC)

// receiver is a web server that receives events.
type receiver struct {
	*httptest.Server
	answer func(n int) int // the status of the n-th request, from 1

	mu     sync.Mutex
	bodies []string
	ids    []string
	wrong  []string
}

func newReceiver(t *testing.T, answer func(n int) int) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	id, stamp := req.Header.Get("webhook-id"), req.Header.Get("webhook-timestamp")
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(signing, "whsec_"))
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, stamp, body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); req.Header.Get("webhook-signature") != want {
		r.wrong = append(r.wrong, fmt.Sprintf("signature %q of %s, want %q", req.Header.Get("webhook-signature"), id, want))
	}
	r.bodies, r.ids = append(r.bodies, string(body)), append(r.ids, id)
	w.WriteHeader(r.answer(len(r.bodies)))
}

// posted is a hook that posts to an address.
func posted(address string, key string) hooks.Hook {
	return hooks.Hook{Name: "posted", On: ingest.EventNames, Secrets: func() (ingest.Secret, ingest.Secret, error) {
		return ingest.NewSecret(address), ingest.NewSecret(key), nil
	}}
}

// world is a store with hooks, and their sender.
type world struct {
	*hooks.Sender
	store *store.Store
	clock time.Time
	log   bytes.Buffer
}

func newWorld(t *testing.T, all ...hooks.Hook) *world {
	t.Helper()
	w := &world{clock: noon}
	now := func() time.Time { return w.clock }
	wanted := map[string][]ingest.EventName{}
	for _, h := range all {
		wanted[h.Name] = h.On
	}
	var err error
	if w.store, err = store.Open(t.Context(), t.TempDir(), store.Options{Upstream: upstream, Now: now, Hooks: wanted}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.store.Close() })
	w.Sender = &hooks.Sender{Hooks: all, Store: w.store, Owner: "me", Died: func(string) bool { return false }, Now: now, Log: slog.New(slog.NewTextHandler(&w.log, nil)), Version: "test"}
	return w
}

// save saves n charts.
func (w *world) save(t *testing.T, n int) {
	t.Helper()
	for range n {
		w.clock = w.clock.Add(time.Hour)
		storetest.Chart(t, w.store, "US", w.clock, storetest.Page(storetest.Titled("a", "A <title>")))
	}
}

func (w *world) state(t *testing.T, name string) ingest.HookState {
	t.Helper()
	l, err := w.store.Latest(t.Context(), w.clock)
	if err != nil {
		t.Fatal(err)
	}
	return l.Hooks[name]
}

// The example of Standard Webhooks' own tests.
func TestSignaturesFollowStandardWebhooks(t *testing.T) {
	header := http.Header{}
	err := hooks.Sign(ingest.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), header, ingest.Event{Key: "msg_p5jXN8AQM9LWM0D4loKWxJek"},
		time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if got, want := header.Get("webhook-signature"), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for _, secret := range []string{"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_short", "whsec_" + strings.Repeat("A", 400)} {
		if err := hooks.Sign(ingest.NewSecret(secret), header, ingest.Event{}, noon, nil); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("the secret %s: %v", secret, err)
		}
	}
}

func TestAHookIsToldEachEventInOrderAndAgainUntilItTakesIt(t *testing.T) {
	r := newReceiver(t, func(n int) int {
		if n == 2 || n == 3 {
			return http.StatusInternalServerError
		}
		return http.StatusNoContent
	})
	w := newWorld(t, posted(r.URL+"/"+password, signing))
	w.save(t, 3)
	var pauses []time.Duration
	for range 3 {
		w.Send(t.Context())
		if h := w.state(t, "posted"); h.Tries > 0 {
			pauses = append(pauses, h.RetryAt.Sub(w.clock))
			if h.Why != "it answered 500 Internal Server Error" {
				t.Errorf("why: %q, want \"it answered 500 Internal Server Error\"", h.Why)
			}
			w.clock = h.RetryAt
		}
	}
	if len(r.bodies) != 5 || r.ids[1] != r.ids[2] || r.ids[2] != r.ids[3] || r.ids[0] == r.ids[1] || r.ids[3] == r.ids[4] {
		t.Fatalf("told %q of %q", r.ids, r.bodies)
	}
	if !slices.Equal(pauses, []time.Duration{5 * time.Second, 10 * time.Second}) {
		t.Errorf("the pauses were %v, want %v", pauses, []time.Duration{5 * time.Second, 10 * time.Second})
	}
	if len(r.wrong) > 0 {
		t.Error(r.wrong)
	}
	var body struct {
		Type string
		Data ingest.ChartChange
	}
	if err := json.Unmarshal([]byte(r.bodies[4]), &body); err != nil || body.Type != "chart.saved" || body.Data.Region != "US" ||
		!body.Data.DueAt.Equal(noon.Add(3*time.Hour)) {
		t.Errorf("the last message is %s, %v", r.bodies[4], err)
	}
	if strings.Contains(w.log.String(), password) || strings.Contains(w.log.String(), signing) {
		t.Errorf("a secret is in the log: %s", w.log.String())
	}
	if h := w.state(t, "posted"); h.Waiting+h.Tries != 0 {
		t.Errorf("at the end: %+v, want nothing waiting and no tries", h)
	}
}

// A hook that hangs holds up no other, and no save.
func TestAHookThatHangsHoldsUpNothing(t *testing.T) {
	hanging := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hanging }))
	defer slow.Close()
	defer close(hanging)
	fine := newReceiver(t, func(int) int { return http.StatusOK })
	hangs, works := posted(slow.URL+"/"+password, ""), posted(fine.URL, signing)
	hangs.Name, works.Name = "hangs", "works"
	w := newWorld(t, hangs, works)
	w.Within = 100 * time.Millisecond
	w.save(t, 2)
	w.Send(t.Context())
	if len(fine.bodies) != 2 {
		t.Errorf("the other hook was told %d of 2 events, want 2", len(fine.bodies))
	}
	if h := w.state(t, "hangs"); h.Tries != 1 || h.Waiting != 2 || h.Why != "it took too long" {
		t.Errorf("the hook that hangs: %+v, want 1, 2 and \"it took too long\"", h)
	}
	w.save(t, 1)
	if strings.Contains(w.log.String(), password) {
		t.Errorf("a secret is in the log: %s", w.log.String())
	}
}

// script writes a program of the shell.
func script(t *testing.T, text string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("shell: none on Windows")
	}
	path := filepath.Join(t.TempDir(), "hook")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAProgramHasABareEnvironmentAndTheMessageAsInput(t *testing.T) {
	t.Setenv("INGEST_KEY", "AIzaSecretSecretSecretSecretSecretSecre")
	out := filepath.Join(t.TempDir(), "out")
	w := newWorld(t, hooks.Hook{Name: "run", On: ingest.EventNames, Run: script(t, "{ cat; echo; env; pwd; } >"+out+"\n")})
	w.save(t, 1)
	w.Send(t.Context())
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err, w.log.String())
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if !strings.HasPrefix(lines[0], `{"type":"chart.saved","timestamp":"`) {
		t.Errorf("the input is %s, want \"{\\\"type\\\":\\\"chart.saved\\\",\\\"timestamp\\\":\\\"\" at the beginning", lines[0])
	}
	for _, line := range lines[1:] {
		name, _, _ := strings.Cut(line, "=")
		if !slices.Contains([]string{"PATH", "LANG", "INGEST_EVENT", "INGEST_EVENT_ID", "PWD", "OLDPWD", "SHLVL", "_", "/"}, name) {
			t.Errorf("the environment has %s", line)
		}
	}
}

func TestAProgramThatHangsIsKilledWithItsChildren(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, hooks.Hook{Name: "run", On: ingest.EventNames, Run: script(t, "sh -c 'echo $$ >"+dir+"/child; exec sleep 600' &\nwait\n")})
	w.Within = 2 * time.Second
	w.save(t, 1)
	w.Send(t.Context())
	if h := w.state(t, "run"); h.Why != "it took too long" {
		t.Errorf("the hook: %+v, want \"it took too long\"", h)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	stat := "/proc/" + strings.TrimSpace(string(pid)) + "/stat"
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		text, err := os.ReadFile(stat)
		if errors.Is(err, os.ErrNotExist) || strings.Contains(string(text), ") Z") {
			return
		}
		runtime.Gosched()
	}
	t.Error("the hook's child: got alive, want it ended with the hook")
}

func TestAProgramThatFailsIsTriedAgain(t *testing.T) {
	once := filepath.Join(t.TempDir(), "once")
	w := newWorld(t, hooks.Hook{Name: "run", On: ingest.EventNames, Run: script(t, "test -e "+once+" || { touch "+once+"; exit 3; }\n")})
	w.save(t, 1)
	w.Send(t.Context())
	if h := w.state(t, "run"); h.Tries != 1 || h.Why != "exit status 3" {
		t.Errorf("after the failure: %+v, want 1 and \"exit status 3\"", h)
	}
	w.clock = w.clock.Add(time.Minute)
	if w.Send(t.Context()); w.state(t, "run").Waiting != 0 {
		t.Errorf("a minute later %d events wait, want 0", w.state(t, "run").Waiting)
	}
}
