package main_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	program "github.com/trendvidstream/ingest/cmd/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// answerRow is an upstream's behaviour to one command, and the result. The stand-in has the faults; the calls of a run
// count from 3, as a good one has gone before it.
type answerRow struct {
	in, name string
	faults   string
	quick    bool // the suite plays it too
}

// answerRows are the rows of docs/answers.md.
var answerRows = []answerRow{
	{"run", "all is well", "", true},
	{"run", "500, always", "500@3+", false},
	{"run", "502, always", "502@3+", false},
	{"run", "503 once", "503@3", false},
	{"run", "503, always", "503@3+", false},
	{"run", "a proxy's page with 502, always", "502html@3+", false},
	{"run", "a proxy's page with 403, always", "403html@3+", false},
	{"run", "407, always", "407@3+", false},
	{"run", "408 once", "408@3", false},
	{"run", "408, always", "408@3+", false},
	{"run", "409, always", "409@3+", false},
	{"run", "423, always", "423@3+", false},
	{"run", "425, always", "425@3+", false},
	{"run", "499, always", "499@3+", false},
	{"run", "no answer once", "drop@3", false},
	{"run", "no answer, always", "drop@3+", false},
	{"run", "a reset, always", "reset@3+", false},
	{"run", "half a body once", "truncate@3", false},
	{"run", "half a body, always", "truncate@3+", false},
	{"run", "200 without a body, always", "empty@3+", false},
	{"run", "200 and no videos once", "blank@3", true},
	{"run", "200 and no videos, always", "blank@3+", false},
	{"run", "a tenth of the videos once", "short@3", false},
	{"run", "429 for the minute once", "429min@3", false},
	{"run", "429 for the minute, always", "429min@3+", false},
	{"run", "429 that asks to wait 20 s, once", "wait=20s@3", false},
	{"run", "429 that asks to wait 20 s, always", "wait=20s@3+", false},
	{"run", "429 that asks to wait an hour", "wait=1h@3+", true},
	{"run", "the day's quota is spent", "403quota@3+", true},
	{"run", "the key is refused", "badkey@3+", false},
	{"run", "the API is not enabled", "disabled@3+", false},
	{"run", "403 without a reason, one region", "forbidden@3", false},
	{"run", "403 without a reason, always", "forbidden@3+", true},
	{"run", "400 processingFailure once", "processing@3", false},
	{"run", "400 processingFailure, always", "processing@3+", false},
	{"run", "400 failedPrecondition, always", "precondition@3+", false},
	{"run", "a refused page token", "badtoken@3", false},
	{"run", "no such chart, one region", "nochart@3", false},
	{"run", "no such chart, always", "nochart@3+", false},
	{"run", "503, then 429 for the minute", "503@3 429min@4", false},
	{"run", "429 for the minute, then the key is refused", "429min@3 badkey@4+", false},
	{"run", "no such chart, then no videos", "nochart@3 blank@4", false},
	{"run", "no videos, then 403 without a reason", "blank@3 forbidden@4", false},
	{"run", "503, then the day's quota is spent", "503@3 403quota@4+", false},
	{"backfill", "all is well", "", false},
	{"backfill", "503 in the middle of the list, once", "503@4", false},
	{"backfill", "503 in the middle of the list, always", "503@4+", false},
	{"backfill", "409 in the middle of the list, always", "409@4+", false},
	{"backfill", "400 processingFailure in the middle of the list, always", "processing@4+", false},
	{"backfill", "400 failedPrecondition in the middle of the list, always", "precondition@4+", false},
	{"backfill", "half a body in the middle of the list, always", "truncate@4+", false},
	{"backfill", "the list is not there", "nolist@2+", true},
	{"backfill", "a page of the list is not there", "nolist@4+", false},
	{"backfill", "a look-up brings no videos, once", "blank@3", false},
	{"backfill", "look-ups bring a tenth, once", "short@3", false},
	{"backfill", "429 for the minute once", "429min@4", false},
	{"backfill", "429 for the minute, always", "429min@4+", false},
	{"backfill", "429 that asks to wait 20 s, once", "wait=20s@4", false},
	{"backfill", "429 that asks to wait an hour", "wait=1h@4+", false},
	{"backfill", "the day's quota is spent", "403quota@4+", false},
	{"backfill", "the key is refused", "badkey@4+", false},
	{"backfill", "403 without a reason, always", "forbidden@4+", false},
	{"backfill", "503, then the key is refused", "503@4 badkey@5+", false},
	{"gateway", "all is well", "", false},
	{"gateway", "503", "503", false},
	{"gateway", "429 for the minute", "429min", false},
	{"gateway", "429 that asks to wait 20 s", "wait=20s", false},
	{"gateway", "the day's quota is spent", "403quota", false},
	{"gateway", "the key is refused", "badkey", false},
	{"gateway", "403 without a reason", "forbidden", false},
	{"gateway", "200 and no videos", "blank", false},
	{"gateway", "no answer", "drop", false},
	{"gateway", "half a body", "truncate", false},
	{"serve", "all is well", "", false},
	{"serve", "the key is refused", "badkey", false},
	{"serve", "the API is not enabled", "disabled", false},
	{"serve", "403 without a reason, always", "forbidden", false},
	{"serve", "200 and no videos, always", "blank", false},
	{"serve", "no such chart, always", "nochart", false},
	{"serve", "429 that asks to wait an hour", "wait=1h", false},
	{"serve", "the day's quota is spent", "403quota", false},
}

