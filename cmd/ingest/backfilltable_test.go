//go:build unix

package main_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/amount"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// crowdSize is how many videos there are to fetch.
const crowdSize = 1200

// backfillTrouble is a trouble of a backfill.
type backfillTrouble struct {
	name   string
	lie    string
	faults []string
	kills  int
	tenth  bool // a day's quota is a tenth of the backfill's cost
	beside bool // a schedule leaves it a quarter of the quota
	kinds  string
	hidden bool // from a search, which does not say how many videos there are
	quick  bool // the suite plays it too
}

func backfillTroubles() []backfillTrouble {
	const lists = "uploads search"
	return []backfillTrouble{
		{name: "none"},
		{name: "killed 30 times", kills: 30},
		{name: "pages repeat", lie: "repeat", kinds: lists, quick: true},
		{name: "empty pages", lie: "empty", kinds: lists},
		{name: "totals that lie", lie: "totals", kinds: "uploads"},
		{name: "120 are deleted while it runs", lie: "deletions", hidden: true},
		{name: "every tenth is gone", lie: "gone", quick: true},
		{name: "every tenth is private", lie: "private", kinds: lists, quick: true},
		{name: "a refused token", faults: []string{"badtoken@8"}, kinds: lists},
		{name: "900 in one second", lie: "burst", kinds: lists},
		{name: "a tenth of the quota a day", tenth: true},
		{name: "beside a starved schedule", beside: true},
	}
}

// tableRow is a kind of backfill in a trouble, and how it ended.
type tableRow struct {
	kind string
	backfillTrouble
	planned, confirmed, spent, said string
	stored, missing, owned          int // owned up to: said to be missing
}

func (r tableRow) String() string {
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %d | %s |", r.kind, r.name, r.planned, r.confirmed, r.spent,
		term.Thousands(int64(r.stored)), r.missing, r.said)
}

func tableRows() (rows []tableRow) {
	for _, kind := range strings.Fields("uploads search videos refresh") {
		for _, trouble := range backfillTroubles() {
			if trouble.kinds == "" || slices.Contains(strings.Fields(trouble.kinds), kind) {
				rows = append(rows, tableRow{kind: kind, backfillTrouble: trouble})
			}
		}
	}
	return rows
}

const (
	tablePath  = "../../docs/backfill.md"
	tableBegin = "| kind | trouble | planned | confirmed | spent | stored | missing | said |\n|---|---|---|---|---|---|---|---|\n"
)

// rowsOf matches the rows of a table.
var rowsOf = regexp.MustCompile(`(?m)^(?:\|.*\n)*`)

