package quotatest

import (
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// OpenJournal opens the journal of a fresh data directory. again opens that directory once more, as
// another process does: beside the first, and after it. t.Cleanup closes them all.
type OpenJournal func(t testing.TB) (j sharedledger.Journal, again func() sharedledger.Journal)

// JournalCase is one promise of a sharedledger.Journal.
type JournalCase struct {
	Name  string
	check func(*desk)
}

// Check holds a fresh journal to the promise.
func (c JournalCase) Check(t testing.TB, open OpenJournal) {
	t.Helper()
	d := &desk{TB: t, open: open}
	d.journal, d.again = open(t)
	c.check(d)
}

// JournalCases are all of them.
func JournalCases() []JournalCase {
	return slices.Concat(journalRows, journalNotes, journalBudgets, journalShared)
}

// RunJournal holds a journal to what sharedledger.Journal says, each promise a subtest.
func RunJournal(t *testing.T, open OpenJournal) {
	t.Helper()
	for _, c := range JournalCases() {
		t.Run(c.Name, func(t *testing.T) { c.Check(t, open) })
	}
}

// desk is a journal under test.
type desk struct {
	testing.TB

	open    OpenJournal
	journal sharedledger.Journal
	again   func() sharedledger.Journal
	number  int64
}

const account = "default"

// row is the writer's next operation.
func (d *desk) row(writer string, at time.Time) sharedledger.Row {
	d.number++
	return sharedledger.Row{Account: account, Writer: writer, Number: d.number, Nonce: 1000 + d.number, At: at,
		Who: quota.Who{Purpose: quota.Scheduled, Region: "US", Method: "videos.list"}, Amounts: quota.Cost{"units": 1}}
}

// begins writes the row down and returns it as it then ought to be listed.
func (d *desk) begins(row sharedledger.Row, n sharedledger.Notes) sharedledger.Row {
	d.Helper()
	id, _, err := d.journal.Begin(d.Context(), row, n)
	if err != nil || id <= 0 {
		d.Fatalf("begin %+v: id %d, %v", row, id, err)
	}
	row.ID = id
	if row.State != sharedledger.RowOwed {
		row.State = sharedledger.RowAsked
	}
	return row
}

func (d *desk) notes(n sharedledger.Notes) {
	d.Helper()
	if err := d.journal.Note(d.Context(), account, n); err != nil {
		d.Fatalf("note: %v", err)
	}
}

// becomes notes what became of a row.
func (d *desk) becomes(row sharedledger.Row, state sharedledger.RowState, at time.Time) sharedledger.Row {
	d.Helper()
	d.notes(sharedledger.Notes{Verdicts: []sharedledger.Verdict{{ID: row.ID, State: state, At: at}}})
	row.State = state
	if !at.IsZero() {
		row.At = at
	}
	return row
}

func (d *desk) state() sharedledger.JournalState {
	d.Helper()
	s, err := d.journal.State(d.Context(), account)
	if err != nil {
		d.Fatalf("state: %v", err)
	}
	return s
}

// allows asks for an emergency, and wants it to go on or not.
func (d *desk) allows(want bool, row sharedledger.Row, budgets ...quota.Budget) {
	d.Helper()
	if got, err := d.journal.Allow(d.Context(), row, budgets); err != nil || got != want {
		d.Fatalf("allow %+v by %+v: %t %v, want %t", row, budgets, got, err, want)
	}
}

// lists wants just these rows since then, in this order.
func (d *desk) lists(since time.Time, owed bool, want ...sharedledger.Row) {
	d.Helper()
	got, err := d.journal.Rows(d.Context(), account, since, owed)
	if err != nil {
		d.Fatalf("rows: %v", err)
	}
	if len(got) != len(want) {
		d.Fatalf("rows since %v (owed %t):\n%+v, want\n%+v", since, owed, got, want)
	}
	for i := range got {
		if !sameRow(got[i], want[i]) {
			d.Fatalf("row %d since %v (owed %t):\n%+v, want\n%+v", i, since, owed, got[i], want[i])
		}
	}
}

// reopened turns to another process.
func (d *desk) reopened() { d.journal = d.again() }

func sameRow(a, b sharedledger.Row) bool {
	same := a.At.Equal(b.At)
	a.At, b.At = time.Time{}, time.Time{}
	return same && reflect.DeepEqual(a, b)
}

func sameLook(a, b sharedledger.UsageSnapshot) bool {
	same := a.At.Equal(b.At) && a.DrainedUntil.Equal(b.DrainedUntil) && len(a.Windows) == len(b.Windows)
	for i := range a.Windows {
		same = same && a.Windows[i].Start.Equal(b.Windows[i].Start) && a.Windows[i].Used == b.Windows[i].Used && a.Windows[i].Window == b.Windows[i].Window
	}
	a.At, b.At, a.DrainedUntil, b.DrainedUntil, a.Windows, b.Windows = time.Time{}, time.Time{}, time.Time{}, time.Time{}, nil, nil
	return same && reflect.DeepEqual(a, b)
}

func (d *desk) looks(want ...sharedledger.UsageSnapshot) {
	d.Helper()
	got := d.state().Snapshots
	if len(got) != len(want) {
		d.Fatalf("looks %+v, want %+v", got, want)
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g sharedledger.UsageSnapshot) bool { return sameLook(g, w) }) {
			d.Fatalf("looks %+v, want %+v", got, want)
		}
	}
}

