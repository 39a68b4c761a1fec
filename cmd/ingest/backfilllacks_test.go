//go:build unix

package main_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// The missing videos of a backfill are named by the run, whose exit code is 3, by status, in JSON, by slots and by
// the doctor.
func TestABackfillsMissingVideosAreNamedEverywhere(t *testing.T) {
	at(t, "2026-02-14T09:40:00Z")
	sim, err := youtubesim.New(youtubesim.Options{Seed: 3, Now: func() time.Time { return time.Date(2026, 2, 14, 9, 40, 0, 0, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	count := regexp.MustCompile(`"videoCount": ?"\d+"`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding")
		answer := httptest.NewRecorder()
		sim.ServeHTTP(answer, r)
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(count.ReplaceAll(answer.Body.Bytes(), []byte(`"videoCount":"1000"`)))
	}))
	t.Cleanup(server.Close)
	t.Setenv("INGEST_UPSTREAM_URL", server.URL)
	t.Setenv("INGEST_DATA", t.TempDir()+"/data")
	end := runJSON(t, exitPartial, "uploads", "@enchannel1", "--yes")
	if end.Outcome != "done" || len(end.Incomplete) != 1 || *end.Incomplete[0].Expected != 1000 || end.Incomplete[0].Stored == 0 || end.Lacking != 1 {
		t.Fatalf("%+v, want done, one slice incomplete of 1000 expected, and one lacking", end)
	}
	const want = "of about 1,000 in @enchannel1: its list ends there"
	for _, args := range []string{"backfill run bf-1", "backfill status bf-1", "slots", "doctor"} {
		code, out := ingestAny(strings.Fields(args)...)
		text := strings.Join(strings.Fields(out), " ")
		if said := strings.Contains(text, want) || strings.Contains(text, "of about 1000: its list ends there"); !said {
			t.Errorf("%s (exit %d) does not say it:\n%s", args, code, out)
		}
		if strings.HasPrefix(args, "backfill run") && code != exitPartial {
			t.Errorf("%s: exit %d", args, code)
		}
	}
	if _, errs := ingestCode(t, exitPartial, "backfill", "run", "bf-1", "--quiet"); !strings.Contains(errs, want) {
		t.Errorf("a quiet run says %q, want %v in it", errs, want)
	}
}

// A run that was killed gives its pieces back at once: the next one goes on with them, and counts the kill's cost.
func TestAKilledRunsPiecesAreFreeAtOnce(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5, Latency: 200 * time.Millisecond})
	at(t, "2026-02-14T09:40:00Z")
	ids := someIDs(t, 500)
	cmd := exec.Command(self(t), "backfill", "run", "videos", ids, "--concurrency", "2")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for len(sim.Log()) < 3 {
		time.Sleep(5 * time.Millisecond) // the test needs a real process
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	_, said := ingestAny("--json", "backfill", "run", "bf-1", "--yes")
	end, inDoubt := lastJSON[backfillEnd](t, said), int64(2)
	for range 3 { // the kill's cost exceeds the agreed amount
		if end.Outcome == "due" {
			inDoubt++ // one worker's refusal stops the other's call
			_, said = ingestAny("--json", "backfill", "run", "bf-1", "--yes")
			end = lastJSON[backfillEnd](t, said)
		}
	}
	// A call that was paid for when the kill came may not have been sent: each of the two workers may have one.
	counted := sim.Ledger().Units["units"]
	if end.Outcome != "done" || end.Units < counted || end.Units > counted+inDoubt || end.Lost != end.Units-10 {
		t.Errorf("got %d units, %d of them lost, want %d to %d (counted by the upstream, and in doubt), 10 not lost: %+v\n%s",
			end.Units, end.Lost, counted, counted+inDoubt, end, out.String())
	}
}

// A run that could only wait for another's pieces says until when, and 75; one whose plan was cancelled says that.
func TestARunThatCanOnlyWaitSaysUntilWhen(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 3})
	now := at(t, "2026-02-14T09:40:00Z")
	ids := someIDs(t, 50)
	ingestCode(t, exitOK, "backfill", "plan", "videos", ids)
	killedRun(t, "bf-1", 1, now)
	end := runJSON(t, exitStopped, "bf-1")
	if end.Outcome != "stopped" || end.RetryAt == nil || !end.RetryAt.Equal(now.Add(3*time.Minute)) || !strings.Contains(end.Reason, "another run works") {
		t.Errorf("%+v, want stopped for three minutes, since another run works", end)
	}
	if _, said := ingestAny("backfill", "run", "bf-1"); !strings.Contains(said, "bf-1 waits") {
		t.Error(said)
	}
}
