//go:build unix

package main_test

import (
	program "github.com/trendvidstream/ingest/cmd/ingest"

	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/store"
)

// someIDs writes n ids that no video has to a file and returns its path.
func someIDs(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ids.txt")
	var text bytes.Buffer
	for i := range n {
		fmt.Fprintf(&text, "%011d\n", i)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// lastJSON decodes the last of several JSON lines.
func lastJSON[T any](t *testing.T, out string) T {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var doc T
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &doc); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return doc
}

// runJSON runs a backfill and returns how it ended.
func runJSON(t *testing.T, want int, args ...string) backfillEnd {
	t.Helper()
	out, _ := ingestCode(t, want, append([]string{"--json", "backfill", "run"}, args...)...)
	return lastJSON[backfillEnd](t, out)
}

// The prices of a plan of uploads, whose channels were asked, and of a plan of ids equal the counts of the upstream
// and the ledger.
func TestThePriceInThePlanEqualsTheUpstreamsCount(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 3})
	at(t, "2026-02-14T09:40:00Z")
	channels := []string{}
	for i := range 15 {
		channels = append(channels, fmt.Sprintf("@enchannel%d", i+1), fmt.Sprintf("@hichannel%d", i+1))
	}
	for _, c := range []struct {
		what []string
		ask  bool
	}{
		{append([]string{"uploads"}, channels...), true},
		{[]string{"videos", someIDs(t, 2345)}, false},
	} {
		args := append([]string{"backfill", "plan"}, c.what...)
		if c.ask {
			args = append(args, "--ask")
		}
		plan := ingestJSON[backfillDocument](t, exitOK, args...)
		before := sim.Ledger().Units["units"]
		end := runJSON(t, exitOK, plan.ID, "--yes")
		counted := sim.Ledger().Units["units"] - before
		price := plan.Price["units"]
		t.Logf("%s: planned %d to %d units, the upstream counted %d", plan.Kind, price.Low, price.High, counted)
		if price.Low != price.High || end.Outcome != "done" || end.Spent != counted || max(price.Low-counted, counted-price.Low)*50 > counted {
			t.Errorf("%s: planned %+v, counted %d, %+v", plan.Kind, price, counted, end)
		}
	}
	sameCount(t, sim)
}