func look(pool string, at time.Time, used int64) sharedledger.UsageSnapshot {
	return sharedledger.UsageSnapshot{Pool: pool, Generation: 7, At: at, Windows: []sharedledger.WindowUsage{
		{Window: quota.Window{Name: "24h", Length: 24 * time.Hour, Limit: 10_000}, Start: at.Add(-24 * time.Hour), Used: used},
		{Window: quota.Window{Name: "day", Limit: 10_000}, Start: at.Truncate(24 * time.Hour), Used: used / 2},
	}}
}

var long = time.Time{} // since ever

var journalRows = []JournalCase{
	{"an operation is written down as asked before it is asked", func(d *desk) {
		first := d.row("a", noon)
		first.Amounts = quota.Cost{"units": 100, "search": 1}
		first.Who = quota.Who{Purpose: quota.Manual, Method: "search.list"}
		first.Nonce = int64(sharedledger.MaxGeneration)
		first.State = sharedledger.RowCharged // not for the caller to say
		first = d.begins(first, sharedledger.Notes{})
		first.State = sharedledger.RowAsked
		second := d.begins(d.row("b", noon.Add(second)), sharedledger.Notes{})
		if second.ID <= first.ID {
			d.Fatalf("ids %d, then %d", first.ID, second.ID)
		}
		d.lists(long, false, first, second)
		d.lists(long, true)
		d.reopened()
		d.lists(long, false, first, second)
	}},
	{"an owed operation is written down as owed", func(d *desk) {
		row := d.row("a", noon)
		row.State = sharedledger.RowOwed
		id, state, err := d.journal.Begin(d.Context(), row, sharedledger.Notes{})
		if err != nil || !state.Owed {
			d.Fatalf("state %+v, %v: want one that owes", state, err)
		}
		row.ID = id
		d.reopened()
		d.lists(long, true, row)
		if !d.state().Owed {
			d.Fatalf("nothing is owed")
		}
		row = d.becomes(row, sharedledger.RowDelivered, time.Time{})
		if d.state().Owed {
			d.Fatalf("%+v is still owed", row)
		}
		d.lists(long, true)
		d.lists(long, false, row)
	}},
	{"a verdict changes the state, and the time where it says so", func(d *desk) {
		row, other := d.begins(d.row("a", noon), sharedledger.Notes{}), d.begins(d.row("a", noon), sharedledger.Notes{})
		row = d.becomes(row, sharedledger.RowCharged, noon.Add(3*second))
		d.lists(long, false, row, other)
		row = d.becomes(row, sharedledger.RowDelivered, time.Time{})
		d.reopened()
		d.lists(long, false, row, other)
		d.becomes(sharedledger.Row{ID: other.ID + 1000}, sharedledger.RowVoid, time.Time{}) // of none: nothing
		d.lists(long, false, row, other)
	}},
	{"that it was charged is no news of what is owed, or was delivered meanwhile", func(d *desk) {
		var rows []sharedledger.Row
		for _, state := range []sharedledger.RowState{sharedledger.RowOwed, sharedledger.RowDelivered} {
			row := d.becomes(d.begins(d.row("a", noon), sharedledger.Notes{}), state, time.Time{})
			d.becomes(row, sharedledger.RowCharged, noon.Add(second))
			rows = append(rows, row)
		}
		d.lists(long, false, rows...)
		d.becomes(rows[0], sharedledger.RowDelivered, time.Time{})
		d.lists(long, true)
	}},
	{"a verdict rides on the next operation", func(d *desk) {
		row := d.begins(d.row("a", noon), sharedledger.Notes{})
		next := d.begins(d.row("a", noon.Add(second)), sharedledger.Notes{Verdicts: []sharedledger.Verdict{{ID: row.ID, State: sharedledger.RowCharged, At: noon.Add(second)}}})
		row.State, row.At = sharedledger.RowCharged, noon.Add(second)
		d.reopened()
		d.lists(long, false, row, next)
	}},
	{"rows are listed from a time on, of all writers, in the order of their writing", func(d *desk) {
		late := d.begins(d.row("b", noon.Add(time.Hour)), sharedledger.Notes{})
		early := d.begins(d.row("a", noon), sharedledger.Notes{})
		moved := d.begins(d.row("b", noon.Add(-time.Minute)), sharedledger.Notes{})
		moved = d.becomes(moved, sharedledger.RowCharged, noon.Add(time.Minute))
		d.lists(noon, false, late, early, moved)
		d.lists(noon.Add(time.Microsecond), false, late, moved)
		d.lists(noon.Add(time.Hour), false, late)
		d.lists(noon.Add(2*time.Hour), false)
	}},
	{"what was not spent is not listed", func(d *desk) {
		row := d.begins(d.row("a", noon), sharedledger.Notes{})
		void := d.begins(d.row("a", noon), sharedledger.Notes{})
		d.becomes(void, sharedledger.RowVoid, time.Time{})
		d.lists(long, false, row)
		d.lists(long, true)
	}},
	{"what is owed is listed of any time", func(d *desk) {
		row := d.row("a", noon.Add(-90*24*time.Hour))
		row.State = sharedledger.RowOwed
		row = d.begins(row, sharedledger.Notes{})
		d.begins(d.row("a", noon), sharedledger.Notes{})
		d.lists(noon, true, row)
		d.lists(noon.Add(time.Hour), true, row)
	}},
	{"an account lists its own rows only", func(d *desk) {
		other := d.row("a", noon)
		other.Account, other.State = "other", sharedledger.RowOwed
		d.begins(other, sharedledger.Notes{Generation: 9, Snapshots: []sharedledger.UsageSnapshot{look("units", noon, 1)}, Breaker: &sharedledger.Breaker{Failures: 1}})
		d.lists(long, false)
		d.lists(long, true)
		if s := d.state(); s.Owed || s.Generation != 0 || len(s.Snapshots) != 0 || s.Breaker.Failures != 0 {
			d.Fatalf("the state of an account that was never used is %+v", s)
		}
	}},
	{"what may go is forgotten in the end, and nothing else is", func(d *desk) {
		const horizon = 26 * time.Hour
		var want []sharedledger.Row
		owed := d.row("a", noon.Add(-time.Hour))
		owed.State = sharedledger.RowOwed
		want = append(want, d.begins(owed, sharedledger.Notes{}))
		edge := d.becomes(d.begins(d.row("a", noon), sharedledger.Notes{}), sharedledger.RowCharged, noon)
		want = append(want, edge)
		for i := range 300 {
			old := d.begins(d.row("a", noon.Add(-time.Duration(i+1)*time.Millisecond)), sharedledger.Notes{})
			d.becomes(old, []sharedledger.RowState{sharedledger.RowCharged, sharedledger.RowVoid, sharedledger.RowDelivered, sharedledger.RowAsked}[i%4], time.Time{})
		}
		d.notes(sharedledger.Notes{})
		if rows, _ := d.journal.Rows(d.Context(), account, long, false); len(rows) < 200 {
			d.Fatalf("%d rows are left, though nobody said that they may go", len(rows))
		}
		for range 300 { // enough for any journal to tidy up
			want = append(want, d.begins(d.row("b", noon.Add(horizon)), sharedledger.Notes{Now: noon.Add(horizon), Forget: horizon}))
		}
		d.lists(noon, false, want[1:]...)
		if rows, err := d.journal.Rows(d.Context(), account, long, false); err != nil || len(rows) > len(want)+50 {
			d.Fatalf("%d rows are left (%v), and %d matter", len(rows), err, len(want))
		}
		d.lists(long, true, want[0])
	}},
}

