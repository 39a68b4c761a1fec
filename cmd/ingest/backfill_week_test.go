//go:build unix

package main_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// arrival is a call that reached the upstream.
type arrival struct {
	at     time.Time
	path   string
	query  url.Values
	ids    []string // that it looked up
	listed []string // that its answer found
	by     int      // which process made it
}

// name distinguishes a page from all others.
func (a arrival) name() string { return a.path + "?" + a.query.Encode() }

// buys names the thing that the call pays for: a page, or videos.
func (a arrival) buys() []string {
	if a.path == "/youtube/v3/videos" {
		return a.ids
	}
	return []string{a.name()}
}

// chart reports whether the schedule made the call.
func (a arrival) chart() bool { return a.query.Has("chart") }

// loggedStandIn is the stand-in with a log of its own, and with control of the calling process.
type loggedStandIn struct {
	*youtubesim.Server

	mu    sync.Mutex
	at    time.Time // the upstream's clock, as of set
	set   time.Time
	log   []arrival
	runs  []int         // of each process how many calls may be in doubt: none, unless it was killed
	left  int           // calls until the process is killed; 0: never
	wait  time.Duration // from the answer of that call to the kill; negative: before the answer
	kill  func()        // ends the process, at once
	shots sync.WaitGroup
}

func newLoggedStandIn(t *testing.T, o youtubesim.Options, now time.Time) *loggedStandIn {
	t.Helper()
	w := &loggedStandIn{}
	w.move(now)
	o.Now = w.now
	var err error
	if w.Server, err = youtubesim.New(o); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	t.Setenv("INGEST_UPSTREAM_URL", server.URL+"/")
	t.Setenv("INGEST_DATA", filepath.Join(t.TempDir(), "data"))
	return w
}

func (w *loggedStandIn) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at.Add(time.Since(w.set)).Round(0)
}

// move sets the upstream's clock.
func (w *loggedStandIn) move(t time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.set = t, time.Now()
}

func (w *loggedStandIn) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	now := w.now()
	a := arrival{at: now, path: r.URL.Path, query: r.URL.Query()}
	r.Header.Del("Accept-Encoding") // the answer is read here too
	for _, list := range a.query["id"] {
		a.ids = append(a.ids, strings.Split(list, ",")...)
	}
	w.mu.Lock()
	n := len(w.log)
	a.by = len(w.runs) - 1
	w.log = append(w.log, a)
	w.left--
	shot, wait := w.left == 0, w.wait
	if shot {
		w.shots.Add(1)
	}
	w.mu.Unlock()
	if shot && wait < 0 {
		w.killProcess()
	}
	answer := &tee{ResponseWriter: rw}
	defer func() {
		w.mu.Lock()
		w.log[n].listed = found(answer.body.Bytes())
		w.mu.Unlock()
		if shot && wait >= 0 {
			go func() { // the answer leaves when this handler is back
				time.Sleep(wait)
				w.killProcess()
			}()
		}
	}()
	w.Server.ServeHTTP(answer, r)
}

// killProcess kills the process.
func (w *loggedStandIn) killProcess() {
	defer w.shots.Done()
	w.kill()
}

// tee keeps a copy of an answer.
type tee struct {
	http.ResponseWriter
	body bytes.Buffer
}

func (t *tee) Write(p []byte) (int, error) {
	t.body.Write(p)
	return t.ResponseWriter.Write(p)
}

// found returns the ids in the answer of a search or of a list of uploads.
func found(body []byte) []string {
	var list struct {
		Items []struct {
			ID             json.RawMessage
			ContentDetails struct{ VideoID string }
		}
	}
	if json.Unmarshal(body, &list) != nil {
		return nil
	}
	var ids []string
	for _, item := range list.Items {
		var id struct{ VideoID string }
		_ = json.Unmarshal(item.ID, &id) // a video's own id is a string
		if id.VideoID == "" {
			id.VideoID = item.ContentDetails.VideoID
		}
		if id.VideoID != "" {
			ids = append(ids, id.VideoID)
		}
	}
	return ids
}

// recordStart records that another process begins.
func (w *loggedStandIn) recordStart() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs = append(w.runs, 0)
}