// A search is split if a slice has more videos than an upstream lists. It continues over several days, as its pool
// allows, and finds every video once. On one of the days another program spends from the pool too.
func TestLongASearchIsSplitAndResumedOverDays(t *testing.T) {
	start := time.Date(2026, 2, 14, 8, 0, 0, 0, time.UTC)
	w := newLoggedStandIn(t, youtubesim.Options{Seed: 5, CostTable: "split-2026-06", Limits: map[string]int64{"search": 30}}, start)
	at(t, start.Format(time.RFC3339))
	t.Setenv("INGEST_COST_TABLE", "split-2026-06")
	costs, err := os.ReadFile("../../costs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "costs.yaml")
	if err := os.WriteFile(path, bytes.ReplaceAll(costs, []byte("search: {24h: 100, day: 100}"), []byte("search: {24h: 30, day: 30}")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("INGEST_COSTS", path)
	// 12 days of 170 videos: one slice, which is split into four.
	plan := ingestJSON[backfillDocument](t, exitOK, "backfill", "plan", "search", "e", "--from", "2026-02-01", "--to", "2026-02-13", "--slice", "30d")
	if plan.Pieces["total"] != 1 {
		t.Fatalf("%+v, want total 1", plan)
	}
	var end backfillEnd
	days, asked, price := 0, 0, plan.Price["search"]
	for ; days < 10; days++ {
		now := start.Add(time.Duration(days) * 25 * time.Hour)
		w.move(now)
		at(t, now.Format(time.RFC3339))
		w.recordStart()
		if days == 1 {
			ingestCode(t, exitOK, "quota", "post", "search", "15") // a colleague's script
		}
		for ; ; asked++ { // whenever more is found than was agreed to
			began := w.Ledger().Units
			_, out := ingestAny("--json", "backfill", "run", plan.ID, "--yes", "--order", "oldest")
			end = lastJSON[backfillEnd](t, out)
			if spent := w.Ledger().Units["search"] - began["search"]; spent > price.High {
				t.Errorf("day %d: %d searches for at most %d", days, spent, price.High)
			}
			if price = end.Price["search"]; end.Outcome != "due" {
				break
			}
		}
		if end.Outcome == "done" {
			break
		}
		if end.Outcome != "stopped" || end.RetryAt == nil || !end.RetryAt.After(now) {
			t.Fatalf("day %d: %+v", days, end)
		}
	}
	pages, listed := map[string]bool{}, map[string]bool{}
	for i, a := range w.log {
		if a.path == "/youtube/v3/search" && pages[a.name()] {
			t.Errorf("call %d pays again for %s", i, a.name())
		}
		pages[a.name()] = true
		for _, id := range a.listed {
			listed[id] = true
		}
	}
	kept := storedIDs(t, "videos")
	for id := range listed {
		if kept[id] != 1 {
			t.Errorf("video %s is in the store %d times, want 1", id, kept[id])
		}
	}
	want := everyVideo(t, 5, "e", time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), 12*24*time.Hour, start)
	if end.Outcome != "done" || end.Pieces["total"] < 3 || days == 0 || w.MaxInDay("search") > 21 || !maps.Equal(listed, want) {
		t.Errorf("after %d days %d of %d videos were found, %d searches in a day: %+v", days+1, len(listed), len(want), w.MaxInDay("search"), end)
	}
	if asked == 0 || asked > 5 {
		t.Errorf("it asked %d times for more than the plan said", asked)
	}
	t.Logf("%d days, asked %d times, %d pieces, %d videos, %d search calls, at most %d in a day", days+1, asked, end.Pieces["total"], len(listed), w.Ledger().Units["search"], w.MaxInDay("search"))
}

// everyVideo returns all that a search finds, asked of another stand-in of the same seed in slices that are never too
// full.
func everyVideo(t *testing.T, seed uint64, q string, from time.Time, span time.Duration, now time.Time) map[string]bool {
	t.Helper()
	sim, err := youtubesim.New(youtubesim.Options{Seed: seed, CostTable: "split-2026-06", Limits: map[string]int64{"search": 1e6}, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	const step = 2 * time.Hour
	for at := from; at.Before(from.Add(span)); at = at.Add(step) {
		query := url.Values{
			"part": {"snippet"}, "type": {"video"}, "maxResults": {"50"}, "q": {q},
			"publishedAfter": {at.Format(time.RFC3339)}, "publishedBefore": {at.Add(step - time.Second).Format(time.RFC3339)},
		}
		answer := httptest.NewRecorder()
		sim.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/youtube/v3/search?"+query.Encode(), nil))
		if answer.Code != http.StatusOK || strings.Contains(answer.Body.String(), "nextPageToken") {
			t.Fatalf("%d %s, want 200 and no token of a next page", answer.Code, answer.Body)
		}
		for _, id := range found(answer.Body.Bytes()) {
			all[id] = true
		}
	}
	return all
}

// When the upstream no longer knows a page token, its piece starts over, once, and the report gives the cost.
func TestATokenThatExpiredRestartsItsPiece(t *testing.T) {
	now := at(t, "2026-02-14T09:40:00Z")
	sim := newLoggedStandIn(t, youtubesim.Options{Seed: 5, Faults: faultsOf(t, "badtoken@4")}, now)
	// Three days of search, some 400 videos: pages of 50 with tokens.
	search := []string{"search", "e", "--from", "2026-02-01", "--to", "2026-02-04", "--slice", "3d", "--yes"}
	if end := runJSON(t, exitPartial, search...); end.Outcome != "due" || end.Drew["search"] != 10 ||
		!strings.Contains(end.Reason, "than the confirmed amount (10 search calls, 10 units)") {
		t.Errorf("with a restart: %+v, want a total within the confirmed amount, \"due\", 10 and \"than the confirmed amount (10 search calls, 10 units)\" in it", end)
	}
	end := runJSON(t, exitOK, search...)
	if end.Outcome != "done" || end.PaidTwice == 0 {
		t.Errorf("%+v, want done, and pages paid for twice", end)
	}
	text, _ := ingestCode(t, exitOK, "backfill", "status", end.ID)
	if !strings.Contains(strings.Join(strings.Fields(text), " "), "pages paid for once more") {
		t.Errorf("the cost of the restart is not named:\n%s", text)
	}
	sameCount(t, sim.Server)
}

// The provider refuses in the middle of a day because another program spent: the run stops cleanly and says when one
// call will ask again, since our own count is far below; the next day it continues.
func TestAnUpstreamThatIsSpentStopsABackfillCleanly(t *testing.T) {
	start := time.Date(2026, 2, 14, 9, 0, 0, 0, time.UTC)
	w := newLoggedStandIn(t, youtubesim.Options{Seed: 5, Limits: map[string]int64{"units": 12}}, start)
	at(t, start.Format(time.RFC3339))
	ids := someIDs(t, 1000)
	end := runJSON(t, exitStopped, "videos", ids, "--concurrency", "1")
	if end.Outcome != "stopped" || end.Pieces["done"] != 12 || end.RetryAt == nil || end.RetryAt.Before(start.Add(4*time.Minute)) ||
		end.RetryAt.After(start.Add(7*time.Minute)) {
		t.Errorf("%+v, want it stopped after 12 pieces, to try again in 4 to 7 minutes", end)
	}
	calls := len(w.Log())
	if again := runJSON(t, exitStopped, "videos", ids); again.Spent != 0 || len(w.Log()) != calls {
		t.Errorf("a drained pool was asked again: %d calls, %+v, want none", len(w.Log())-calls, again)
	}
	next := start.Add(24 * time.Hour)
	w.move(next)
	at(t, next.Format(time.RFC3339))
	if end := runJSON(t, exitOK, "videos", ids, "--max-units", "8"); end.Outcome != "done" || end.Pieces["done"] != 20 {
		t.Errorf("the next day: %+v, want \"done\" and 20", end)
	}
}

// Two runs at once share the pieces: each is fetched once.
func TestTwoRunsAtOnceShareThePieces(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5, Latency: 20 * time.Millisecond})
	at(t, "2026-02-14T09:40:00Z")
	plan := ingestJSON[backfillDocument](t, exitOK, "backfill", "plan", "videos", someIDs(t, 5000))
	var ends [2]backfillEnd
	var running sync.WaitGroup
	for i := range ends {
		running.Go(func() {
			code, out := ingestAny("--json", "backfill", "run", plan.ID)
			if code != exitOK {
				t.Errorf("exit %d, want %v\n%s", code, exitOK, out)
				return
			}
			ends[i] = lastJSON[backfillEnd](t, out)
		})
	}
	running.Wait()
	if a, b := ends[0].Spent, ends[1].Spent; a+b != 100 || a == 0 || b == 0 || sim.Ledger().Units["units"] != 100 {
		t.Errorf("they spent %d and %d, the upstream counted %d", a, b, sim.Ledger().Units["units"])
	}
	sameCount(t, sim)
}

// 100,000 ids come in by standard input; the memory of the process is printed, and bounded.
func TestManyIDsComeInByStandardInput(t *testing.T) {
	standIn(t, youtubesim.Options{})
	at(t, "2026-02-14T09:40:00Z")
	cmd := exec.Command(self(t), "--json", "backfill", "plan", "videos", "-")
	var ids bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&ids, "%011d\n", i)
	}
	cmd.Stdin = &ids
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	held := make(chan int)
	go func() { held <- mostHeld(cmd.Process.Pid) }()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	plan := lastJSON[backfillDocument](t, out.String())
	if plan.IDs != 100_000 || plan.Pieces["total"] != 2000 || plan.Price["units"].High != 2000 {
		t.Errorf("%+v, want 100,000, 2000 and 2000", plan)
	}
	most := <-held
	t.Logf("100,000 ids: %d MB at most, %v of CPU", most, cmd.ProcessState.UserTime().Round(time.Millisecond))
	if runtime.GOOS == "linux" && (most == 0 || most > 100) {
		t.Errorf("the process used %d MB, want 1 to 100", most)
	}
}

