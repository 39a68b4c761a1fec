//go:build unix

package main_test

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// Two processes that work on one plan at once spend, together, no more than a person agreed to, and both say so.
func TestTwoProcessesTogetherKeepTheConfirmedAmount(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 3, Latency: 100 * time.Millisecond})
	at(t, "2026-02-14T09:40:00Z")
	channels := []string{"backfill", "plan", "uploads"}
	for _, name := range strings.Fields("en de pt") {
		for _, n := range strings.Fields("1 2 3 4 5 6 7 8") {
			channels = append(channels, "@"+name+"channel"+n)
		}
	}
	plan := ingestJSON[backfillDocument](t, exitOK, channels...)
	var runs [2]*exec.Cmd
	var said [2]bytes.Buffer
	for i := range runs {
		runs[i] = exec.Command(self(t), "--json", "backfill", "run", plan.ID, "--max-units", "20", "--concurrency", "4")
		runs[i].Stdout, runs[i].Stderr = &said[i], &said[i]
		if err := runs[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	over := 0
	for i := range runs {
		_ = runs[i].Wait()
		if strings.Contains(said[i].String(), "more than the confirmed amount") {
			over++
		}
	}
	end := ingestJSON[backfillDocument](t, exitOK, "backfill", "status", plan.ID)
	if sent := sim.Ledger().Units["units"]; sent > end.Confirmed["units"] || end.Charges["units"] != sent || sent < 20 {
		t.Errorf("the upstream counted %d units, the plan %d of %d confirmed\n%s\n%s", sent, end.Charges["units"], end.Confirmed["units"], &said[0], &said[1])
	}
	if over == 0 {
		t.Errorf("neither run says that it needs more than was confirmed\n%s\n%s", &said[0], &said[1])
	}
}

// serve stops where the person's agreement ends, status says that it waits for the person, and a run that is agreed to
// goes on.
func TestServeStopsAtTheConfirmedAmount(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 3})
	ingestCode(t, exitOK, "backfill", "plan", "uploads", "@enchannel1", "@enchannel2", "@enchannel3")
	ingestAny("backfill", "run", "bf-1", "--max-units", "5", "--wait", "--concurrency", "1", "--until", "1ns") // agrees, and fetches nothing
	cmd := exec.Command(self(t), "serve", "--quiet")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var status backfillDocument
	for end := time.Now().Add(waitAtMost); time.Now().Before(end) && status.Charges["units"] < 5; time.Sleep(200 * time.Millisecond) {
		status = ingestJSON[backfillDocument](t, exitOK, "backfill", "status", "bf-1")
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	status = ingestJSON[backfillDocument](t, exitOK, "backfill", "status", "bf-1")
	if status.Charges["units"] != 5 || status.Confirmed["units"] != 5 || status.Outcome != "due" {
		t.Errorf("it was charged %v of %v, and is %s\n%s", status.Charges, status.Confirmed, status.Outcome, &out)
	}
	text, _ := ingestCode(t, exitOK, "backfill", "status", "bf-1")
	if strings.Contains(text, "serve carries it on") || !strings.Contains(text, "all that was confirmed is spent") {
		t.Error(text)
	}
	if end := runJSON(t, exitOK, "bf-1", "--yes"); end.Outcome != "done" || end.Charges["units"] != end.Units {
		t.Errorf("%+v, want \"done\" and %v", end, end.Units)
	}
	sameCount(t, sim)
}
