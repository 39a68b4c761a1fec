package quotatest

import (
	"sync"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var journalBudgets = []JournalCase{
	{"an emergency is written down as owed where the budget has room", func(d *journalRig) {
		budget := quota.EmergencyBudget{Pool: "units", Amount: 3, Since: noon.Add(-time.Hour)}
		var rows []sharedledger.Row
		for range 3 {
			rows = append(rows, d.allows(true, d.row("a", noon), budget))
		}
		d.allows(false, d.row("a", noon), budget)
		d.reopened()
		d.allows(false, d.row("a", noon), budget)
		d.lists(long, true, rows...)
		d.lists(long, false, rows...)
	}},
	{"one of two budgets without room is enough to refuse, and nothing is written", func(d *journalRig) {
		row := d.row("a", noon)
		row.Amounts = quota.Cost{"units": 2, "search": 1}
		units, search := quota.EmergencyBudget{Pool: "units", Amount: 2}, quota.EmergencyBudget{Pool: "search", Amount: 1}
		for _, budgets := range [][]quota.EmergencyBudget{{units, {Pool: "search"}}, {{Pool: "units", Amount: 1}, search}} {
			d.allows(false, row, budgets...)
			d.lists(long, false)
		}
		d.allows(true, row, units, search)
	}},
	{"an emergency counts from the budget's start on, its first instant included", func(d *journalRig) {
		d.allows(true, d.row("a", noon), quota.EmergencyBudget{Pool: "units", Amount: 1})
		d.allows(false, d.row("a", noon.Add(time.Hour)), quota.EmergencyBudget{Pool: "units", Amount: 1, Since: noon})
		d.allows(true, d.row("a", noon.Add(time.Hour)),
			quota.EmergencyBudget{Pool: "units", Amount: 1, Since: noon.Add(time.Microsecond)})
	}},
	{"a clock that was set back does not open a budget again", func(d *journalRig) {
		d.allows(true, d.row("a", noon), quota.EmergencyBudget{Pool: "units", Amount: 1, Since: noon.Add(-24 * time.Hour)})
		back := noon.Add(-48 * time.Hour)
		d.allows(false, d.row("a", back), quota.EmergencyBudget{Pool: "units", Amount: 1, Since: back.Add(-24 * time.Hour)})
	}},
	{"an emergency under a clock a year ahead counts for a window by the right clock, and no longer", func(d *journalRig) {
		day := func(now time.Time) quota.EmergencyBudget {
			return quota.EmergencyBudget{Pool: "units", Amount: 1, Since: now.Add(-24 * time.Hour)}
		}
		ahead := noon.AddDate(1, 0, 0)
		d.allows(true, d.row("a", ahead), day(ahead))
		d.allows(false, d.row("a", noon), day(noon))
		d.reopened()
		almost := noon.Add(24 * time.Hour)
		d.allows(false, d.row("a", almost), day(almost))
		d.allows(true, d.row("a", almost.Add(time.Microsecond)), day(almost.Add(time.Microsecond)))
		d.allows(false, d.row("a", almost.Add(time.Hour)), day(almost.Add(time.Hour)))
	}},
	{"synced spends stay on the budget", func(d *journalRig) {
		budget := quota.EmergencyBudget{Pool: "units", Amount: 1, Since: noon.Add(-time.Hour)}
		d.becomes(d.allows(true, d.row("a", noon), budget), sharedledger.RowSynced, time.Time{})
		d.allows(false, d.row("a", noon.Add(time.Minute)), budget)
	}},
	{"an emergency is given back once, and is then neither owed nor on a budget", func(d *journalRig) {
		budget := quota.EmergencyBudget{Pool: "units", Amount: 1, Since: noon.Add(-time.Hour)}
		row := d.allows(true, d.row("a", noon), budget)
		d.refunds(true, row)
		d.refunds(false, row)
		d.reopened()
		d.refunds(false, row)
		d.lists(long, true)
		d.lists(long, false)
		if s := d.state(); s.Owed || s.HasWritten {
			d.Fatalf("%+v: want no late or written row", s)
		}
		row = d.allows(true, d.row("a", noon), budget)
		d.allows(false, d.row("a", noon), budget)
		d.lists(long, true, row)
	}},
	{"an emergency that was synced meanwhile is not given back", func(d *journalRig) {
		budget := quota.EmergencyBudget{Pool: "units", Amount: 1, Since: noon.Add(-time.Hour)}
		row := d.becomes(d.allows(true, d.row("a", noon), budget), sharedledger.RowSynced, time.Time{})
		d.refunds(false, row)
		d.lists(long, false, row)
		d.allows(false, d.row("a", noon), budget)
	}},
	{"an emergency given back during its sync is synced nevertheless", func(d *journalRig) {
		budget := quota.EmergencyBudget{Pool: "units", Amount: 1, Since: noon.Add(-time.Hour)}
		row := d.allows(true, d.row("a", noon), budget)
		d.refunds(true, row)
		d.notes(sharedledger.Notes{Verdicts: []sharedledger.RowVerdict{{ID: row.ID, State: sharedledger.RowSynced,
			Synced: noon.Add(second)}}})
		row.State, row.Syncs = sharedledger.RowSynced, []sharedledger.Sync{{Since: noon.Add(second)}}
		d.lists(long, false, row)
		d.written(row)
		d.refunds(false, row)
		d.allows(false, d.row("a", noon), budget)
	}},
	{"only an emergency is given back, never a row in doubt", func(d *journalRig) {
		var rows []sharedledger.Row
		for _, state := range []sharedledger.RowState{sharedledger.RowAsked, sharedledger.RowCharged,
			sharedledger.RowOwed, sharedledger.RowSynced, sharedledger.RowUnused} {
			row := d.begins(d.row("a", noon), sharedledger.Notes{})
			if state != sharedledger.RowAsked {
				row = d.becomes(row, state, time.Time{})
			}
			rows = append(rows, row)
		}
		rows = append(rows, d.allows(true, d.row("a", noon)))
		for i, row := range rows {
			if i == len(rows)-1 {
				row.Account = "other"
			}
			d.refunds(false, row)
		}
		d.refunds(false, sharedledger.Row{Account: account, ID: rows[len(rows)-1].ID + 1})
		d.lists(long, false, rows...)
	}},
	{"only emergencies of the account count", func(d *journalRig) {
		budget := quota.EmergencyBudget{Pool: "units", Amount: 1, Since: noon.Add(-time.Hour)}
		d.becomes(d.begins(d.row("a", noon), sharedledger.Notes{}), sharedledger.RowCharged, time.Time{})
		owed, other := d.row("a", noon), d.row("a", noon)
		owed.State, other.Account = sharedledger.RowOwed, "other"
		d.begins(owed, sharedledger.Notes{})
		d.allows(true, other, budget)
		d.allows(true, d.row("a", noon), budget)
		d.allows(false, d.row("a", noon), budget)
	}},
}

var journalShared = []JournalCase{
	{"two processes write at once, and nothing is lost", func(d *journalRig) {
		const each = 60
		handles := []sharedledger.Journal{d.journal, d.again()}
		var wg sync.WaitGroup
		for i, writer := range []string{"a", "b", "c", "d"} {
			wg.Go(func() {
				j, notes := handles[i%2], sharedledger.Notes{}
				for n := range int64(each) {
					row := sharedledger.Row{Account: account, Writer: writer, Number: n + 1, Nonce: 1,
						At: noon, Amounts: quota.Cost{"units": 1}}
					id, _, err := j.Begin(d.Context(), row, notes)
					if err != nil || id == 0 {
						d.Errorf("begin: id %d, %v", id, err)
					}
					notes.Verdicts = []sharedledger.RowVerdict{{ID: id, State: sharedledger.RowCharged}}
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
			if r.Number != numbers[r.Writer]+1 || i > 0 && r.ID <= rows[i-1].ID ||
				(r.State == sharedledger.RowCharged) != (r.Number < each) {
				d.Fatalf("row %d: %+v after number %d", i, r, numbers[r.Writer])
			}
			numbers[r.Writer]++
		}
	}},
	{"two processes have one budget", func(d *journalRig) {
		const room = 20
		handles := []sharedledger.Journal{d.journal, d.again()}
		var allowed [4]int
		var wg sync.WaitGroup
		for i := range allowed {
			wg.Go(func() {
				for range room {
					row := sharedledger.Row{Account: account, At: noon, Amounts: quota.Cost{"units": 1}}
					id, err := handles[i%2].Allow(d.Context(), row, []quota.EmergencyBudget{{Pool: "units", Amount: room}})
					if err != nil {
						d.Errorf("allow: %v", err)
					}
					if id != 0 {
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
	{"only one of two processes gives an emergency back", func(d *journalRig) {
		handles := []sharedledger.Journal{d.journal, d.again()}
		for range 20 {
			row := d.allows(true, d.row("a", noon))
			var errs [2]error
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() { errs[i] = handles[i].RefundEmergency(d.Context(), account, row.ID) })
			}
			wg.Wait()
			if (errs[0] == nil) == (errs[1] == nil) {
				d.Fatalf("given back: %v and %v", errs[0], errs[1])
			}
		}
		d.lists(long, true)
	}},
	{"a process sees another's notes", func(d *journalRig) {
		other := d.again()
		row := d.begins(d.row("a", noon),
			sharedledger.Notes{Generation: 3, Snapshots: []sharedledger.UsageSnapshot{snapshotOf("units", noon, 4)}})
		if err := other.Note(d.Context(), account, sharedledger.Notes{Verdicts: []sharedledger.RowVerdict{
			{ID: row.ID, State: sharedledger.RowOwed}}, Breaker: &sharedledger.Breaker{Until: noon.Add(second)}}); err != nil {
			d.Fatal(err)
		}
		s, err := other.State(d.Context(), account)
		if err != nil || s.Generation != 3 || len(s.Snapshots) != 1 || !s.Owed {
			d.Fatalf("%+v %v, want generation 3, one snapshot, owed", s, err)
		}
		if id, s, err := d.journal.Begin(d.Context(), d.row("a", noon), sharedledger.Notes{}); err != nil ||
			id != 0 || !s.Owed {
			d.Fatalf("id %d, %+v %v: want it refused by the other's breaker", id, s, err)
		}
	}},
}
