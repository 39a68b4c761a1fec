package main_test

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// Clients that look at serve for weeks leave nothing open in it, paced or not.
func TestLongLookingLeavesNoFileOpen(t *testing.T) {
	var serves []*served
	for _, pacing := range []string{"auto", "off"} {
		standIn(t, youtubesim.Options{Seed: 3})
		configured(t, "pacing: "+pacing+"\njobs: [{name: chart, kind: chart, every: 24h, pages: 1}]\n")
		if out, errs := ingestCode(t, exitOK, "run", "--json"); out == "" {
			t.Fatalf("nothing was fetched: %s", errs)
		}
		d := startServe(t)
		d.until("it is ready", d.isReady)
		serves = append(serves, d)
	}
	look := func() (open [2]int) {
		for _, d := range serves {
			if code, body := d.get("metrics"); code != http.StatusOK {
				t.Fatalf("%d: %s, want %v", code, body, http.StatusOK)
			}
		}
		time.Sleep(1100 * time.Millisecond) // serve shows a value that it has read for a second
		for i, d := range serves {
			files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.cmd.Process.Pid))
			if err != nil {
				t.Fatal(err)
			}
			open[i] = len(files)
		}
		return open
	}
	few := look()
	for range 2 {
		for i, n := range look() {
			few[i] = max(few[i], n)
		}
	}
	many := few
	for range 6 {
		many = look()
	}
	for i, pacing := range []string{"auto", "off"} {
		if many[i] > few[i]+2 {
			t.Errorf("pacing %s: %d files were open, and %d after six more looks", pacing, few[i], many[i])
		}
	}
}