// mostHeld returns the peak memory of a process once it has ended, in MB; 0 if the system does not say. The
// figure of wait includes the memory of the process that started it.
func mostHeld(pid int) (most int) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, rest, ok := strings.Cut(string(status), "VmHWM:")
		if err != nil || !ok {
			return most
		}
		var kilobytes int
		if _, err := fmt.Sscan(rest, &kilobytes); err == nil {
			most = max(most, kilobytes>>10)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// A signal in the middle of a backfill ends it within five seconds with its exit code, and the same command continues
// without paying for anything again.
func TestASignalEndsABackfillCleanly(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Seed: 5, Latency: 100 * time.Millisecond})
	at(t, "2026-02-14T09:40:00Z")
	ids := someIDs(t, 1000)
	cmd := exec.Command(self(t), "backfill", "run", "videos", ids, "--concurrency", "2")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for len(sim.Log()) < 4 {
		time.Sleep(5 * time.Millisecond) // the test needs a real process
	}
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if took := time.Since(began); cmd.ProcessState.ExitCode() != 130 || took > stopsWithin {
		t.Errorf("exit %d after %v\n%s", cmd.ProcessState.ExitCode(), took, out.String())
	}
	end := runJSON(t, exitOK, "videos", ids)
	if n := sim.Ledger().Units["units"]; end.Outcome != "done" || n != 20 {
		t.Errorf("%d calls in all: %+v, want \"done\" and 20", n, end)
	}
	sameCount(t, sim)
}

