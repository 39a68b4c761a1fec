package main_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// TestLongServeTellsItsHooks runs serve with a hook that takes each chart once, and another that answers 500: the charts come
// all the same, and /status shows the failing hook and not its address.
func TestLongServeTellsItsHooks(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	at(t, "2026-02-14T09:40:00Z")
	var mu sync.Mutex
	told := map[string]int{}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var event struct {
			Type string
			Data struct{ Region string }
		}
		if err := json.NewDecoder(r.Body).Decode(&event); err != nil || r.URL.Path != "/takes" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		told[event.Type+" "+event.Data.Region]++
	}))
	t.Cleanup(receiver.Close)
	secret := filepath.Join(t.TempDir(), "address")
	if err := os.WriteFile(secret, []byte(receiver.URL+"/hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	configured(t, "hooks:\n  - {name: takes, on: [chart.saved], post: \""+receiver.URL+"/takes\"}\n  - {name: fails, on: [chart.saved], post_file: "+secret+"}\n")
	d := startServe(t)
	d.until("all regions are fresh", d.isReady)
	d.until("the hook has eight charts", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(told) == 8
	})
	page := ""
	d.until("the page shows the failing hook", func() bool {
		_, page = d.get("status")
		return strings.Contains(page, "fails")
	})
	d.end(syscall.SIGTERM)
	for event, times := range told {
		if times != 1 {
			t.Errorf("%s was told %d times, want once", event, times)
		}
	}
	for from, text := range map[string]string{"the page": page, "the log": d.stderr.String(), "standard output": d.stdout.String()} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s shows the address of a hook:\n%s", from, text)
		}
	}
}