// runAndKill starts the program with the given number of workers and kills it at its n-th call: before the answer if
// wait is negative, else that long after it. It reports whether the program got that far.
func (w *loggedStandIn) runAndKill(t *testing.T, workers, n int, wait time.Duration, args ...string) bool {
	t.Helper()
	w.recordStart()
	cmd := exec.Command(self(t), append(args, fmt.Sprint("--concurrency=", workers))...)
	cmd.Env = os.Environ()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	dead := make(chan struct{})
	w.mu.Lock()
	w.left, w.wait = n, wait
	w.kill = func() {
		_ = cmd.Process.Kill()
		<-dead
	}
	err := cmd.Start()
	w.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	close(dead)
	w.shots.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = 0
	code := cmd.ProcessState.ExitCode()
	if code == -1 {
		w.runs[len(w.runs)-1] = 2 * workers // each had a call in flight, and an answer to keep
	} else if code != exitOK && code != exitStopped {
		_, status := ingestAny("backfill", "status", "bf-1")
		t.Fatalf("ingest %s: exit %d\n%s%s", strings.Join(args, " "), code, out.String(), status)
	}
	return code == -1
}

// The shipped costs at this many units a day.
const (
	weekUnits     = 100
	weekCeiling   = 70 // of backfills
	weekScheduled = 95
)

// A backfill of three days' quota, killed at twenty random calls and resumed over a simulated week, next to a schedule.
// The stand-in's own log is the judge: every video that it listed is in the store, once; no page is paid for twice
// except by processes killed before they could store the answer, and where a channel that shows fewer videos than it
// says is asked once more, and its list is read from the top; every scheduled pass ran; and no call of the backfill
// exceeded its ceiling or took units that the schedule still needed.
func TestBackfillThroughAWeek(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("a backfill of the uploads of 100 channels, on %d units a day beside a schedule; seed %d", weekUnits, seed)
	random := rand.New(rand.NewPCG(seed, 2))
	start := time.Date(2026, 2, 14, 8, 0, 0, 0, time.UTC) // the provider's midnight
	w := newLoggedStandIn(t, youtubesim.Options{Seed: 7, Limits: map[string]int64{"units": weekUnits}}, start)
	configured(t, "jobs: [{name: chart, kind: chart, regions: [US, GB], every: 6h, pages: 1}]\n")
	t.Setenv("INGEST_COSTS", limits(t, fmt.Sprint(weekUnits)))
	args := []string{"backfill", "plan", "uploads"}
	for i := range 100 {
		args = append(args, fmt.Sprintf("@%schannel%d", []string{"en", "de", "pt"}[i%3], i/3+1))
	}
	at(t, start.Format(time.RFC3339))
	plan := ingestJSON[backfillDocument](t, exitOK, args...)
	if n := len(w.log); n > 0 {
		t.Errorf("planning made %d calls, want none", n)
	}
	run := []string{"backfill", "run", plan.ID, "--yes", "--quiet"}
	kills, stops, passes := 0, 0, 0
	for hour := range 7 * 24 {
		now := start.Add(time.Duration(hour) * time.Hour)
		w.move(now)
		at(t, now.Format(time.RFC3339))
		if hour%3 == 0 { // US and GB take turns
			w.recordStart()
			doc := ingestJSON[runDocument](t, exitOK, "run")
			if doc.Outcome != "done" || len(doc.Regions) == 0 {
				t.Errorf("hour %d: the scheduled pass: %+v", hour, doc)
			}
			passes += len(doc.Regions)
		}
		switch {
		case kills < 20 && random.IntN(2) == 0:
			if w.runAndKill(t, 1+random.IntN(2), 1+random.IntN(8), time.Duration(random.IntN(12)-4)*time.Millisecond, run...) {
				kills++
			}
		case kills == 20 && hour%2 == 1: // a run that is not killed uses the rest of the day
			w.recordStart()
			if code, out := ingestAny(run...); code == exitStopped {
				stops++
			} else if code != exitOK {
				_, status := ingestAny("backfill", "status", plan.ID)
				t.Fatalf("hour %d: exit %d\n%s%s", hour, code, out, status)
			}
		}
	}
	end := ingestJSON[backfillDocument](t, exitOK, "backfill", "status", plan.ID)
	w.judge(t, plan, end, passes)
	t.Logf("a week: killed %d times, stopped by quota %d times, %d scheduled passes done", kills, stops, passes)
	if kills != 20 {
		t.Errorf("it was killed %d times, want 20", kills)
	}
}