// A plan made under another cost table is priced again, and says so.
func TestAPlanOfAnotherCostTableIsPricedAnew(t *testing.T) {
	standIn(t, youtubesim.Options{})
	at(t, "2026-02-14T09:40:00Z")
	t.Setenv("INGEST_COST_TABLE", "classic")
	search := []string{"backfill", "plan", "search", "cup", "--from", "2026-02-01", "--to", "2026-02-13", "--slice", "1d"}
	plan := ingestJSON[backfillDocument](t, exitOK, search...)
	if plan.Price["units"].Low != 12*101 || plan.Table != "classic" {
		t.Errorf("%+v, want 1,212 units under classic", plan)
	}
	t.Setenv("INGEST_COST_TABLE", "split-2026-06")
	out, errs := ingestCode(t, exitOK, append([]string{"--json"}, search...)...)
	again := lastJSON[backfillDocument](t, out)
	if again.ID != plan.ID || again.Price["units"].Low != 12 || again.Price["search"].Low != 12 || again.Table != "split-2026-06" {
		t.Errorf("%+v, want plan %s, 12 units and 12 searches under split-2026-06", again, plan.ID)
	}
	if !strings.Contains(errs, "was priced under cost table classic") {
		t.Errorf("nothing is said: %q", errs)
	}
	if _, errs := ingestCode(t, exitOK, search...); strings.Contains(errs, "was priced under") {
		t.Errorf("it is said again: %q", errs)
	}
}

