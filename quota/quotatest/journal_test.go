package quotatest

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// OpenJournal opens the journal of a fresh data directory. again opens that directory once more, as another process
// does, during or after the first. t.Cleanup closes all of them.
type OpenJournal func(t testing.TB) (j sharedledger.Journal, again func() sharedledger.Journal)

// JournalCase is one promise of a sharedledger.Journal.
type JournalCase struct {
	Name  string
	check func(*journalRig)
}

// Check holds a fresh journal to the promise.
func (c JournalCase) Check(t testing.TB, open OpenJournal) {
	t.Helper()
	d := &journalRig{TB: t, open: open}
	d.journal, d.again = open(t)
	c.check(d)
}

// JournalCases returns all cases of a journal.
func JournalCases() []JournalCase {
	return slices.Concat(journalRows, journalNotes, journalBudgets, journalShared)
}

// RunJournal tests a journal's promises, each in a subtest.
func RunJournal(t *testing.T, open OpenJournal) {
	t.Helper()
	for _, c := range JournalCases() {
		t.Run(c.Name, func(t *testing.T) { c.Check(t, open) })
	}
}

// journalRig is a journal under test.
type journalRig struct {
	testing.TB

	open    OpenJournal
	journal sharedledger.Journal
	again   func() sharedledger.Journal
	number  int64
}

// row returns the writer's next operation.
func (d *journalRig) row(writer string, at time.Time) sharedledger.Row {
	d.number++
	return sharedledger.Row{Account: account, Writer: writer, Number: d.number, Nonce: 1000 + d.number, At: at,
		Who: quota.Who{Purpose: quota.Scheduled, Region: "US", Method: "videos.list"}, Amounts: quota.Cost{"units": 1}}
}