// judge judges by the log.
func (w *loggedStandIn) judge(t *testing.T, plan, end backfillDocument, passes int) {
	t.Helper()
	spent, wasted, doubtful, relisted := 0, 0, 0, 0
	closed := map[string]bool{}                         // channels that were asked once more
	paid, listed := map[string]int{}, map[string]bool{} // by call; the found videos
	again := map[int]bool{}                             // calls that paid for something again
	left := slices.Clone(w.runs)
	for i, a := range w.log {
		if a.chart() {
			continue
		}
		spent++
		w.judgeLimits(t, i)
		for _, what := range a.buys() {
			before, ok := paid[what]
			paid[what] = i
			if !ok || again[before] {
				continue
			}
			again[before] = true
			if a.path == "/youtube/v3/channels" && !closed[what] {
				closed[what] = true
				continue
			}
			if by := w.log[before].by; left[by] > 0 {
				left[by]--
				doubtful++
				continue
			}
			if a.path == "/youtube/v3/playlistItems" && relisted < len(closed) {
				relisted++
				continue
			}
			wasted++
			t.Errorf("call %d pays again for %s, of call %d", i, what, before)
		}
	}
	for i, a := range w.log {
		if !again[i] {
			for _, id := range a.listed {
				listed[id] = true
			}
		}
	}
	if end.Outcome != "done" || end.Pieces["done"] != 100 || len(end.Failures) > 0 || len(end.Incomplete) > 0 {
		t.Errorf("after a week: %+v", end)
	}
	if l := w.Ledger(); l.Refused["units"] > 0 || w.MaxInDay("units") > weekUnits || w.MaxInWindow("units", 24*time.Hour) > weekUnits {
		t.Errorf("the upstream refused %v; the most in a day is %d", l.Refused, w.MaxInDay("units"))
	}
	if want := 7*8 + 1; passes != want { // GB's newest slot before the week, too
		t.Errorf("%d scheduled passes ran, want %d", passes, want)
	}
	kept, gone := storedIDs(t, "videos"), storedIDs(t, "vanished")
	for id := range listed {
		if kept[id]+gone[id] != 1 {
			t.Errorf("video %s was listed and is in the store %d times, %d times as vanished, want 1", id, kept[id], gone[id])
		}
	}
	price := plan.Price["units"]
	t.Logf("items:   %d listed by the upstream, each in the store once; %d vanished before they were looked up", len(listed), end.Vanished)
	t.Logf("planned: %d units at the least; %d, if %s", price.Low, price.High, plan.Assuming)
	t.Logf("spent:   %d units by the upstream's count, %d by the plan's; %d calls were cut off by a kill and made again", spent, end.Units, doubtful)
	t.Logf("closed:  %d channels were asked once more, and %d pages of their lists were read again", len(closed), relisted)
	t.Logf("wasted:  %d units for what was paid for and kept before", wasted)
}

// judgeLimits checks a call of the backfill against its ceiling and against the schedule's remaining need when it
// arrived: a unit for each of its slots until the provider's midnight.
func (w *loggedStandIn) judgeLimits(t *testing.T, n int) {
	t.Helper()
	now := w.log[n].at
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	y, m, d := now.In(zone).Date()
	today, tomorrow := time.Date(y, m, d, 0, 0, 0, 0, zone), time.Date(y, m, d+1, 0, 0, 0, 0, zone)
	in24h, inDay, own24h, ownDay := 0, 0, 0, 0
	for _, a := range w.log[:n+1] {
		own := 1
		if a.chart() {
			own = 0
		}
		if a.at.After(now.Add(-24 * time.Hour)) {
			in24h, own24h = in24h+1, own24h+own
		}
		if !a.at.Before(today) {
			inDay, ownDay = inDay+1, ownDay+own
		}
	}
	need := 0 // US at 0:00, 6:00, ..., GB at 3:00, 9:00, ...
	for due := now.UTC().Truncate(3 * time.Hour).Add(3 * time.Hour); due.Before(tomorrow); due = due.Add(3 * time.Hour) {
		need++
	}
	if used, own := max(in24h, inDay), max(own24h, ownDay); own > weekCeiling || used > weekScheduled-need {
		t.Errorf("call %d at %v: %d used, %d by the backfill, whose ceiling is %d; the schedule still needs %d of %d", n, now, used, own, weekCeiling, need, weekScheduled)
	}
}

// storedIDs returns how often each video is in a table of the store.
func storedIDs(t *testing.T, table string) map[string]int {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(os.Getenv("INGEST_DATA"), "ingest.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.Query("SELECT video_id FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	kept := map[string]int{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		kept[id]++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return kept
}