var journalNotes = []JournalCase{
	{"a data directory has one random id", func(d *desk) {
		id := d.state().HostID
		if id == "" {
			d.Fatalf("no id")
		}
		d.begins(d.row("a", noon), sharedledger.Notes{})
		if other, err := d.journal.State(d.Context(), "other"); err != nil || other.HostID != id {
			d.Fatalf("the id is %q for another account (%v), want %q", other.HostID, err, id)
		}
		d.reopened()
		if got := d.state().HostID; got != id {
			d.Fatalf("the id is %q when opened again, want %q", got, id)
		}
		elsewhere, _ := d.open(d)
		if s, err := elsewhere.State(d.Context(), account); err != nil || s.HostID == id || s.HostID == "" {
			d.Fatalf("another data directory has the id %q (%v)", s.HostID, err)
		}
	}},
	{"an account that was never used has an empty state", func(d *desk) {
		s := d.state()
		if s.HostID = ""; !reflect.DeepEqual(s, sharedledger.JournalState{}) && len(s.Snapshots) > 0 {
			d.Fatalf("%+v", s)
		}
		if s.Generation != 0 || s.Owed || s.Synced.ID != 0 || !s.Breaker.Until.IsZero() || s.Breaker.Failures != 0 || s.Breaker.Why != "" {
			d.Fatalf("%+v", s)
		}
		d.lists(long, false)
	}},
	{"the generation stays until another is noted", func(d *desk) {
		d.notes(sharedledger.Notes{Generation: sharedledger.MaxGeneration})
		d.notes(sharedledger.Notes{})
		d.begins(d.row("a", noon), sharedledger.Notes{})
		d.reopened()
		if got := d.state().Generation; got != sharedledger.MaxGeneration {
			d.Fatalf("generation %d", got)
		}
		if _, s, err := d.journal.Begin(d.Context(), d.row("a", noon), sharedledger.Notes{Generation: 5}); err != nil || s.Generation != 5 {
			d.Fatalf("generation %d behind a begin that notes 5 (%v)", s.Generation, err)
		}
	}},
	{"the breaker stays as it was noted last", func(d *desk) {
		want := sharedledger.Breaker{Until: noon.Add(5 * second), Failures: 3, Why: "connection refused"}
		d.notes(sharedledger.Notes{Breaker: &want})
		d.notes(sharedledger.Notes{Generation: 1})
		d.reopened()
		if got := d.state().Breaker; !got.Until.Equal(want.Until) || got.Failures != 3 || got.Why != want.Why {
			d.Fatalf("breaker %+v, want %+v", got, want)
		}
		d.notes(sharedledger.Notes{Breaker: &sharedledger.Breaker{}})
		if got := d.state().Breaker; !got.Until.IsZero() || got.Failures != 0 || got.Why != "" {
			d.Fatalf("breaker %+v, want it closed", got)
		}
	}},
	{"behind an open breaker nothing is begun, but the notes are written", func(d *desk) {
		row := d.begins(d.row("a", noon), sharedledger.Notes{})
		d.notes(sharedledger.Notes{Breaker: &sharedledger.Breaker{Until: noon.Add(5 * second), Failures: 1}})
		id, s, err := d.journal.Begin(d.Context(), d.row("a", noon.Add(5*second-time.Microsecond)),
			sharedledger.Notes{Verdicts: []sharedledger.Verdict{{ID: row.ID, State: sharedledger.RowCharged}}, Snapshots: []sharedledger.UsageSnapshot{look("units", noon, 3)}})
		if err != nil || id != 0 || !s.Breaker.Until.Equal(noon.Add(5*second)) || s.Breaker.Failures != 1 || s.Synced.ID != row.ID || len(s.Snapshots) != 1 {
			d.Fatalf("id %d, state %+v, %v", id, s, err)
		}
		row.State = sharedledger.RowCharged
		d.reopened()
		d.lists(long, false, row)
		d.looks(look("units", noon, 3))
		next := d.begins(d.row("a", noon.Add(5*second)), sharedledger.Notes{}) // it is over
		d.lists(long, false, row, next)
	}},
	{"a begin's own notes open and close the breaker before it", func(d *desk) {
		id, _, err := d.journal.Begin(d.Context(), d.row("a", noon), sharedledger.Notes{Breaker: &sharedledger.Breaker{Until: noon.Add(second)}})
		if err != nil || id != 0 {
			d.Fatalf("id %d, %v: begun behind the breaker that it opened", id, err)
		}
		d.begins(d.row("a", noon), sharedledger.Notes{Breaker: &sharedledger.Breaker{}})
	}},
	{"what is owed is written down behind an open breaker, too", func(d *desk) {
		row := d.row("a", noon)
		row.State = sharedledger.RowOwed
		row = d.begins(row, sharedledger.Notes{Breaker: &sharedledger.Breaker{Until: noon.Add(second)}})
		d.lists(long, true, row)
	}},
	{"of each pool the youngest look is kept", func(d *desk) {
		units, search := look("units", noon, 10), look("search", noon.Add(-time.Hour), 5)
		units.DrainedUntil, units.DrainedUsed, units.Owed = noon.Add(time.Hour), 6812, true
		d.notes(sharedledger.Notes{Snapshots: []sharedledger.UsageSnapshot{units, search}})
		d.looks(units, search)
		d.notes(sharedledger.Notes{Snapshots: []sharedledger.UsageSnapshot{look("units", noon.Add(-time.Microsecond), 99), look("search", noon.Add(-time.Minute), 7)}})
		search = look("search", noon.Add(-time.Minute), 7)
		d.reopened()
		d.looks(units, search)
		units = look("units", noon.Add(time.Microsecond), 1)
		units.Generation = 3 // whatever generation, and however little it saw
		d.begins(d.row("a", noon), sharedledger.Notes{Snapshots: []sharedledger.UsageSnapshot{units}})
		d.looks(units, search)
	}},
	{"what was asked and has no answer is in the state, the newest first", func(d *desk) {
		d.becomes(d.begins(d.row("a", noon), sharedledger.Notes{}), sharedledger.RowCharged, time.Time{})
		var ids []int64
		for i := range sharedledger.MaxAsked + 3 {
			ids = append(ids, d.begins(d.row("b", noon.Add(-time.Duration(i)*second)), sharedledger.Notes{}).ID)
		}
		d.becomes(sharedledger.Row{ID: ids[len(ids)-2]}, sharedledger.RowVoid, time.Time{})
		d.reopened()
		asked := d.state().Asked
		if len(asked) != sharedledger.MaxAsked || asked[0].ID != ids[len(ids)-1] || asked[1].ID != ids[len(ids)-3] || asked[0].State != sharedledger.RowAsked {
			d.Fatalf("%d rows, the first %+v: want %d, the first of id %d", len(asked), asked[:min(2, len(asked))], sharedledger.MaxAsked, ids[len(ids)-1])
		}
	}},
	{"the newest row that the ledger has is the one written down last", func(d *desk) {
		first, second := d.begins(d.row("a", noon), sharedledger.Notes{}), d.begins(d.row("b", noon), sharedledger.Notes{})
		if got := d.state().Synced; got.ID != 0 {
			d.Fatalf("charged %+v, want none", got)
		}
		second = d.becomes(second, sharedledger.RowCharged, noon)
		first = d.becomes(first, sharedledger.RowCharged, noon.Add(time.Hour))
		d.begins(d.row("b", noon), sharedledger.Notes{})
		d.reopened()
		if got := d.state().Synced; !sameRow(got, second) {
			d.Fatalf("charged %+v, want %+v", got, second)
		}
		second = d.becomes(second, sharedledger.RowDelivered, time.Time{})
		if got := d.state().Synced; !sameRow(got, second) {
			d.Fatalf("told %+v, want %+v", got, second)
		}
		d.becomes(second, sharedledger.RowVoid, time.Time{})
		if got := d.state().Synced; !sameRow(got, first) {
			d.Fatalf("told %+v, want %+v", got, first)
		}
	}},
}