// begins writes the row and returns it as it should be listed.
func (d *journalRig) begins(row sharedledger.Row, n sharedledger.Notes) sharedledger.Row {
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

func (d *journalRig) notes(n sharedledger.Notes) {
	d.Helper()
	if err := d.journal.Note(d.Context(), account, n); err != nil {
		d.Fatalf("note: %v", err)
	}
}

// becomes notes the verdict on a row.
func (d *journalRig) becomes(row sharedledger.Row, state sharedledger.RowState, at time.Time) sharedledger.Row {
	d.Helper()
	d.notes(sharedledger.Notes{Verdicts: []sharedledger.RowVerdict{{ID: row.ID, State: state, At: at}}})
	row.State = state
	if !at.IsZero() {
		row.At = at
	}
	return row
}

func (d *journalRig) state() sharedledger.JournalState {
	d.Helper()
	s, err := d.journal.State(d.Context(), account)
	if err != nil {
		d.Fatalf("state: %v", err)
	}
	return s
}

// allows asks for an emergency, wants it to go on or not, and returns it as it should be listed.
func (d *journalRig) allows(want bool, row sharedledger.Row, budgets ...quota.EmergencyBudget) sharedledger.Row {
	d.Helper()
	id, err := d.journal.Allow(d.Context(), row, budgets)
	if err != nil || (id != 0) != want {
		d.Fatalf("allow %+v by %+v: id %d, %v, want it to go on: %t", row, budgets, id, err, want)
	}
	row.ID, row.State, row.Emergency = id, sharedledger.RowOwed, true
	return row
}

// refunds gives back an emergency, and wants that to be possible or not.
func (d *journalRig) refunds(want bool, row sharedledger.Row) {
	d.Helper()
	err := d.journal.RefundEmergency(d.Context(), row.Account, row.ID)
	if !want && !errors.Is(err, quota.ErrNotRefundable) || want && err != nil {
		d.Fatalf("refund of %+v: %v, want it to be possible: %t", row, err, want)
	}
}

// lists wants just these rows since then, in this order.
func (d *journalRig) lists(since time.Time, owed bool, want ...sharedledger.Row) {
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

// reopened continues as another process.
func (d *journalRig) reopened() { d.journal = d.again() }

func sameRow(a, b sharedledger.Row) bool {
	same := a.At.Equal(b.At)
	a.At, b.At = time.Time{}, time.Time{}
	return same && reflect.DeepEqual(a, b)
}

func sameSnapshot(a, b sharedledger.UsageSnapshot) bool {
	same := a.At.Equal(b.At) && a.Drain.Equal(b.Drain) && len(a.Windows) == len(b.Windows)
	for i := range a.Windows {
		same = same && a.Windows[i].Start.Equal(b.Windows[i].Start) && a.Windows[i].Used == b.Windows[i].Used &&
			a.Windows[i].Window == b.Windows[i].Window
	}
	a.At, b.At, a.Drain, b.Drain, a.Windows, b.Windows = time.Time{}, time.Time{}, quota.Drain{}, quota.Drain{}, nil, nil
	return same && reflect.DeepEqual(a, b)
}

func (d *journalRig) snapshots(want ...sharedledger.UsageSnapshot) {
	d.Helper()
	got := d.state().Snapshots
	if len(got) != len(want) {
		d.Fatalf("snapshots %+v, want %+v", got, want)
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(g sharedledger.UsageSnapshot) bool { return sameSnapshot(g, w) }) {
			d.Fatalf("snapshots %+v, want %+v", got, want)
		}
	}
}

func snapshotOf(pool string, at time.Time, used int64) sharedledger.UsageSnapshot {
	return sharedledger.UsageSnapshot{Pool: pool, Generation: 7, At: at, Windows: []sharedledger.WindowUsage{
		{Window: quota.Window{Name: "24h", Length: 24 * time.Hour, Limit: 10_000},
			Start: at.Add(-24 * time.Hour), Used: used},
		{Window: quota.Window{Name: "day", Limit: 10_000}, Start: at.Truncate(24 * time.Hour), Used: used / 2},
	}}
}

var long = time.Time{} // from the beginning

var journalRows = []JournalCase{
	{"an operation is written down as asked before the ask", func(d *journalRig) {
		first := d.row("a", noon)
		first.Amounts = quota.Cost{"units": 100, "search": 1}
		first.Who = quota.Who{Purpose: quota.Manual, Method: "search.list"}
		first.Nonce = int64(sharedledger.MaxGeneration)
		first.State = sharedledger.RowCharged // not for the caller to say
		first = d.begins(first, sharedledger.Notes{})
		first.State = sharedledger.RowAsked
		second := d.begins(d.row("b", noon.Add(second)), sharedledger.Notes{})
		if second.ID != first.ID+1 {
			d.Fatalf("ids %d, then %d: want one after the other, so that a process sees that another one wrote",
				first.ID, second.ID)
		}
		d.lists(long, false, first, second)
		d.lists(long, true)
		d.reopened()
		d.lists(long, false, first, second)
	}},
	{"an owed operation is written down as owed", func(d *journalRig) {
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
			d.Fatalf("a row that waited too long: got nothing owed, want it owed")
		}
		row = d.becomes(row, sharedledger.RowSynced, time.Time{})
		if d.state().Owed {
			d.Fatalf("%+v is still owed", row)
		}
		d.lists(long, true)
		d.lists(long, false, row)
	}},
	{"a verdict changes the state, and the time where it says so", func(d *journalRig) {
		row, other := d.begins(d.row("a", noon), sharedledger.Notes{}), d.begins(d.row("a", noon), sharedledger.Notes{})
		row = d.becomes(row, sharedledger.RowCharged, noon.Add(3*second))
		d.lists(long, false, row, other)
		row = d.becomes(row, sharedledger.RowSynced, time.Time{})
		d.reopened()
		d.lists(long, false, row, other)
		d.becomes(sharedledger.Row{ID: other.ID + 1000}, sharedledger.RowVoid, time.Time{}) // no such row
		d.lists(long, false, row, other)
	}},
	{"a charge changes no late row, nor a row that was synced meanwhile", func(d *journalRig) {
		var rows []sharedledger.Row
		for _, state := range []sharedledger.RowState{sharedledger.RowOwed, sharedledger.RowSynced} {
			row := d.becomes(d.begins(d.row("a", noon), sharedledger.Notes{}), state, time.Time{})
			d.becomes(row, sharedledger.RowCharged, noon.Add(second))
			rows = append(rows, row)
		}
		d.lists(long, false, rows...)
		d.becomes(rows[0], sharedledger.RowSynced, time.Time{})
		d.lists(long, true)
	}},
	{"a verdict rides on the next operation", func(d *journalRig) {
		row := d.begins(d.row("a", noon), sharedledger.Notes{})
		next := d.begins(d.row("a", noon.Add(second)), sharedledger.Notes{
			Verdicts: []sharedledger.RowVerdict{{ID: row.ID, State: sharedledger.RowCharged, At: noon.Add(second)}}})
		row.State, row.At = sharedledger.RowCharged, noon.Add(second)
		d.reopened()
		d.lists(long, false, row, next)
	}},
	{"rows of all writers from a time on are listed in the order of writing", func(d *journalRig) {
		late := d.begins(d.row("b", noon.Add(time.Hour)), sharedledger.Notes{})
		early := d.begins(d.row("a", noon), sharedledger.Notes{})
		moved := d.begins(d.row("b", noon.Add(-time.Minute)), sharedledger.Notes{})
		moved = d.becomes(moved, sharedledger.RowCharged, noon.Add(time.Minute))
		d.lists(noon, false, late, early, moved)
		d.lists(noon.Add(time.Microsecond), false, late, moved)
		d.lists(noon.Add(time.Hour), false, late)
		d.lists(noon.Add(2*time.Hour), false)
	}},
	{"an unspent row is not listed", func(d *journalRig) {
		row := d.begins(d.row("a", noon), sharedledger.Notes{})
		void := d.begins(d.row("a", noon), sharedledger.Notes{})
		d.becomes(void, sharedledger.RowVoid, time.Time{})
		d.lists(long, false, row)
		d.lists(long, true)
	}},
	{"late rows of any time are listed", func(d *journalRig) {
		row := d.row("a", noon.Add(-90*24*time.Hour))
		row.State = sharedledger.RowOwed
		row = d.begins(row, sharedledger.Notes{})
		d.begins(d.row("a", noon), sharedledger.Notes{})
		d.lists(noon, true, row)
		d.lists(noon.Add(time.Hour), true, row)
	}},
	{"an account lists its own rows only", func(d *journalRig) {
		other := d.row("a", noon)
		other.Account, other.State = "other", sharedledger.RowOwed
		d.begins(other, sharedledger.Notes{Generation: 9,
			Snapshots: []sharedledger.UsageSnapshot{snapshotOf("units", noon, 1)}, Breaker: &sharedledger.Breaker{Failures: 1}})
		d.lists(long, false)
		d.lists(long, true)
		if s := d.state(); s.Owed || s.Generation != 0 || len(s.Snapshots) != 0 || s.Breaker.Failures != 0 {
			d.Fatalf("the state of an account that was never used is %+v", s)
		}
	}},
	{"deletable rows are finally deleted, and no others", func(d *journalRig) {
		const horizon = 26 * time.Hour
		var want []sharedledger.Row
		owed := d.row("a", noon.Add(-time.Hour))
		owed.State = sharedledger.RowOwed
		want = append(want, d.begins(owed, sharedledger.Notes{}))
		edge := d.becomes(d.begins(d.row("a", noon), sharedledger.Notes{}), sharedledger.RowCharged, noon)
		want = append(want, edge)
		for i := range 300 {
			old := d.begins(d.row("a", noon.Add(-time.Duration(i+1)*time.Millisecond)), sharedledger.Notes{})
			d.becomes(old, []sharedledger.RowState{sharedledger.RowCharged, sharedledger.RowVoid,
				sharedledger.RowSynced, sharedledger.RowAsked}[i%4], time.Time{})
		}
		d.notes(sharedledger.Notes{})
		if rows, _ := d.journal.Rows(d.Context(), account, long, false); len(rows) < 200 {
			d.Fatalf("%d rows are left, though all may go, want at least 200", len(rows))
		}
		for range 300 { // enough for any journal to delete old rows
			want = append(want,
				d.begins(d.row("b", noon.Add(horizon)), sharedledger.Notes{Now: noon.Add(horizon), Forget: horizon}))
		}
		d.lists(noon, false, want[1:]...)
		if rows, err := d.journal.Rows(d.Context(), account, long, false); err != nil || len(rows) > len(want)+50 {
			d.Fatalf("%d rows are left (%v), and %d matter", len(rows), err, len(want))
		}
		d.lists(long, true, want[0])
	}},
}
