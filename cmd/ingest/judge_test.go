//go:build unix

package main_test

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/pgstore"
)

// judge decides by data that no run writes: a log of commits that the database itself keeps, in the transaction of
// each commit and never changed, and the upstream's log. It trusts only the names in the table of slots and, for a
// slot without a commit, the reason.
type judge struct {
	t *testing.T
	o ticks
	s *store.Store
	d *sql.DB
}

func newJudge(t *testing.T, o ticks) *judge {
	t.Helper()
	open := func() (*store.Store, error) {
		if o.Place != "" {
			return pgstore.Open(t.Context(), o.Place, store.Options{Upstream: "localhost"})
		}
		return store.Open(t.Context(), o.Dir, store.Options{Upstream: "localhost"})
	}
	s, err := open()
	if err != nil {
		t.Fatal(err)
	}
	driver, place, log := "sqlite", "file:"+filepath.Join(o.Dir, "ingest.db")+"?_pragma=busy_timeout(10000)", commitsInSQLite
	if o.Place != "" {
		driver, place, log = "pgx", o.Place+"&search_path=ingest,public", commitsInPostgres
	}
	d, err := sql.Open(driver, place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close(); _ = s.Close() })
	if _, err := d.ExecContext(t.Context(), fmt.Sprintf(log, fleetPages*fleetVideo)); err != nil {
		t.Fatal(err)
	}
	return &judge{t, o, s, d}
}

// judgedEnv makes the test's program one that knows the judge's log: it trusts no other schema than its own.
const judgedEnv = "INGEST_TEST_JUDGED"

//go:linkname storeTables github.com/trendvidstream/ingest/store.tables
var storeTables sqlitefile.Schema

func init() {
	if os.Getenv(judgedEnv) != "" {
		storeTables.Tables += fmt.Sprintf(commitsInSQLite, fleetPages*fleetVideo)
	}
}

// The log of commits. A commit is the last place of the last page.
const (
	commitsInSQLite = `
		CREATE TABLE commits (n INTEGER PRIMARY KEY AUTOINCREMENT, slot INTEGER NOT NULL) STRICT;
		CREATE TRIGGER commits_log AFTER INSERT ON placements WHEN new.rank = %d
		BEGIN INSERT INTO commits (slot) VALUES (new.slot); END;
		CREATE TRIGGER commits_stay BEFORE DELETE ON commits BEGIN SELECT raise(ABORT, 'commits stay'); END`
	commitsInPostgres = `
		CREATE TABLE commits (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, slot bigint NOT NULL);
		CREATE FUNCTION commits_log() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO commits (slot) VALUES (new.slot); RETURN NULL; END';
		CREATE TRIGGER commits_log AFTER INSERT ON placements FOR EACH ROW WHEN (new.rank = %d) EXECUTE FUNCTION commits_log();
		CREATE RULE commits_stay AS ON DELETE TO commits DO INSTEAD NOTHING`
)

// waitUntil waits for a described condition.
func (j *judge) waitUntil(what string, is func() bool) {
	j.t.Helper()
	for began := time.Now(); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > waitAtMost {
			j.t.Fatalf("it does not happen that %s", what)
		}
	}
}

// settled waits until the slots of the last tick have been added and every slot has ended. The last tick may be minutes
// away on a quick machine, where the kills take less time than was allowed for.
func (j *judge) settled() {
	j.t.Helper()
	last := j.o.slots(j.o.Ticks)
	time.Sleep(time.Until(last[0].DueAt))
	j.waitUntil("every slot has ended", func() bool {
		time.Sleep(100 * time.Millisecond)
		return j.count(fmt.Sprintf("due_at = %d", last[0].DueAt.Unix())) == int64(len(last)) && j.count("state IN ('due', 'claimed')") == 0
	})
}

// count returns how many slots satisfy a condition.
func (j *judge) count(condition string) int64 {
	j.t.Helper()
	return j.number("SELECT count(*) FROM slots WHERE " + condition)
}

