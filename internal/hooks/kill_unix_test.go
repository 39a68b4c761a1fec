//go:build unix

package hooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/hooks"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/pgstore"
)

// The variables for the process that the test kills.
const (
	killedAt   = "INGEST_TEST_HOOKS_STORE"   // a data directory or a URL
	killedTell = "INGEST_TEST_HOOKS_ADDRESS" // of the hook
)

func TestMain(m *testing.M) {
	if os.Getenv(killedAt) != "" {
		if err := saveAndSendUntilKilled(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func openAny(ctx context.Context, at string, o store.Options) (*store.Store, error) {
	if strings.HasPrefix(at, "postgres") {
		return pgstore.Open(ctx, at, o)
	}
	return store.Open(ctx, at, o)
}

var killedHook = posted("", "")

// saveAndSendUntilKilled saves charts, each with its number as its region's due time, and tells the hook beside. Each third
// save is one that another run has taken over, so that it is rolled back.
func saveAndSendUntilKilled() error {
	ctx := context.Background()
	s, err := openAny(ctx, os.Getenv(killedAt), store.Options{Upstream: upstream, Hooks: map[string][]ingest.EventName{killedHook.Name: killedHook.On}})
	if err != nil {
		return err
	}
	hook := posted(os.Getenv(killedTell), signing)
	log := slog.New(slog.DiscardHandler)
	began := time.Now()
	fast := func() time.Time { return began.Add(1000 * time.Since(began)) } // pauses are short
	sender := &hooks.Sender{Hooks: []hooks.Hook{hook}, Store: s, Owner: config.RunName(), Died: config.RunDied, Now: fast, Log: log, Version: "test"}
	go func() {
		for {
			sender.Send(ctx)
			time.Sleep(time.Millisecond)
		}
	}()
	me := config.RunName()
	for {
		l, err := s.Newest(ctx, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
		if err != nil {
			return err
		}
		due := noon
		if newest, ok := l[ingest.Series{Job: "chart", Key: "US"}]; ok {
			due = newest.Add(time.Minute)
		}
		if err := s.AddDue(ctx, []ingest.Slot{{SlotKey: ingest.SlotKey{Job: "chart", Key: "US", DueAt: due}, Kind: ingest.KindChart, State: ingest.Due}}); err != nil {
			return err
		}
		if err := s.ReleaseDead(ctx, time.Now(), config.RunDied); err != nil {
			return err
		}
		slot, ok, err := s.Claim(ctx, ingest.Claim{Owner: me, Now: time.Now(), Lease: time.Minute})
		if err != nil || !ok {
			return fmt.Errorf("nothing to claim: %w", err)
		}
		lost := slot
		lost.Owner, lost.Pages, lost.State = "another", 1, ingest.Done
		if _, err := s.SavePage(ctx, lost, ingest.Page{Videos: []ingest.Video{{ID: "rolled back", Title: "x"}}}); !errors.Is(err, ingest.ErrFenced) {
			return fmt.Errorf("a lost slot was saved: %w", err)
		}
		slot.Pages, slot.State = 1, ingest.Done
		if _, err := s.SavePage(ctx, slot, ingest.Page{Videos: []ingest.Video{{ID: fmt.Sprint("v", due.Unix()), Title: "x"}}}); err != nil {
			return err
		}
	}
}

// killed kills processes that save and send, at random moments, and compares the messages with the commits: each at least once, in order, and nothing else.
func killed(t *testing.T, at string, kills int) {
	var mu sync.Mutex
	var first []time.Time // by when each was first heard of
	times, repeats := map[time.Time]int{}, 0
	lost := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if rand.IntN(3) == 0 { // the process is killed before it is heard
			select {
			case lost <- struct{}{}:
				<-r.Context().Done()
			case <-time.After(time.Millisecond):
			}
			panic(http.ErrAbortHandler)
		}
		var m struct{ Data ingest.ChartChange }
		if err := json.Unmarshal(body, &m); err != nil {
			return // cut off by a kill
		}
		mu.Lock()
		defer mu.Unlock()
		if times[m.Data.DueAt]++; times[m.Data.DueAt] > 1 {
			repeats++
			return
		}
		first = append(first, m.Data.DueAt)
	}))
	defer server.Close()
	start := func() (*exec.Cmd, *bytes.Buffer) {
		cmd, said := exec.CommandContext(t.Context(), os.Args[0]), new(bytes.Buffer)
		cmd.Env, cmd.Stderr = append(os.Environ(), killedAt+"="+at, killedTell+"="+server.URL), said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, said
	}
	heard := func() int { mu.Lock(); defer mu.Unlock(); return len(first) }
	for range kills {
		cmd, said := start()
		for before, end := heard(), time.Now().Add(time.Minute); heard() <= before+rand.IntN(3); {
			if time.Now().After(end) {
				t.Fatalf("nothing more is heard after %d events: %s", before, said)
			}
			select {
			case <-lost:
				before = -4
			case <-time.After(time.Duration(rand.Int64N(int64(20 * time.Millisecond)))):
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if text := said.String(); text != "" {
			t.Fatal(text)
		}
	}
	s, err := openAny(t.Context(), at, store.Options{Upstream: upstream, Hooks: map[string][]ingest.EventName{killedHook.Name: killedHook.On}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	later := time.Duration(0) // passes the pauses after failures
	last := &hooks.Sender{Hooks: []hooks.Hook{posted(server.URL, signing)}, Store: s, Owner: config.RunName(), Died: config.RunDied, Now: func() time.Time { return time.Now().Add(later) }, Log: slog.New(slog.DiscardHandler)}
	for range 100 {
		last.Send(t.Context())
		later += time.Minute
	}
	done, err := s.ListSlots(t.Context(), store.SlotFilter{State: ingest.Done})
	if err != nil {
		t.Fatal(err)
	}
	committed := map[time.Time]bool{}
	for _, slot := range done {
		committed[slot.DueAt] = true
	}
	mu.Lock()
	defer mu.Unlock()
	for i, due := range first {
		if !committed[due] {
			t.Errorf("the hook was told of %s, which was not committed", due)
		}
		if i > 0 && !due.After(first[i-1]) {
			t.Errorf("told of %s after %s", due, first[i-1])
		}
	}
	for due := range committed {
		if times[due] == 0 {
			t.Errorf("the hook was not told of %s", due)
		}
	}
	t.Logf("%d kills: %d charts, %d told again", kills, len(committed), repeats)
}

// TestLongHooksAreToldUnderKills has 200 kills where SOAK is set:
//
//	SOAK=1 go test -count=1 -timeout 1h ./internal/hooks -run '^TestLongHooksAreToldUnderKills$'
func TestLongHooksAreToldUnderKills(t *testing.T) {
	kills := 15
	if os.Getenv("SOAK") != "" {
		kills = 200
	}
	t.Run("SQLite", func(t *testing.T) { killed(t, t.TempDir(), kills) })
	t.Run("PostgreSQL", func(t *testing.T) {
		d, err := faulty.StartPostgres()
		if errors.Is(err, faulty.ErrAbsent) {
			t.Skipf("postgres: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer d.Stop()
		killed(t, d.URL()+"&idle_in_transaction_session_timeout=60s&search_path=hooks", kills)
	})
}