const answersPage = "../../docs/answers.md"

const answersHead = `# Results of an upstream's answers

An answer is evidence and not proof: this is each command's reaction. A test plays every row against a stand-in for
YouTube and writes this page. *Charged* is in units: by our ledger and, where they differ, by the stand-in; ours is
never lower. A run is over the charts of US and DE, an hour after a good one. A backfill is of a channel with 120
videos; its third call is the first look-up, its fourth the second page of the list. The end is an [exit
code](commands.md); for the gateway the HTTP status that its client gets; for serve the status of /readyz.

| in | the upstream's answers | charged | kept | said | end |
|---|---|---|---|---|---|
`

// TestLongEachAnswerOfAnUpstream plays all rows of docs/answers.md; with -update it writes them.
func TestLongEachAnswerOfAnUpstream(t *testing.T) {
	page := answersHead
	for _, r := range answerRows {
		t.Run(r.in+" "+r.name, func(t *testing.T) { page += r.play(t) })
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(answersPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(answersPage); err != nil || string(text) != page && !t.Failed() {
		t.Errorf("docs/answers.md is not what happens: go test ./cmd/ingest -run %s -update (%v)\n%s", t.Name(), err, page)
	}
}

// The table has a row for each of the answers, and the cheap rows hold.
func TestTheTableOfAnswersIsTrue(t *testing.T) {
	text, err := os.ReadFile(answersPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range answerRows {
		switch begins := "| " + r.in + " | " + r.name + " |"; {
		case strings.Count(string(text), begins) != 1:
			t.Errorf("docs/answers.md has no single row %s", begins)
		case r.quick:
			if row := r.play(t); !strings.Contains(string(text), row) {
				t.Errorf("docs/answers.md lacks\n%s", row)
			}
		}
	}
}

// play returns the row of the page.
func (r answerRow) play(t *testing.T) string {
	t.Helper()
	begin := at(t, "2026-02-14T09:10:00Z")
	clock := begin
	sim := standIn(t, youtubesim.Options{Seed: 7, Faults: faultsOf(t, strings.Fields(r.faults)...), Crowd: map[bool]int{true: 120}[r.in == "backfill"], Now: func() time.Time { return clock }})
	configured(t, "concurrency: 1\njobs: [{name: chart, kind: chart, regions: [US, DE], every: 1h, pages: 1}]\n")
	var kept, said, end string
	switch r.in {
	case "run":
		ingestCode(t, exitOK, "run")
		clock = begin.Add(time.Hour)
		at(t, clock.Format(time.RFC3339))
		kept, said, end = playRun(t)
	case "backfill":
		kept, said, end = playUploads(t)
	case "gateway":
		kept, said, end = playGateway(t)
	case "serve":
		kept, said, end = r.playServe(t)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", r.in, r.name, r.charged(t, sim), cmp.Or(kept, "nothing"), plainSaid(said), end)
}

// charged compares the ledger with the stand-in's count, and returns the units without the units of the run before.
func (r answerRow) charged(t *testing.T, sim *youtubesim.Server) string {
	t.Helper()
	pools := ingestJSON[quotaDocument](t, exitOK, "quota").Pools
	var ours int64
	for _, p := range pools {
		if p.Pool == "units" {
			ours = p.Windows[0].Used
		}
	}
	theirs := sim.Ledger().Units["units"]
	if ours < theirs {
		t.Errorf("the ledger has %d units, the stand-in %d", ours, theirs)
	}
	if r.in == "run" {
		ours, theirs = ours-2, theirs-2
	}
	if ours != theirs {
		return fmt.Sprintf("%d (%d)", ours, theirs)
	}
	return fmt.Sprint(ours)
}

// unpaused runs the program in this process, without the pauses before its retries.
func unpaused(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = program.Run(args, &out, &errs, func(r *fetch.Reconciler) {
		r.Pause = func(context.Context, time.Duration) error { return nil }
	})
	return code, out.String(), errs.String()
}

func playRun(t *testing.T) (kept, said, end string) {
	t.Helper()
	code, out, errs := unpaused("--json", "run")
	var doc runDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v: %s%s", err, out, errs)
	}
	var ends []string
	for _, slot := range doc.Regions {
		shown := "no chart"
		if code, text := ingestAny("--json", "chart", slot.Region); code == exitOK {
			var chart chartDocument
			if err := json.Unmarshal([]byte(text), &chart); err != nil {
				t.Fatal(err)
			}
			shown = "chart of " + chart.Slot.Format("15:04")
		}
		ends = append(ends, fmt.Sprintf("%s %s, %s", slot.Region, slot.Outcome, shown))
		if said == "" {
			said = slot.Reason
		}
	}
	if said == "" && code != exitOK {
		said = lastSaid(errs)
	}
	return strings.Join(ends, "; "), said, fmt.Sprint(code)
}

func playUploads(t *testing.T) (kept, said, end string) {
	t.Helper()
	plan := ingestJSON[backfillDocument](t, exitOK, "backfill", "plan", "uploads", "@crowd")
	code, out, _ := unpaused("--json", "backfill", "run", plan.ID, "--yes")
	doc := lastJSON[backfillEnd](t, out)
	return fmt.Sprintf("%s, %d of 120 videos", doc.Outcome, doc.Videos), doc.Reason, fmt.Sprint(code)
}

func playGateway(t *testing.T) (kept, said, end string) {
	t.Helper()
	p, address := startGateway(t)
	resp, err := http.Get(address + "youtube/v3/videos?part=id&chart=mostPopular&maxResults=5")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	p.end(syscall.SIGTERM)
	var doc struct {
		Error struct{ Message string }
		Items []struct{}
	}
	_ = json.Unmarshal(body, &doc)
	if end = fmt.Sprint(resp.StatusCode); resp.Header.Get("Retry-After") != "" {
		end += ", with Retry-After"
	}
	return fmt.Sprintf("%d videos for the client", len(doc.Items)), doc.Error.Message, end
}

func (r answerRow) playServe(t *testing.T) (kept, said, end string) {
	t.Helper()
	d := startServe(t, "--json")
	var ends []string
	d.until("it has tried the charts", func() bool {
		ends = nil
		for line := range strings.Lines(d.stdout.String()) {
			var e struct{ Region, Outcome, Reason string }
			if json.Unmarshal([]byte(line), &e) == nil && e.Region != "" {
				ends, said = append(ends, e.Region+" "+e.Outcome), e.Reason
			}
		}
		refused := cannotFetch.FindStringSubmatch(d.stderr.String())
		if refused != nil {
			said = refused[1]
		}
		return len(ends) >= 2 || refused != nil
	})
	if r.faults == "" {
		d.until("it is ready", d.isReady)
	}
	code, _ := d.get("readyz")
	d.end(syscall.SIGTERM)
	return strings.Join(ends, "; "), said, fmt.Sprint(code)
}

var (
	cannotFetch = regexp.MustCompile(`nothing can be fetched now; trying again" error="([^"]*)"`)
	anyAddress  = regexp.MustCompile(`127\.0\.0\.1:\d+(->127\.0\.0\.1:\d+)?`)
	anyTime     = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ][\d:.]+Z`)
)

// plainSaid is a text without the parts that differ between two plays.
func plainSaid(text string) string {
	text = anyAddress.ReplaceAllString(text, "HOST")
	text = anyTime.ReplaceAllString(text, "TIME")
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "\\|")
}

func lastSaid(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