var journalBudgets = []JournalCase{
	{"an emergency is written down as owed where the budget has room", func(d *desk) {
		budget := quota.Budget{Pool: "units", Amount: 3, Since: noon.Add(-time.Hour)}
		var rows []sharedledger.Row
		for range 3 {
			row := d.row("a", noon)
			d.allows(true, row, budget)
			row.State, row.Emergency = sharedledger.RowOwed, true
			rows = append(rows, row)
		}
		d.allows(false, d.row("a", noon), budget)
		d.reopened()
		d.allows(false, d.row("a", noon), budget)
		got, err := d.journal.Rows(d.Context(), account, long, true)
		if err != nil || len(got) != 3 {
			d.Fatalf("%+v %v, want three", got, err)
		}
		for i := range rows {
			rows[i].ID = got[i].ID
		}
		d.lists(long, true, rows...)
		d.lists(long, false, rows...)
	}},
	{"of two budgets one without room is enough, and nothing is written", func(d *desk) {
		row := d.row("a", noon)
		row.Amounts = quota.Cost{"units": 2, "search": 1}
		units, search := quota.Budget{Pool: "units", Amount: 2}, quota.Budget{Pool: "search", Amount: 1}
		for _, budgets := range [][]quota.Budget{{units, {Pool: "search"}}, {{Pool: "units", Amount: 1}, search}} {
			d.allows(false, row, budgets...)
			d.lists(long, false)
		}
		d.allows(true, row, units, search)
	}},
	{"an emergency counts from the budget's start on, its first instant included", func(d *desk) {
		d.allows(true, d.row("a", noon), quota.Budget{Pool: "units", Amount: 1})
		d.allows(false, d.row("a", noon.Add(time.Hour)), quota.Budget{Pool: "units", Amount: 1, Since: noon})
		d.allows(true, d.row("a", noon.Add(time.Hour)), quota.Budget{Pool: "units", Amount: 1, Since: noon.Add(time.Microsecond)})
	}},
	{"a clock that was set back does not open a budget again", func(d *desk) {
		d.allows(true, d.row("a", noon), quota.Budget{Pool: "units", Amount: 1, Since: noon.Add(-24 * time.Hour)})
		back := noon.Add(-48 * time.Hour)
		d.allows(false, d.row("a", back), quota.Budget{Pool: "units", Amount: 1, Since: back.Add(-24 * time.Hour)})
	}},
	{"what the ledger was told of stays on the budget", func(d *desk) {
		budget := quota.Budget{Pool: "units", Amount: 1, Since: noon.Add(-time.Hour)}
		d.allows(true, d.row("a", noon), budget)
		rows, err := d.journal.Rows(d.Context(), account, long, true)
		if err != nil || len(rows) != 1 {
			d.Fatalf("%+v %v", rows, err)
		}
		d.becomes(rows[0], sharedledger.RowDelivered, time.Time{})
		d.allows(false, d.row("a", noon.Add(time.Minute)), budget)
	}},
	{"only emergencies of the account count", func(d *desk) {
		budget := quota.Budget{Pool: "units", Amount: 1, Since: noon.Add(-time.Hour)}
		d.becomes(d.begins(d.row("a", noon), sharedledger.Notes{}), sharedledger.RowCharged, time.Time{})
		owed, other := d.row("a", noon), d.row("a", noon)
		owed.State, other.Account = sharedledger.RowOwed, "other"
		d.begins(owed, sharedledger.Notes{})
		d.allows(true, other, budget)
		d.allows(true, d.row("a", noon), budget)
		d.allows(false, d.row("a", noon), budget)
	}},
	{"what was asked already becomes owed in its place", func(d *desk) {
		first := d.begins(d.row("a", noon), sharedledger.Notes{})
		second := d.begins(d.row("a", noon), sharedledger.Notes{})
		none := quota.Budget{Pool: "units", Since: noon.Add(-time.Hour)}
		d.allows(false, first, none)
		d.lists(long, true)
		d.lists(long, false, first, second)
		none.Amount = 1
		d.allows(true, first, none)
		first.State, first.Emergency = sharedledger.RowOwed, true
		d.reopened()
		d.lists(long, true, first)
		d.lists(long, false, first, second)
		d.allows(false, second, none)
		d.lists(long, false, first, second)
	}},
}