// The gate knows what backfills spent: a lost ledger gets those spends before anything is fetched.
func TestALostLedgerLearnsOfTheBackfillsSpends(t *testing.T) {
	sim := standIn(t, youtubesim.Options{})
	at(t, "2026-02-14T09:40:00Z")
	runJSON(t, exitOK, "videos", someIDs(t, 500))
	runJSON(t, exitOK, "search", "cup", "--from", "2026-02-12", "--to", "2026-02-13", "--yes")
	ingestCode(t, exitOK, "quota")
	if _, report := ingestAny("doctor"); strings.Contains(strings.Join(strings.Fields(report), " "), "the ledger does not know") {
		t.Errorf("the doctor sees a ledger that lacks something:\n%s", report)
	}
	loseLedger()
	_, errs := ingestCode(t, exitUnavailable, "backfill", "run", "bf-1")
	if !strings.Contains(errs, "quota rebuild") {
		t.Errorf("%s, want \"quota rebuild\" in it", errs)
	}
	ingestCode(t, exitUnavailable, "quota", "rebuild")
	doc := ingestJSON[quotaDocument](t, exitOK, "quota")
	for _, p := range doc.Pools {
		counted := sim.Ledger().Units[p.Pool]
		t.Logf("%s: %d counted by the upstream, %d by the ledger that was rebuilt", p.Pool, counted, p.Windows[0].Used)
		if p.Windows[0].Used < counted {
			t.Errorf("%s: the ledger counts %d of %d", p.Pool, p.Windows[0].Used, counted)
		}
	}
}

// serve continues backfills that run with --wait, and a run that has reached its limit leaves the rest to it.
func TestServeCarriesWaitingBackfillsOn(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Latency: time.Millisecond})
	ids := someIDs(t, 500)
	if end := runJSON(t, exitOK, "videos", ids, "--max-units", "3", "--wait"); !end.Wait || end.Outcome != "due" {
		t.Fatalf("%+v, want due, and waiting", end)
	}
	cmd := exec.Command(self(t), "serve", "--quiet")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var status backfillDocument
	for end := time.Now().Add(waitAtMost); time.Now().Before(end) && status.Outcome != "done"; time.Sleep(200 * time.Millisecond) {
		status = ingestJSON[backfillDocument](t, exitOK, "backfill", "status", "bf-1")
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	if status.Outcome != "done" || status.Units != 10 || cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("serve exits %d: %+v, want \"done\", 10 and 143", cmd.ProcessState.ExitCode(), status)
	}
	sameCount(t, sim)
}

// Old videos are fetched again, at the price of the plan; recent ones are left alone.
func TestARefreshFetchesOldVideosAgain(t *testing.T) {
	start := time.Date(2026, 2, 14, 9, 40, 0, 0, time.UTC)
	w := newLoggedStandIn(t, youtubesim.Options{Seed: 5}, start)
	at(t, start.Format(time.RFC3339))
	ingestJSON[runDocument](t, exitOK, "run", "--region", "US")
	old := len(storedIDs(t, "videos"))
	later := start.Add(50 * time.Hour)
	w.move(later)
	at(t, later.Format(time.RFC3339))
	ingestJSON[runDocument](t, exitOK, "run", "--region", "US", "--pages", "1")
	seen := len(storedIDs(t, "videos")) - old // new ones; some of the page were known
	plan := ingestJSON[backfillDocument](t, exitOK, "backfill", "plan", "refresh", "--older-than", "2d")
	end := runJSON(t, exitOK, plan.ID)
	if end.Outcome != "done" || end.Spent != plan.Price["units"].High || end.Videos+end.Vanished < old-50 || end.Videos+end.Vanished > old || seen == 0 {
		t.Errorf("of %d old videos and %d new ones: %+v, want the old ones fetched at the price of the plan", old, seen, end)
	}
	if again := ingestJSON[backfillDocument](t, exitOK, "backfill", "plan", "refresh", "--older-than", "2d", "--again"); again.ID == plan.ID ||
		again.Pieces["total"] != 0 || again.Outcome != "done" {
		t.Errorf("nothing is old any more: %+v, want an empty plan that is done", again)
	}
}