// In every kind of trouble a backfill names the missing videos, spends no more than the confirmed amount, and makes
// no call that the upstream refuses for quota. The rows make the table in docs/backfill.md.
func TestLongBackfillsInTrouble(t *testing.T) {
	var table strings.Builder
	for _, row := range tableRows() {
		t.Run(row.kind+" "+row.name, func(t *testing.T) { row.play(t) })
		fmt.Fprintln(&table, row)
	}
	t.Logf("\n%s%s", tableBegin, table.String())
	if *update && !t.Failed() {
		text, err := os.ReadFile(tablePath)
		if err != nil {
			t.Fatal(err)
		}
		before, after, found := strings.Cut(string(text), tableBegin)
		if !found {
			t.Fatalf("%s has no table of troubles", tablePath)
		}
		after = after[len(rowsOf.FindString(after)):]
		if err := os.WriteFile(tablePath, []byte(before+tableBegin+table.String()+after), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The table in docs/backfill.md has every kind in every trouble, and the rows that a minute pays for are as it says.
func TestLongTheTableOfTroublesIsTrue(t *testing.T) {
	text, err := os.ReadFile(tablePath)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), tableBegin)
	table := rowsOf.FindString(after)
	for _, row := range tableRows() {
		begins := "| " + row.kind + " | " + row.name + " |"
		if strings.Count(table, begins) != 1 {
			t.Errorf("the table has not one row %s: make backfill-demo writes it", begins)
			continue
		}
		if !row.quick || row.kind == "refresh" {
			continue
		}
		t.Run(row.kind+" "+row.name, func(t *testing.T) {
			row.play(t)
			if !strings.Contains(table, row.String()) {
				t.Errorf("the table lacks\n%s", row)
			}
		})
	}
}

// play makes the backfill, in its trouble, until it is done.
func (r *tableRow) play(t *testing.T) {
	now := time.Date(2026, 2, 14, 8, 5, 0, 0, time.UTC) // five minutes into the provider's day
	o := youtubesim.Options{Seed: 7, Crowd: crowdSize, Faults: faultsOf(t, r.faults...), Limits: map[string]int64{}}
	if r.kind != "refresh" {
		o.Lie = r.lie
	}
	w := newLoggedStandIn(t, o, now)
	at(t, now.Format(time.RFC3339))
	ids := filepath.Join(t.TempDir(), "ids.txt")
	if err := os.WriteFile(ids, []byte(strings.Join(w.Crowd(), "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if r.kind == "refresh" {
		runJSON(t, exitOK, "videos", ids, "--yes")
		now = now.Add(48 * time.Hour)
		w.move(now)
		at(t, now.Format(time.RFC3339))
		w.Lie(r.lie)
	}
	before := w.Ledger().Units
	scheduled := r.limit(t, now)
	plan := ingestJSON[backfillDocument](t, exitOK, append([]string{"backfill", "plan"}, map[string][]string{
		"uploads": {"uploads", "@crowd"}, "videos": {"videos", ids}, "refresh": {"refresh", "--older-than", "24h"},
		"search": {"search", "crowd", "--from", "2026-01-31", "--to", "2026-02-01T00:00:01Z"},
	}[r.kind]...)...)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	var end backfillEnd
	var kills, code int
	began := now
	for {
		run := []string{"backfill", "run", plan.ID, "--yes"}
		if kills < r.kills {
			if w.runAndKill(t, 2, 1+random.IntN(2), time.Duration(random.IntN(12)-4)*time.Millisecond, append(run, "--quiet")...) {
				kills++
				continue
			}
		}
		var out string
		w.recordStart()
		code, out = ingestAny(append([]string{"--json"}, run...)...)
		end = lastJSON[backfillEnd](t, out)
		for pool, n := range end.Charges {
			if n > end.Confirmed[pool] {
				t.Errorf("it was charged %d %s, and %d were confirmed", n, pool, end.Confirmed[pool])
			}
		}
		if end.Outcome != ingest.Due && end.Outcome != ingest.Stopped {
			break
		}
		if end.Outcome == ingest.Stopped {
			now = now.Add(3 * time.Hour)
			w.move(now)
			at(t, now.Format(time.RFC3339))
			scheduled()
		}
		if now.Sub(began) > 40*24*time.Hour {
			t.Fatalf("it does not end: exit %d\n%s", code, out)
		}
	}
	if kills < r.kills || r.faults != nil && end.PaidTwice == 0 {
		t.Errorf("it was killed %d times, and %d pages were paid for once more: the trouble was none", kills, end.PaidTwice)
	}
	r.judge(t, w, before, plan, end, code)
}

// limit gives the row its quota and its schedule, which the returned function runs.
func (r *tableRow) limit(t *testing.T, now time.Time) (scheduled func()) {
	t.Helper()
	var limit string
	switch {
	case r.tenth:
		limit = map[string]string{"uploads": "8", "search": "8", "videos": "5", "refresh": "5"}[r.kind]
		configured(t, "jobs: [{name: refresh, kind: refresh, every: 24h}]\n")
	case r.beside:
		limit = "100"
		configured(t, "jobs: [{name: chart, kind: chart, regions: [US, GB, DE], every: 3h, pages: 3}]\n")
	default:
		return func() {}
	}
	t.Setenv("INGEST_COSTS", limits(t, limit))
	return func() {
		if r.beside {
			doc := ingestJSON[runDocument](t, exitOK, "run")
			for _, slot := range doc.Regions {
				if slot.Outcome != ingest.Done {
					t.Errorf("the schedule beside it: %s %s: %s, want %v", slot.Region, slot.Outcome, slot.Reason, ingest.Done)
				}
			}
		}
	}
}

// judge fills in the row, and checks it against the upstream's count and the store.
func (r *tableRow) judge(t *testing.T, w *loggedStandIn, before map[string]int64, plan backfillDocument, end backfillEnd, code int) {
	t.Helper()
	since := time.Date(2026, 2, 14, 0, 0, 0, 0, time.UTC)
	if r.kind == "refresh" {
		since = since.Add(48 * time.Hour)
	}
	fresh := fetchedSince(t, since)
	exist := w.Crowd()
	for _, id := range exist {
		if !fresh[id] {
			r.missing++
		}
	}
	r.stored = len(fresh)
	if r.beside { // the schedule stores videos too
		r.stored = len(exist) - r.missing
	}
	r.owned = end.Vanished + len(end.Failures)
	var said []string
	for _, l := range end.Incomplete {
		if l.Expected == nil {
			r.owned += crowdSize
		} else {
			r.owned += max(0, *l.Expected-l.Stored)
		}
		said = append(said, "incomplete: "+l.String())
	}
	if end.Vanished > 0 {
		said = append(said, fmt.Sprintf("%d that the upstream does not have", end.Vanished))
	}
	if end.PaidTwice > 0 {
		said = append(said, term.Plural(end.PaidTwice, "page")+" paid for once more")
	}
	if end.Lost > 0 {
		said = append(said, term.Amount(end.Lost, "units")+" for calls that died with their run")
	}
	if len(end.Incomplete) == 0 {
		said = append([]string{"done"}, said...)
	}
	r.said = strings.Join(said, "; ")
	var planned []string
	for _, pool := range []string{"search", "units"} {
		if p, ok := plan.Price[pool]; ok {
			text := amount.Unit(p.High, pool)
			if p.Low < p.High {
				planned = append(planned, fmt.Sprintf("%d to %d %s", p.Low, p.High, text))
			} else {
				planned = append(planned, fmt.Sprintf("%d %s", p.High, text))
			}
		}
	}
	r.planned, r.confirmed, r.spent = strings.Join(planned, ", "), term.Amounts(end.Confirmed), term.Amounts(end.Charges)
	if r.missing > r.owned && (!r.hidden || r.kind != "search") {
		t.Errorf("%d are missing, and it says %d: %s\n%+v", r.missing, r.owned, r.said, end.PlanDocument)
	}
	if incomplete := len(end.Incomplete) > 0; incomplete != (code == exitPartial) {
		t.Errorf("exit %d: %+v", code, end.PlanDocument)
	}
	counted := w.Ledger()
	for pool, n := range end.Charges {
		if sent := counted.Units[pool] - before[pool]; !r.beside && sent > n {
			t.Errorf("the upstream counted %d %s, the plan %d", sent, pool, n)
		}
	}
	for pool, n := range counted.Refused {
		if n > 0 {
			t.Errorf("the upstream refused %d calls for %s, want none", n, pool)
		}
	}
}

// fetchedSince returns the ids of the videos in the store that were fetched since then.
func fetchedSince(t *testing.T, since time.Time) map[string]bool {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(os.Getenv("INGEST_DATA"), "ingest.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.Query("SELECT video_id FROM videos WHERE fetched_at >= ?", since.UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	ids := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids[id] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}