var journalShared = []JournalCase{
	{"two processes write at once, and nothing is lost", func(d *desk) {
		const each = 60
		handles := []sharedledger.Journal{d.journal, d.again()}
		var wg sync.WaitGroup
		for i, writer := range []string{"a", "b", "c", "d"} {
			wg.Go(func() {
				j, notes := handles[i%2], sharedledger.Notes{}
				for n := range int64(each) {
					row := sharedledger.Row{Account: account, Writer: writer, Number: n + 1, Nonce: 1, At: noon, Amounts: quota.Cost{"units": 1}}
					id, _, err := j.Begin(d.Context(), row, notes)
					if err != nil || id == 0 {
						d.Errorf("begin: id %d, %v", id, err)
					}
					notes.Verdicts = []sharedledger.Verdict{{ID: id, State: sharedledger.RowCharged}}
				}
			})
		}
		wg.Wait()
		rows, err := d.again().Rows(d.Context(), account, long, false)
		if err != nil || len(rows) != 4*each {
			d.Fatalf("%d rows (%v), want %d", len(rows), err, 4*each)
		}
		numbers := map[string]int64{}
		for i, r := range rows {
			if r.Number != numbers[r.Writer]+1 || i > 0 && r.ID <= rows[i-1].ID || (r.State == sharedledger.RowCharged) != (r.Number < each) {
				d.Fatalf("row %d: %+v after number %d", i, r, numbers[r.Writer])
			}
			numbers[r.Writer]++
		}
	}},
	{"two processes have one budget", func(d *desk) {
		const room = 20
		handles := []sharedledger.Journal{d.journal, d.again()}
		var allowed [4]int
		var wg sync.WaitGroup
		for i := range allowed {
			wg.Go(func() {
				for range room {
					row := sharedledger.Row{Account: account, At: noon, Amounts: quota.Cost{"units": 1}}
					ok, err := handles[i%2].Allow(d.Context(), row, []quota.Budget{{Pool: "units", Amount: room}})
					if err != nil {
						d.Errorf("allow: %v", err)
					}
					if ok {
						allowed[i]++
					}
				}
			})
		}
		wg.Wait()
		if sum := allowed[0] + allowed[1] + allowed[2] + allowed[3]; sum != room {
			d.Fatalf("%v went on, %d together, want %d", allowed, sum, room)
		}
	}},
	{"what one process notes another sees", func(d *desk) {
		other := d.again()
		row := d.begins(d.row("a", noon), sharedledger.Notes{Generation: 3, Snapshots: []sharedledger.UsageSnapshot{look("units", noon, 4)}})
		if err := other.Note(d.Context(), account, sharedledger.Notes{Verdicts: []sharedledger.Verdict{{ID: row.ID, State: sharedledger.RowOwed}}, Breaker: &sharedledger.Breaker{Until: noon.Add(second)}}); err != nil {
			d.Fatal(err)
		}
		s, err := other.State(d.Context(), account)
		if err != nil || s.Generation != 3 || len(s.Snapshots) != 1 || !s.Owed {
			d.Fatalf("%+v %v", s, err)
		}
		if id, s, err := d.journal.Begin(d.Context(), d.row("a", noon), sharedledger.Notes{}); err != nil || id != 0 || !s.Owed {
			d.Fatalf("id %d, %+v %v: want the other's breaker in the way", id, s, err)
		}
	}},
}
