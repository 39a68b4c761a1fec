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
	{"of two budgets one without room is enough, and nothing is written", func(d *journalRig) {
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
		d.allows(true, d.row("a", noon.Add(time.Hour)), quota.EmergencyBudget{Pool: "units", Amount: 1, Since: noon.Add(time.Microsecond)})
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
	{"what was synced into the ledger stays on the budget", func(d *journalRig) {
		budget := quota.EmergencyBudget{Pool: "units", Amount: 1, Since: noon.Add(-time.Hour)}
		d.allows(true, d.row("a", noon), budget)
		rows, err := d.journal.Rows(d.Context(), account, long, true)
		if err != nil || len(rows) != 1 {
			d.Fatalf("%+v %v", rows, err)
		}
		d.becomes(rows[0], sharedledger.RowSynced, time.Time{})
		d.allows(false, d.row("a", noon.Add(time.Minute)), budget)
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
					row := sharedledger.Row{Account: account, Writer: writer, Number: n + 1, Nonce: 1, At: noon, Amounts: quota.Cost{"units": 1}}
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
			if r.Number != numbers[r.Writer]+1 || i > 0 && r.ID <= rows[i-1].ID || (r.State == sharedledger.RowCharged) != (r.Number < each) {
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
					ok, err := handles[i%2].Allow(d.Context(), row, []quota.EmergencyBudget{{Pool: "units", Amount: room}})
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
	{"what one process notes another sees", func(d *journalRig) {
		other := d.again()
		row := d.begins(d.row("a", noon), sharedledger.Notes{Generation: 3, Snapshots: []sharedledger.UsageSnapshot{snapshotOf("units", noon, 4)}})
		if err := other.Note(d.Context(), account, sharedledger.Notes{Verdicts: []sharedledger.RowVerdict{{ID: row.ID, State: sharedledger.RowOwed}}, Breaker: &sharedledger.Breaker{Until: noon.Add(second)}}); err != nil {
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