// The schedule's reserve is its remaining slots before the provider's midnight, at their recent cost, and one chart's
// retries: a chart of three pages does not cost the four that were planned.
func TestTheReserveIsTheSchedulesRemainingNeed(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	configured(t, "jobs: [{name: chart, kind: chart, regions: [US, GB], every: 1h, pages: 4}]\n")
	const retries = 4
	kept := func(now string) int64 {
		at(t, now)
		return ingestJSON[backfillDocument](t, exitOK, "backfill", "plan", "uploads", "@enchannel1").Today.Kept["units"]
	}
	// US on the hour, GB at half past; the provider's day turns at 08:00.
	if got, want := kept("2026-02-14T05:10:00Z"), int64(4*(2+5)+retries); got != want {
		t.Errorf("%d units are kept for two due slots and five to come, at the planned 4 units, want %d", got, want)
	}
	ingestJSON[runDocument](t, exitOK, "run", "--pages", "1")
	if got, want := kept("2026-02-14T05:11:00Z"), int64(5+retries); got != want {
		t.Errorf("%d units are kept for five slots to come that recently cost 1, want %d", got, want)
	}
	if got, want := kept("2026-02-14T07:59:00Z"), int64(2+retries); got != want {
		t.Errorf("%d units are kept for the two newest slots, which no run fetched, want %d: the next is of the next day", got, want)
	}
	if got, want := kept("2026-02-14T08:00:01Z"), int64(2+48-1+retries); got != want {
		t.Errorf("%d units are kept for a whole day, want %d", got, want)
	}
}

func TestProgressFitsATerminal(t *testing.T) {
	status := func(open, done int, units int64) store.BackfillStatus {
		return store.BackfillStatus{Pieces: map[ingest.State]int{ingest.Due: open, ingest.Done: done}, Units: units}
	}
	for _, c := range []struct {
		name       string
		began, now store.BackfillStatus
		took       time.Duration
		maxUnits   int64
		want       string
	}{
		{"the beginning", status(100, 0, 0), status(100, 0, 0), time.Second, 0, "[--------------------] 0 of 100 pieces, 0 units"},
		{"half way", status(100, 0, 0), status(50, 50, 150), time.Minute, 0, "[##########----------] 50 of 100 pieces, 150 units, 150 a minute, 1m0s to go"},
		{"gone on with", status(50, 50, 150), status(40, 60, 180), time.Minute, 0, "[############--------] 60 of 100 pieces, 180 units, 30 a minute, 4m0s to go"},
		{"max units end it sooner", status(100, 0, 0), status(90, 10, 30), time.Minute, 45, "[##------------------] 10 of 100 pieces, 30 units, 30 a minute, 30s to go"},
		{"nothing to do", status(0, 0, 0), status(0, 0, 0), time.Minute, 0, "[####################] 0 of 0 pieces, 0 units"},
		{"one piece", status(1, 0, 0), status(1, 0, 1), time.Minute, 0, "[--------------------] 0 of 1 piece, 1 unit, 1 a minute"},
		{"large", status(1_000_000, 0, 0), status(999_999, 1, 9_999_999), 100 * time.Hour, 0, ""},
	} {
		line := program.ProgressLine(c.began, c.now, c.took, c.maxUnits)
		if c.want != "" && line != c.want {
			t.Errorf("%s: %q, want %q", c.name, line, c.want)
		}
		if n := term.Width(term.Fit(line, 79)); n > 79 {
			t.Errorf("%s: %d columns, want at most 79", c.name, n)
		}
	}
}

