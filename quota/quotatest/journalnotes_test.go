package quotatest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var journalNotes = []JournalCase{
	{"a data directory has one random id", func(d *journalRig) {
		id := d.state().HostID
		if id == "" {
			d.Fatalf("the host's id: got none, want one")
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
	{"an account that was never used has an empty state", func(d *journalRig) {
		s := d.state()
		if len(s.Snapshots) > 0 {
			d.Fatalf("%+v, want no snapshots", s)
		}
		if s.Generation != 0 || s.Owed || s.HasWritten || len(s.Written) > 0 || !s.Breaker.Until.IsZero() ||
			s.Breaker.Failures != 0 || s.Breaker.Why != "" {
			d.Fatalf("%+v, want an empty state", s)
		}
		d.lists(long, false)
	}},
	{"the generation stays until another is noted", func(d *journalRig) {
		d.notes(sharedledger.Notes{Generation: sharedledger.MaxGeneration})
		d.notes(sharedledger.Notes{})
		d.begins(d.row("a", noon), sharedledger.Notes{})
		d.reopened()
		if got := d.state().Generation; got != sharedledger.MaxGeneration {
			d.Fatalf("generation %d, want %v", got, sharedledger.MaxGeneration)
		}
		if _, s, err := d.journal.Begin(d.Context(), d.row("a", noon), sharedledger.Notes{Generation: 5}); err != nil ||
			s.Generation != 5 {
			d.Fatalf("generation %d behind a begin that notes 5 (%v)", s.Generation, err)
		}
	}},
	{"the breaker stays as last noted", func(d *journalRig) {
		want := sharedledger.Breaker{Until: noon.Add(5 * second), Failures: 3, Why: "connection refused",
			Server: &quota.ServerError{Cause: "a", Cure: "b", Err: errors.New("connection refused")}}
		d.notes(sharedledger.Notes{Breaker: &want})
		d.notes(sharedledger.Notes{Generation: 1})
		d.reopened()
		got := d.state().Breaker
		server := got.Server != nil && got.Server.Cause == "a" && got.Server.Cure == "b"
		if !got.Until.Equal(want.Until) || got.Failures != 3 || got.Why != want.Why || !server {
			d.Fatalf("breaker %+v, want %+v", got, want)
		}
		d.notes(sharedledger.Notes{Breaker: &sharedledger.Breaker{}})
		if got := d.state().Breaker; !got.Until.IsZero() || got.Failures != 0 || got.Why != "" {
			d.Fatalf("breaker %+v, want it closed", got)
		}
	}},
	{"the hosts stay until others are noted", func(d *journalRig) {
		d.notes(sharedledger.Notes{Hosts: []string{"a", "b"}})
		d.notes(sharedledger.Notes{Generation: 3})
		d.begins(d.row("a", noon), sharedledger.Notes{})
		d.reopened()
		if got := d.state().Hosts; !slices.Equal(got, []string{"a", "b"}) {
			d.Fatalf("hosts %v, want [a b]", got)
		}
		d.notes(sharedledger.Notes{Hosts: []string{"c"}})
		if got := d.state().Hosts; !slices.Equal(got, []string{"c"}) {
			d.Fatalf("hosts %v, want [c]", got)
		}
		if s, err := d.journal.State(d.Context(), "other"); err != nil || len(s.Hosts) != 0 {
			d.Fatalf("another account has the hosts %v (%v)", s.Hosts, err)
		}
	}},
	{"the synced part of a row, and when, is kept", func(d *journalRig) {
		charged := d.becomes(d.begins(d.row("a", noon), sharedledger.Notes{}), sharedledger.RowCharged, noon)
		asked := d.begins(d.row("b", noon), sharedledger.Notes{})
		synced := func(since time.Time, until, now sharedledger.Generation) {
			d.notes(sharedledger.Notes{Generation: now, Verdicts: []sharedledger.RowVerdict{
				{ID: charged.ID, State: sharedledger.RowSynced, Synced: since, Until: until},
				{ID: asked.ID, State: sharedledger.RowSynced, Synced: since, Until: until}}})
		}
		at := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
		synced(at(1), 11, 22)
		charged.State, asked.State = sharedledger.RowSynced, sharedledger.RowSynced
		charged.Syncs, asked.Syncs = []sharedledger.Sync{{Until: 11}, {Since: at(1)}}, []sharedledger.Sync{{Since: at(1)}}
		d.lists(long, false, charged, asked)
		d.written(asked, charged)
		synced(at(2), 11, 22) // another process of the data directory has noted it before
		d.lists(long, false, charged, asked)
		synced(at(3), 22, 33)
		charged.Syncs = []sharedledger.Sync{{Until: 11}, {Since: at(1), Until: 22}, {Since: at(3)}}
		asked.Syncs = charged.Syncs[1:]
		d.reopened()
		d.lists(long, false, charged, asked)
		for n := range 40 {
			synced(at(4+n), sharedledger.Generation(33+n), sharedledger.Generation(34+n))
		}
		rows, err := d.journal.Rows(d.Context(), account, long, false)
		if err != nil || len(rows) != 2 || len(rows[0].Syncs) < 3 ||
			!rows[0].Syncs[len(rows[0].Syncs)-1].Since.Equal(at(43)) {
			d.Fatalf("%+v %v: want the newest sync", rows, err)
		}
	}},
	{"an unused row is late until it is void", func(d *journalRig) {
		row := d.becomes(d.begins(d.row("a", noon), sharedledger.Notes{}), sharedledger.RowUnused, time.Time{})
		d.lists(long, true, row)
		d.reopened()
		if s := d.state(); !s.Owed || len(s.Asked) != 0 || s.HasWritten {
			d.Fatalf("%+v, want it owed, with nothing asked or written", s)
		}
		d.becomes(row, sharedledger.RowVoid, time.Time{})
		d.lists(long, true)
		d.lists(long, false)
		if d.state().Owed {
			d.Fatalf("a void row: got it owed, want it not owed")
		}
	}},
	{"behind an open breaker nothing is begun, but the notes are written", func(d *journalRig) {
		row := d.begins(d.row("a", noon), sharedledger.Notes{})
		d.notes(sharedledger.Notes{Breaker: &sharedledger.Breaker{Until: noon.Add(5 * second), Failures: 1}})
		id, s, err := d.journal.Begin(d.Context(), d.row("a", noon.Add(5*second-time.Microsecond)),
			sharedledger.Notes{Verdicts: []sharedledger.RowVerdict{{ID: row.ID, State: sharedledger.RowCharged}},
				Snapshots: []sharedledger.UsageSnapshot{snapshotOf("units", noon, 3)}})
		if err != nil || id != 0 || !s.Breaker.Until.Equal(noon.Add(5*second)) || s.Breaker.Failures != 1 ||
			!s.HasWritten || len(s.Snapshots) != 1 {
			d.Fatalf("id %d, state %+v, %v", id, s, err)
		}
		row.State = sharedledger.RowCharged
		d.reopened()
		d.lists(long, false, row)
		d.snapshots(snapshotOf("units", noon, 3))
		next := d.begins(d.row("a", noon.Add(5*second)), sharedledger.Notes{}) // it is over
		d.lists(long, false, row, next)
	}},
	{"a begin's own notes open and close the breaker before it", func(d *journalRig) {
		id, _, err := d.journal.Begin(d.Context(), d.row("a", noon),
			sharedledger.Notes{Breaker: &sharedledger.Breaker{Until: noon.Add(second)}})
		if err != nil || id != 0 {
			d.Fatalf("id %d, %v: begun behind the breaker that it opened", id, err)
		}
		d.begins(d.row("a", noon), sharedledger.Notes{Breaker: &sharedledger.Breaker{}})
	}},
	{"a late row is written down behind an open breaker, too", func(d *journalRig) {
		row := d.row("a", noon)
		row.State = sharedledger.RowOwed
		row = d.begins(row, sharedledger.Notes{Breaker: &sharedledger.Breaker{Until: noon.Add(second)}})
		d.lists(long, true, row)
	}},
	{"the youngest snapshot of each pool is kept", func(d *journalRig) {
		units, search := snapshotOf("units", noon, 10), snapshotOf("search", noon.Add(-time.Hour), 5)
		units.Drain, units.Owed = quota.Drain{Until: noon.Add(time.Hour), Used: 6812, By: quota.ByHand,
			At: noon, Probe: 2}, true
		d.notes(sharedledger.Notes{Snapshots: []sharedledger.UsageSnapshot{units, search}})
		d.snapshots(units, search)
		d.notes(sharedledger.Notes{Snapshots: []sharedledger.UsageSnapshot{snapshotOf("units",
			noon.Add(-time.Microsecond), 99), snapshotOf("search", noon.Add(-time.Minute), 7)}})
		search = snapshotOf("search", noon.Add(-time.Minute), 7)
		d.reopened()
		d.snapshots(units, search)
		later := snapshotOf("units", noon.Add(time.Microsecond), 1)
		later.Generation = 3 // even of a smaller generation or usage
		d.begins(d.row("a", noon), sharedledger.Notes{Snapshots: []sharedledger.UsageSnapshot{later}})
		kept := later
		kept.Drain, kept.Owed = units.Drain, true // an owed drain ends when it is synced or lifted
		d.snapshots(kept, search)
		kept.Owed, kept.At = false, noon.Add(second)
		d.notes(sharedledger.Notes{Snapshots: []sharedledger.UsageSnapshot{kept}})
		d.snapshots(kept, search)
		later.At = noon.Add(2 * second)
		d.notes(sharedledger.Notes{Snapshots: []sharedledger.UsageSnapshot{later}})
		d.snapshots(later, search)
	}},
	{"a snapshot of a host that does not know never makes a pool's unknown use known", func(d *journalRig) {
		unknown := quota.Drain{Until: noon.Add(time.Hour), By: quota.ByUnknown, At: noon}
		closed := snapshotOf("units", noon.Add(time.Microsecond), 10)
		closed.Drain, closed.Owed = unknown, true
		later := snapshotOf("units", noon.Add(second), 11)
		want := later
		want.Drain, want.Owed = unknown, true
		for range 2 { // one after the other, in both orders
			d.notes(sharedledger.Notes{Snapshots: []sharedledger.UsageSnapshot{closed}})
			d.notes(sharedledger.Notes{Snapshots: []sharedledger.UsageSnapshot{later}})
			d.reopened()
			d.snapshots(want)
		}
		want.At, want.Owed = noon.Add(2*second), false // it was synced
		d.notes(sharedledger.Notes{Snapshots: []sharedledger.UsageSnapshot{want}})
		d.snapshots(want)
		// it is known
		want.At, want.Drain = noon.Add(3*second),
			quota.Drain{Until: noon.Add(second), By: quota.ByUnknown, At: noon.Add(second)}
		d.notes(sharedledger.Notes{Snapshots: []sharedledger.UsageSnapshot{want}})
		d.notes(sharedledger.Notes{Snapshots: []sharedledger.UsageSnapshot{closed}})
		d.snapshots(want)
	}},
	{"the state has the asked rows without an answer, newest first", func(d *journalRig) {
		d.becomes(d.begins(d.row("a", noon), sharedledger.Notes{}), sharedledger.RowCharged, time.Time{})
		var ids []int64
		for i := range sharedledger.MaxAsked + 3 {
			ids = append(ids, d.begins(d.row("b", noon.Add(-time.Duration(i)*second)), sharedledger.Notes{}).ID)
		}
		d.becomes(sharedledger.Row{ID: ids[len(ids)-2]}, sharedledger.RowVoid, time.Time{})
		d.reopened()
		asked := d.state().Asked
		if len(asked) != sharedledger.MaxAsked || asked[0].ID != ids[len(ids)-1] || asked[1].ID != ids[len(ids)-3] ||
			asked[0].State != sharedledger.RowAsked {
			d.Fatalf("%d rows, the first %+v: want %d, the first of id %d", len(asked), asked[:min(2, len(asked))],
				sharedledger.MaxAsked, ids[len(ids)-1])
		}
	}},
	{"the state has each writer's last operation in the ledger", func(d *journalRig) {
		first, second := d.begins(d.row("a", noon), sharedledger.Notes{}), d.begins(d.row("b", noon), sharedledger.Notes{})
		third := d.begins(d.row("b", noon), sharedledger.Notes{})
		d.written()
		third = d.becomes(third, sharedledger.RowCharged, noon)
		second = d.becomes(second, sharedledger.RowCharged, noon.Add(20*time.Second))
		first = d.becomes(first, sharedledger.RowCharged, noon.Add(time.Hour))
		d.begins(d.row("b", noon), sharedledger.Notes{})
		d.reopened()
		d.written(third, first)
		d.becomes(third, sharedledger.RowVoid, time.Time{})
		d.written(second, first)
		d.becomes(second, sharedledger.RowVoid, time.Time{})
		first = d.becomes(first, sharedledger.RowSynced, time.Time{})
		d.written(first)
		d.becomes(first, sharedledger.RowOwed, time.Time{})
		d.written()
	}},
	{"with very many writers the state has the last names", func(d *journalRig) {
		n := sharedledger.Notes{}
		for i := range sharedledger.MaxWritten + 2 {
			n.Verdicts = append(n.Verdicts, sharedledger.RowVerdict{ID: d.begins(d.row(fmt.Sprintf("w%06d", i), noon),
				sharedledger.Notes{}).ID, State: sharedledger.RowCharged})
		}
		d.notes(n)
		all := d.state().Written
		if len(all) != sharedledger.MaxWritten || all[0].Writer != fmt.Sprintf("w%06d", sharedledger.MaxWritten+1) ||
			all[len(all)-1].Writer != "w000002" {
			d.Fatalf("%d writers from %+v to %+v, want %d", len(all), all[0], all[len(all)-1], sharedledger.MaxWritten)
		}
	}},
}

// written wants the state to have these rows as the last of each writer, in this order.
func (d *journalRig) written(want ...sharedledger.Row) {
	d.Helper()
	s := d.state()
	same := slices.EqualFunc(s.Written, want, func(got sharedledger.LastWrite, r sharedledger.Row) bool {
		return got.Writer == r.Writer && got.Number == r.Number && got.At.Equal(r.At)
	})
	if !same || s.HasWritten != (len(want) > 0) {
		d.Fatalf("written (%t) %+v, want %+v", s.HasWritten, s.Written, want)
	}
}