func (j *judge) number(query string) (n int64) {
	j.t.Helper()
	if err := j.d.QueryRowContext(j.t.Context(), query).Scan(&n); err != nil {
		j.t.Fatal(err)
	}
	return n
}

// writable reports whether other writers are not blocked for long.
func (j *judge) writable() bool {
	j.t.Helper()
	if j.o.Place != "" { // a transaction takes milliseconds
		const stuck = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND state_change < clock_timestamp() - interval '500 ms'"
		time.Sleep(time.Second)
		return j.number(stuck) == 0
	}
	for _, file := range []string{"ingest.db", ledgerFile} {
		d, err := sql.Open("sqlite", "file:"+filepath.Join(j.o.Dir, file)+"?_txlock=immediate&_pragma=busy_timeout(1000)")
		if err != nil {
			j.t.Fatal(err)
		}
		tx, err := d.BeginTx(j.t.Context(), nil)
		if err == nil {
			_ = tx.Rollback()
		}
		if _ = d.Close(); err != nil {
			return false
		}
	}
	return true
}

// ends counts the outcomes of slots. Each slot is in one of the first four.
type ends struct {
	once, reason, twice, neither int
	reasons                      map[ingest.State]int
}

func (j *judge) judge() {
	j.t.Helper()
	commits, slots := j.commits(), map[ingest.SlotKey]ingest.Slot{}
	list, err := j.s.ListSlots(j.t.Context(), store.SlotFilter{})
	if err != nil {
		j.t.Fatal(err)
	}
	for _, s := range list {
		for _, s.DueAt = range s.Ticks() {
			slots[s.SlotKey] = s
		}
	}
	every, newest := ends{reasons: map[ingest.State]int{}}, ends{reasons: map[ingest.State]int{}}
	for i := 1; i <= j.o.Ticks; i++ {
		for _, k := range j.o.slots(i) {
			of := &every
			if k.Key == "US" {
				of = &newest
			} else if s := slots[k]; s.State != ingest.Done {
				j.t.Errorf("%s %s %s was never committed: %s %q", s.Job, s.Key, s.DueAt, s.State, s.Reason)
			}
			of.count(j.t, slots[k], commits[k])
			delete(slots, k)
		}
	}
	expected := j.o.Ticks * j.o.Jobs
	j.t.Logf("jobs whose every tick must be fetched: slots expected / committed once / twice / never (%d / %d / %d / %d)",
		expected, every.once, every.twice, every.reason+every.neither)
	j.t.Logf("jobs of which only the newest is worth fetching: %d expected: %d committed once, %d with one recorded reason (%d missed, %d superseded, %d other), %d twice, %d neither",
		expected, newest.once, newest.reason, newest.reasons[ingest.Missed], newest.reasons[ingest.Skipped],
		newest.reason-newest.reasons[ingest.Missed]-newest.reasons[ingest.Skipped], newest.twice, newest.neither)
	if every.once != expected || newest.once+newest.reason != expected {
		j.t.Errorf("a tick was lost, or committed twice: %d and %d committed once, %d with a reason, want %d in all",
			every.once, newest.once, newest.reason, expected)
	}
	if len(slots) > 0 {
		j.t.Errorf("%d unexpected slots: %v, want none", len(slots), slots)
	}
	j.judgeCalls()
}

// count adds one slot to its outcome.
func (a *ends) count(t *testing.T, slot ingest.Slot, commits int) {
	t.Helper()
	ended := slot.State != "" && slot.State != ingest.Due && slot.State != ingest.Claimed
	switch {
	case commits == 1 && slot.State == ingest.Done:
		a.once++
	case commits == 0 && ended && slot.State != ingest.Done && slot.Reason != "":
		a.reason++
		a.reasons[slot.State]++
	case commits > 0:
		a.twice++
		t.Errorf("%s %s %s: %d commits, %s %q", slot.Job, slot.Key, slot.DueAt, commits, slot.State, slot.Reason)
	default:
		a.neither++
		t.Errorf("%s %s %s: no commit and no reason: %s %q", slot.Job, slot.Key, slot.DueAt, slot.State, slot.Reason)
	}
}

