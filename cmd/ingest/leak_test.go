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
	for _, pacing := range []string{"auto", "off"} {
		t.Run(pacing, func(t *testing.T) {
			standIn(t, youtubesim.Options{Seed: 3})
			configured(t, "pacing: "+pacing+"\njobs: [{name: chart, kind: chart, every: 24h, pages: 1}]\n")
			if out, errs := ingestCode(t, exitOK, "run", "--json"); out == "" {
				t.Fatalf("nothing was fetched: %s", errs)
			}
			d := startServe(t)
			d.until("it is ready", d.isReady)
			open := func() int {
				if code, body := d.get("metrics"); code != http.StatusOK {
					t.Fatalf("%d: %s", code, body)
				}
				time.Sleep(1100 * time.Millisecond) // a read value is shown for a second
				files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.cmd.Process.Pid))
				if err != nil {
					t.Fatal(err)
				}
				return len(files)
			}
			few := open()
			few = max(few, open(), open())
			many := few
			for range 6 {
				many = open()
			}
			if many > few+2 {
				t.Errorf("%d files were open, and %d after six more looks", few, many)
			}
		})
	}
}