func TestScreensAreEightyColumnsWide(t *testing.T) {
	standIn(t, youtubesim.Options{})
	at(t, "2026-02-14T09:40:00Z")
	var channels []string
	for i := range 40 {
		channels = append(channels, fmt.Sprintf("@a-handle-of-thirty-characters%d", i%10), fmt.Sprintf("@चैनल%d", i))
	}
	for _, args := range [][]string{
		append([]string{"plan", "uploads"}, channels...),
		{"plan", "search", strings.Repeat("longwords ", 30), "--from", "2020-01-01", "--to", "2026-01-01T10:00:00Z"},
		{"plan", "videos", someIDs(t, 100)},
		{"run", "bf-1", "--yes", "--max-units", "5", "--concurrency", "1"},
		{"status"},
		{"status", "bf-1"},
		{"cancel", "bf-2"},
	} {
		code, out := ingestAny(append([]string{"backfill"}, args...)...)
		for line := range strings.SplitSeq(out, "\n") {
			if term.Width(line) > 80 && strings.Contains(strings.TrimSpace(line), " ") && !strings.Contains(line, "longwords") {
				t.Errorf("%v: %d columns: %q", args[:2], term.Width(line), line)
			}
		}
		if out == "" || code != exitOK && code != exitPartial {
			t.Errorf("%v: exit %d %q", args, code, out)
		}
	}
}

// A schedule that does not fit next to a backfill at its ceiling comes first: the backfill stops early enough for every
// slot of the day, and goes on as far as those leave quota.
func TestLongABackfillLeavesTheSchedulesRemainingNeed(t *testing.T) {
	start := time.Date(2026, 2, 14, 8, 0, 1, 0, time.UTC) // the provider's midnight
	w := newLoggedStandIn(t, youtubesim.Options{Seed: 5, Limits: map[string]int64{"units": 100}}, start)
	configured(t, "jobs: [{name: chart, kind: chart, regions: [US, GB], every: 1h, pages: 1}]\n")
	t.Setenv("INGEST_COSTS", limits(t, "100"))
	ids := someIDs(t, 5000)
	for half := range 48 {
		now := start.Add(time.Duration(half) * 30 * time.Minute)
		w.move(now)
		at(t, now.Format(time.RFC3339))
		if half > 0 { // US on the hour, GB at half past
			if doc := ingestJSON[runDocument](t, exitOK, "run"); doc.Outcome != "done" || len(doc.Regions) == 0 {
				t.Errorf("half hour %d: the schedule felt it: %+v", half, doc)
			}
		}
		if half > 0 && half%12 != 0 {
			continue
		}
		end := runJSON(t, exitStopped, "videos", ids)
		if half == 0 && (end.Spent != 95-49 || !strings.Contains(end.Reason, "the schedule still needs 49 of the 49 units left")) {
			t.Errorf("with 49 slots to come it spent %d of 95: %s", end.Spent, end.Reason)
		}
	}
	if used := w.MaxInDay("units"); used < 90 || used > 95 {
		t.Errorf("%d units were used in the day, want nearly the 95 that there are", used)
	}
}

// A run ends at its --until, and shows its progress meanwhile in JSON lines.
func TestLongARunEndsAtItsTimeAndTellsItsProgress(t *testing.T) {
	sim := standIn(t, youtubesim.Options{Latency: 300 * time.Millisecond})
	at(t, "2026-02-14T09:40:00Z")
	began := time.Now()
	code, out := ingestAny("--json", "backfill", "run", "videos", someIDs(t, 20_000), "--until", "6s", "--concurrency", "1")
	took := time.Since(began)
	end := lastJSON[backfillEnd](t, out)
	first, _, _ := strings.Cut(out, "\n")
	at := lastJSON[progress](t, first)
	if code != exitOK || end.Outcome != "due" || !strings.Contains(end.Reason, "--until") || took > 30*time.Second || end.Pieces["due"] == 0 {
		t.Errorf("exit %d after %v: %+v, want it ended by --until, with pieces left", code, took, end)
	}
	if at.Event != "progress" || at.Units == 0 || at.Total != 400 || at.PerMinute <= 0 || at.SecondsTo <= 0 {
		t.Errorf("%+v, want progress of 400 pieces", at)
	}
	sameCount(t, sim)
}
