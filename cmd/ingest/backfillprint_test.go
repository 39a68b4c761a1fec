//go:build unix

package main_test

import (
	program "github.com/trendvidstream/ingest/cmd/ingest"

	"os"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/store"
)

// screenOf returns a command's output, whose lines must fit.
func screenOf(t *testing.T, args ...string) string {
	t.Helper()
	out, _ := ingestCode(t, exitOK, args...)
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if term.Width(line) > term.Screen || strings.TrimRight(line, " ") != line {
			t.Errorf("%s: %d columns: %q", strings.Join(args, " "), term.Width(line), line)
		}
	}
	return out
}

func wantScreen(t *testing.T, want string, args ...string) {
	t.Helper()
	if got := screenOf(t, args...); got != want[1:] {
		t.Errorf("%s prints\n%s\nwant\n%s", strings.Join(args, " "), got, want)
	}
}

// killedRun claims n pieces and never returns.
func killedRun(t *testing.T, id string, n int, now time.Time) {
	t.Helper()
	s, err := store.Open(t.Context(), os.Getenv("INGEST_DATA"), store.Options{Upstream: "localhost"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for range n {
		if _, ok, err := s.Claim(t.Context(), ingest.Claim{Owner: "killed", Backfill: id, Now: now, Lease: 3 * time.Minute}); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
}

// The status says when the pieces that a run holds become free if it has died, and counts them as due from then on.
func TestTheStatusSaysUntilWhenAPieceIsHeld(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 3})
	now := at(t, "2026-02-14T09:40:00Z")
	ids := someIDs(t, 150)
	wantScreen(t, `
bf-1: videos by their ids
  pieces    3, all due
  ids       150
  price     3 units (cost table split-2026-06)
  today     7,000 units left for it until 2026-02-15 08:00:00Z, beside 1,464
            units kept for the schedule
  will take 1 day: the rest of today is enough
  later     3 units from day 25 to fetch each again once; 3 batch_stats a day
            for their counts; deleted by day 54 unless found again
next: ingest backfill run bf-1
`, "backfill", "plan", "videos", ids)
	killedRun(t, "bf-1", 2, now)
	wantScreen(t, `
bf-1: videos by their ids
  pieces    3, 1 due, 2 claimed
  claimed   by a run in progress; if it died, free again at 2026-02-14 09:43:00Z
  price     3 units (cost table split-2026-06)
  today     7,000 units left for it until 2026-02-15 08:00:00Z, beside 1,464
            units kept for the schedule
  will take 1 day: the rest of today is enough
  later     3 units from day 25 to fetch each again once; 3 batch_stats a day
            for their counts; deleted by day 54 unless found again
next: ingest backfill run bf-1
`, "backfill", "status", "bf-1")
	end := runJSON(t, exitOK, "bf-1")
	if want := "another run works on the last 2 pieces; if it died, the same command goes on from 2026-02-14 09:43:00Z"; end.Outcome != "due" ||
		end.Reason != want || end.ClaimedUntil == nil || !end.ClaimedUntil.Equal(now.Add(3*time.Minute)) {
		t.Errorf("a run beside it ends with %+v", end)
	}
	wantScreen(t, `
bf-1: videos by their ids
  pieces    3, 1 done, 2 claimed
  claimed   by a run in progress; if it died, free again at 2026-02-14 09:43:00Z
  spent     1 unit, for 0 videos; 50 that the upstream does not have; 100
            waiting to be looked up
  to go     2 units
  today     6,999 units left for it until 2026-02-15 08:00:00Z, beside 1,464
            units kept for the schedule
  will take 1 day: the rest of today is enough
  later     2 units from day 25 to fetch each again once; 2 batch_stats a day
            for their counts; deleted by day 54 unless found again
next: ingest backfill run bf-1, if that run has died
`, "backfill", "status", "bf-1")
	at(t, "2026-02-14T09:43:00Z")
	if got := screenOf(t, "backfill", "status", "bf-1"); !strings.Contains(got, "3, 1 done, 2 due\n") || strings.Contains(got, "claimed") {
		t.Errorf("when the lease is over:\n%s", got)
	}
	if got := screenOf(t, "backfill", "status"); !strings.Contains(got, "bf-1  due      1 of 3  1 unit  0       videos by their ids\n") {
		t.Errorf("the list says\n%s", got)
	}
}

// The rest of a backfill is priced by the cost of the done part, once there is one, and by the sizes that were asked.
func TestTheStatusKnowsMoreThanThePlan(t *testing.T) {
	sim := newLoggedStandIn(t, youtubesim.Options{Seed: 5, CostTable: "classic"}, at(t, "2026-02-14T09:40:00Z"))
	t.Setenv("INGEST_COST_TABLE", "classic")
	search := []string{"search", "e", "--from", "2026-02-01", "--to", "2026-02-04", "--slice", "24h"}
	if got := screenOf(t, append([]string{"backfill", "plan"}, search...)...); !strings.Contains(got, "price     3 to 30 search calls, 303 to 3,030 units (cost table classic), if\n            each slice of time finds") {
		t.Errorf("planned:\n%s", got)
	}
	end := runJSON(t, exitOK, "bf-1", "--yes", "--max-units", "1000", "--concurrency", "1")
	done := int64(end.Pieces["done"])
	if done == 0 || end.Price["units"].Low == end.Price["units"].High || end.Likely <= end.Price["units"].Low || end.Likely > 1000*2 {
		t.Fatalf("%+v, want pieces done, and a likely price within the range", end)
	}
	if got := strings.Join(strings.Fields(screenOf(t, "backfill", "status", "bf-1")), " "); !strings.Contains(got,
		"about "+term.Thousands(end.Likely)+" units, if the rest costs as much as the "+term.Plural(int(done), "piece")+" done did") || strings.Contains(got, "each slice") {
		t.Errorf("%s, want the likely price by the pieces done", got)
	}

	uploads := []string{"backfill", "plan", "uploads", "@enchannel1", "@enchannel2", "@nobodyofthatname"}
	before := sim.Ledger().Units["units"]
	asked := ingestJSON[backfillDocument](t, exitOK, append(uploads, "--ask")...)
	later := ingestJSON[backfillDocument](t, exitOK, "backfill", "status", asked.ID)
	if p := asked.Price["units"]; p.Low != p.High || later.Price["units"] != p || later.Assuming != "" || asked.Asked["units"] != 3 {
		t.Errorf("asked: %+v, later: %+v", asked, later)
	}
	again := ingestJSON[backfillDocument](t, exitOK, append(uploads, "--ask")...)
	if n := sim.Ledger().Units["units"] - before; n != 3 || len(again.Asked) > 0 || again.Price["units"] != asked.Price["units"] {
		t.Errorf("to ask again cost %d units beyond 3: %+v, want none and %v", n-3, again, asked.Price["units"])
	}
}

// A newcomer's mistakes are answered with the right form.
func TestABackfillAsksForWhatIsMissing(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 3})
	at(t, "2026-02-14T09:40:00Z")
	for _, c := range []struct {
		code int
		args string
		want string
	}{
		{exitUsage, "plan uploads", "which channels?"},
		{exitUsage, "plan search", "search for what?"},
		{exitUsage, "plan videos", "which videos?"},
		{exitUsage, "run", "run what?"},
		{exitUsage, "cancel", "which backfill?"},
		{exitUsage, "retry bf-1 bf-2", "which backfill?"},
		{exitError, "status bf-1", "there is no backfill bf-1: none is planned"},
		{exitError, "cancel bf-1", "there is no backfill bf-1: none is planned"},
		{exitUsage, "run bf-1", "there is no backfill bf-1: ingest backfill status lists them (see"},
		{exitUsage, "run upload", "and the kinds are uploads"},
	} {
		if _, errs := ingestCode(t, c.code, append([]string{"backfill"}, strings.Fields(c.args)...)...); !strings.Contains(errs, c.want) {
			t.Errorf("%s: it says %q, want %q", c.args, errs, c.want)
		}
	}
}