// commits returns the committed charts, by the database's own log.
func (j *judge) commits() map[ingest.SlotKey]int {
	j.t.Helper()
	rows, err := j.d.QueryContext(j.t.Context(), `
		SELECT job, key, due_at, count(*) FROM commits JOIN slots ON slots.id = slot JOIN series ON series.id = slots.series GROUP BY slot, job, key, due_at`)
	if err != nil {
		j.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	out := map[ingest.SlotKey]int{}
	for rows.Next() {
		var k ingest.SlotKey
		var due int64
		var n int
		if err := rows.Scan(&k.Job, &k.Key, &due, &n); err != nil {
			j.t.Fatal(err)
		}
		k.DueAt = time.Unix(due, 0).UTC()
		out[k] = n
	}
	if err := rows.Err(); err != nil {
		j.t.Fatal(err)
	}
	return out
}

// judgeCalls compares the stored rows with the upstream's log: every page is the whole answer of one call that was
// made for its slot, and the ledger counts no less than arrived.
func (j *judge) judgeCalls() {
	j.t.Helper()
	calls := j.calls()
	rows, err := j.d.QueryContext(j.t.Context(), `
		SELECT job, key, rank, video_id, slot FROM placements
		JOIN slots ON slots.id = slot JOIN series ON series.id = slots.series JOIN videos ON videos.id = video ORDER BY slot, rank`)
	if err != nil {
		j.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	stored := map[string]bool{}
	for rows.Next() {
		var job, key, video string
		var rank int
		var slot int64
		if err := rows.Scan(&job, &key, &rank, &video, &slot); err != nil {
			j.t.Fatal(err)
		}
		id, rest, _ := strings.Cut(video, "/")
		page := fmt.Sprint((rank-1)/fleetVideo + 1)
		if want := fmt.Sprintf("%s/%d", page, (rank-1)%fleetVideo); rest != want || calls[id] != job+" "+key+" "+page {
			j.t.Errorf("%s %s, rank %d holds %s of a call for %q", job, key, rank, video, calls[id])
		}
		if rank%fleetVideo == 1 {
			if stored[id] {
				j.t.Errorf("the answer of call %s is stored twice", id)
			}
			stored[id] = true
		}
	}
	if err := rows.Err(); err != nil {
		j.t.Fatal(err)
	}
	used := j.used()
	j.t.Logf("%d calls arrived upstream, the ledger counts %d; %d pages are stored, %d answers died with their process",
		len(calls), used, len(stored), len(calls)-len(stored))
	if used < int64(len(calls)) {
		j.t.Errorf("the ledger counts %d of %d calls", used, len(calls))
	}
}

// calls returns the calls that arrived upstream: by number, for which job, region and page.
func (j *judge) calls() map[string]string {
	j.t.Helper()
	data, err := os.ReadFile(j.o.arrivals())
	if err != nil {
		j.t.Fatal(err)
	}
	out := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		id, what, ok := strings.Cut(lines.Text(), " ")
		if !ok || out[id] != "" {
			j.t.Errorf("the upstream wrote %q", lines.Text())
		}
		out[id] = what
	}
	return out
}

func (j *judge) used() int64 {
	j.t.Helper()
	g, ledger, err := j.o.governor(j.t.Context())
	if err != nil {
		j.t.Fatal(err)
	}
	defer func() { _ = ledger.Close() }()
	r, err := g.Report(j.t.Context())
	if err != nil {
		j.t.Fatal(err)
	}
	for _, p := range r.Pools {
		if p.Pool == "units" {
			return p.Windows[0].Used
		}
	}
	return -1
}