// The same command once more says that nothing is left and how to fetch it again; a plan that found nothing old does
// not prevent a later one.
func TestTheDonePartIsPrinted(t *testing.T) {
	w := newLoggedStandIn(t, youtubesim.Options{Seed: 5}, at(t, "2026-02-14T09:40:00Z"))
	ids := someIDs(t, 10)
	for _, want := range []string{"bf-1 is done: 1 unit in this run", "bf-1: it was done before. Planned with --again it is fetched again"} {
		if got := screenOf(t, "backfill", "run", "videos", ids); !strings.HasPrefix(got, want+"\n") {
			t.Errorf("it says\n%s", got)
		}
	}
	wantScreen(t, `
bf-1, planned before: videos by their ids
  pieces    1, done
  ids       10
  spent     1 unit, for 0 videos; 10 that the upstream does not have
next: the same with --again plans it again
`, "backfill", "plan", "videos", ids)
	ingestCode(t, exitOK, "run", "--region", "US")
	refresh := []string{"backfill", "run", "refresh", "--older-than", "1d"}
	if got := screenOf(t, refresh...); !strings.HasPrefix(got, "bf-2: there was nothing to fetch\n") {
		t.Errorf("it says\n%s", got)
	}
	w.move(at(t, "2026-02-16T09:40:00Z"))
	if got := screenOf(t, refresh...); !strings.HasPrefix(got, "bf-3 is done: 4 units in this run\n") {
		t.Errorf("two days later it says\n%s", got)
	}
	ingestCode(t, exitPartial, "backfill", "run", "uploads", "@nobodyofthatname", "--yes")
	if _, errs := ingestCode(t, exitOK, "backfill", "status"); !strings.Contains(errs, "some of bf-4 failed: ingest backfill status bf-4 says why") {
		t.Errorf("the list says %q, want \"some of bf-4 failed: ingest backfill status bf-4 says why\" in it", errs)
	}
}

// A piece that brought nothing is due again: the run says when, and nothing failed.
func TestABackfillWhosePieceWaitsSaysUntilWhen(t *testing.T) {
	clock := at(t, "2026-02-14T09:40:00Z")
	standIn(t, youtubesim.Options{Seed: 7, Crowd: 120, Faults: faultsOf(t, "nolist@2"), Now: func() time.Time { return clock }})
	code, out := ingestAny("backfill", "run", "uploads", "@crowd", "--yes")
	want := `bf-1 waits after 2 units; the fetched data are kept. The same command goes on from 2026-02-14 09:41:01Z: 1 piece brought nothing: playlistItems.list:`
	if text := strings.Join(strings.Fields(out), " "); code != exitStopped || !strings.HasPrefix(text, want) {
		t.Errorf("exit %d:\n%s", code, out)
	}
	if end := lastJSON[backfillEnd](t, func() string { _, out := ingestAny("--json", "backfill", "run", "bf-1", "--yes"); return out }()); end.Outcome != "done" ||
		end.Videos != 120 {
		t.Errorf("the same command again: %+v, want \"done\" and 120", end)
	}
}

func TestAFinishedBackfillSaysSo(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 3})
	now := at(t, "2026-02-14T09:40:00Z")
	wantScreen(t, `
bf-1: videos last fetched more than 7 days before
  pieces    none: there is nothing to fetch
`, "backfill", "plan", "refresh", "--older-than", "7d")
	ingestCode(t, exitOK, "backfill", "plan", "search", "cup", "--from", "2026-02-01", "--to", "2026-02-04")
	wantScreen(t, `
bf-2, cancelled at 2026-02-14 09:40:00Z: search for "cup", published from
  2026-02-01 until 2026-02-04
  pieces    1, skipped
`, "backfill", "cancel", "bf-2")
	ingestCode(t, exitOK, "backfill", "plan", "videos", someIDs(t, 100))
	killedRun(t, "bf-3", 1, now)
	wantScreen(t, `
bf-3, cancelled at 2026-02-14 09:40:00Z: videos by their ids
  pieces    2, 1 claimed, 1 skipped
  claimed   by a run in progress, which ends with the page in flight
`, "backfill", "cancel", "bf-3")
	wantScreen(t, `
ID    OUTCOME  PIECES  SPENT    VIDEOS  WHAT
bf-3  skipped  1 of 2  0 units  0       videos by their ids
bf-2  skipped  1 of 1  0 units  0       search for "cup", published from 2026-0…
bf-1  done     0 of 0  0 units  0       videos last fetched more than 7 days be…
`, "backfill", "status")
}

// The store keeps the retry time in milliseconds, the run keeps it exactly: the screen shows one time.
func TestAStoppedRunNamesOneTime(t *testing.T) {
	at := time.Date(2026, 2, 15, 8, 0, 0, 300, time.UTC)
	kept := at.Truncate(time.Millisecond)
	worked := []ingest.SlotResult{{Slot: ingest.Slot{State: ingest.Stopped, Reason: "spent", RetryAt: at}}}
	doc := backfillDocument{RetryAt: &kept}
	doc.ID, doc.Outcome, doc.Pieces = "bf-1", ingest.Stopped, map[string]int{"stopped": 1, "total": 1}
	var out strings.Builder
	if program.PrintBackfillEnd(&out, worked, doc); strings.Count(out.String(), "2026-02-15 08:00:01Z") != 2 || strings.Contains(out.String(), "08:00:00Z") {
		t.Errorf("%s, want 08:00:01Z twice", out.String())
	}
}
