package sharedledger_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// The cases of a batch's effect on a log have times in minutes: minute(0) is two days old, and now is minute(60).

func minute(m int) time.Time { return time.Date(2026, 3, 3, 12, m, 0, 0, time.UTC) }

const planHorizon = 26 * time.Hour

func us(m int) int64 { return minute(m).UnixMicro() }

var hour = quota.Window{Name: "1h", Length: time.Hour, Limit: 1000}

// row is one that its writer charged at that minute.
func row(writer string, number int64, m int, amount int64, change ...func(*sharedledger.Row)) sharedledger.Row {
	r := sharedledger.Row{Writer: writer, Number: number, Nonce: 7, At: minute(m), Amounts: quota.Cost{"units": amount},
		Who: quota.Who{Purpose: quota.Scheduled}, State: sharedledger.RowCharged}
	for _, c := range change {
		c(&r)
	}
	return r
}

func in(s sharedledger.RowState) func(*sharedledger.Row) {
	return func(r *sharedledger.Row) { r.State = s }
}

func syncedAt(m int) func(*sharedledger.Row) {
	return func(r *sharedledger.Row) {
		r.State, r.Syncs = sharedledger.RowSynced, []sharedledger.Sync{{Since: minute(m)}}
	}
}

// saw is a snapshot of generation 1: the given amount used from a minute on.
func saw(m, since int, used int64) sharedledger.UsageSnapshot {
	return sharedledger.UsageSnapshot{Pool: "units", Generation: 1, At: minute(m), Windows: []sharedledger.WindowUsage{{Window: hour, Start: minute(since), Used: used}}}
}

func charged(m int, amount int64) sharedledger.Entry {
	return sharedledger.Entry{Ref: 9, At: us(m), Amount: amount, Who: quota.Who{Purpose: quota.Scheduled}}
}

// unknown is an unattributed charge of generation 1.
func unknown(m, since int, amount int64) sharedledger.Entry {
	return sharedledger.Entry{Ref: 9, At: us(m), Amount: amount, Who: sharedledger.Unattributed, Since: us(since), Generation: 1}
}

// text writes a log as "minute:amount", with "~since" behind an unattributed charge and "!minute" behind a synced
// one.
func text(log []sharedledger.Entry) string {
	var out []string
	for _, e := range log {
		s := fmt.Sprintf("%d:%d", (e.At-us(0))/60e6, e.Amount)
		if e.Who == sharedledger.Unattributed {
			s += fmt.Sprintf("~%d", (e.Since-us(0))/60e6)
		}
		if e.Synced > 0 {
			s += fmt.Sprintf("!%d", (e.Synced-us(0))/60e6)
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

type (
	planRows      = []sharedledger.Row
	planSnapshots = []sharedledger.UsageSnapshot
	planLog       = []sharedledger.Entry
)

func TestABatchsEffectOnALog(t *testing.T) {
	wrote := map[string]sharedledger.WriterState{"a": {Number: 3, Nonce: 7, Charged: us(5)}, "b": {Number: 3, Nonce: 7}}
	for _, c := range []struct {
		name      string
		rows      planRows
		snapshots planSnapshots
		raised    []sharedledger.Raised
		log       planLog
		want      string
	}{
		{name: "rows go to their own times, behind those of the same time", rows: planRows{row("c", 1, 20, 2), row("c", 2, 10, 1), row("c", 3, 70, 4)},
			log: planLog{charged(10, 8), charged(30, 8)}, want: "10:8 10:1 20:2 30:8 60:4"},
		{name: "a row whose number its writer has written is there", rows: planRows{row("b", 2, 20, 1), row("b", 3, 20, 2), row("b", 4, 20, 4)}, want: "20:4"},
		{name: "a number that comes twice in a batch is one row", rows: planRows{row("c", 2, 20, 1), row("c", 2, 20, 1), row("c", 1, 21, 1)}, want: "20:1"},
		{name: "what is older than the horizon is not counted", rows: planRows{row("c", 1, 60-26*60, 1), row("c", 2, 61-26*60, 2)}, want: "-1499:2"},
		{name: "a row that was void is none", rows: planRows{row("c", 1, 20, 1, in(sharedledger.RowVoid)), row("c", 2, 20, 2, in(sharedledger.RowUnused))}, want: ""},
		{name: "what was in doubt is counted from its sync on", rows: planRows{row("c", 1, 20, 1, in(sharedledger.RowAsked)), row("c", 2, 21, 2, in(sharedledger.RowOwed)), row("c", 3, 22, 4, syncedAt(40))},
			want: "20:1!60 21:2!60 22:4!40"},
		{name: "an operation that nobody acts upon is taken back", rows: planRows{row("a", 3, 5, 2, in(sharedledger.RowUnused))},
			log: planLog{charged(5, 1), charged(5, 2), charged(5, 2), charged(6, 2)}, want: "5:1 5:2 6:2"},
		{name: "it is, although its writer wrote another since", rows: planRows{row("a", 3, 5, 2, in(sharedledger.RowUnused)), row("a", 4, 8, 1)},
			log: planLog{charged(5, 2), charged(6, 2)}, want: "6:2 8:1"},
		{name: "what was merged or given back since is not", rows: planRows{row("a", 3, 5, 2, in(sharedledger.RowUnused))}, log: planLog{charged(5, 3)}, want: "5:3"},
		{name: "another's nonce is not", rows: planRows{row("a", 3, 5, 2, in(sharedledger.RowUnused), func(r *sharedledger.Row) { r.Nonce = 1 })}, log: planLog{charged(5, 2)}, want: "5:2"},
		{name: "what was synced is not", rows: planRows{row("b", 3, 5, 2, in(sharedledger.RowUnused))}, log: planLog{charged(5, 2)}, want: "5:2"},
		{name: "the newest entry stays, emptied", rows: planRows{row("a", 3, 5, 2, in(sharedledger.RowUnused))}, log: planLog{charged(5, 2)}, want: "5:0"},

		{name: "a snapshot raises to what it saw, at its time", snapshots: planSnapshots{saw(30, 0, 7)}, log: planLog{charged(10, 3), charged(40, 9)}, want: "10:3 30:4~0 40:9"},
		{name: "what left its window before is not in it", snapshots: planSnapshots{saw(30, 15, 7)}, log: planLog{charged(10, 3)}, want: "10:3 30:7~15"},
		{name: "a snapshot that saw less changes nothing", snapshots: planSnapshots{saw(30, 0, 2)}, log: planLog{charged(10, 3)}, want: "10:3"},
		{name: "each window lacks something, the shortest first", snapshots: planSnapshots{{Pool: "units", Generation: 1, At: minute(30), Windows: []sharedledger.WindowUsage{
			{Start: minute(0), Used: 9}, {Start: minute(20), Used: 4}}}}, log: planLog{charged(10, 3)}, want: "10:3 19:2~0!30 30:4~20"},
		{name: "an earlier snapshot has not seen what was synced later", rows: planRows{row("c", 1, 10, 3, in(sharedledger.RowOwed))}, snapshots: planSnapshots{saw(30, 0, 7)}, want: "10:3!60 30:7~0"},
		{name: "one of the same generation has to be younger", snapshots: planSnapshots{saw(30, 0, 7)}, raised: []sharedledger.Raised{{Generation: 1, At: us(30)}}, want: ""},
		{name: "of another generation it need not be", snapshots: planSnapshots{saw(30, 0, 7)}, raised: []sharedledger.Raised{{Generation: 2, At: us(40)}}, want: "30:7~0"},
		{name: "one that saw no windows raises nothing", snapshots: planSnapshots{{Pool: "units", Generation: 1, At: minute(30)}, saw(30, 0, 7)}, want: "30:7~0"},
		{name: "one beyond the horizon says nothing", snapshots: planSnapshots{saw(60-26*60, -2000, 7)}, want: ""},

		{name: "a row is netted against the charge that stood for it", rows: planRows{row("c", 1, 10, 3)}, log: planLog{unknown(30, 0, 7)}, want: "10:3 30:4~0"},
		{name: "what is more than the charge adds", rows: planRows{row("c", 1, 10, 5), row("c", 2, 11, 5)}, log: planLog{unknown(30, 0, 7), charged(40, 1)}, want: "10:5 11:5 40:1"},
		{name: "a row after the snapshot adds", rows: planRows{row("c", 1, 30, 3), row("c", 2, 31, 3)}, log: planLog{unknown(30, 0, 7)}, want: "30:7~0 30:3 31:3"},
		{name: "a row before the charge's window adds", rows: planRows{row("c", 1, 10, 3)}, log: planLog{unknown(30, 15, 7)}, want: "10:3 30:7~15"},
		{name: "a row that the snapshot cannot have counted adds", rows: planRows{row("c", 1, 10, 3, in(sharedledger.RowOwed)), row("c", 2, 11, 3, syncedAt(40))},
			log: planLog{unknown(30, 0, 7)}, want: "10:3!60 11:3!40 30:7~0"},
		{name: "of two charges the earlier is netted first", rows: planRows{row("c", 1, 25, 1), row("c", 2, 10, 5)}, log: planLog{unknown(20, 0, 4), unknown(30, 0, 7)}, want: "10:5 25:1 30:5~0"},
		{name: "rows count before snapshots of the same batch", rows: planRows{row("c", 1, 10, 3)}, snapshots: planSnapshots{saw(30, 0, 7)}, want: "10:3 30:4~0"},

		{name: "what a younger snapshot had counted stays, when a row takes from an older one's charge", rows: planRows{row("c", 1, 1, 5), row("c", 2, 41, 5)},
			raised: []sharedledger.Raised{{Generation: 1, At: us(50), Windows: []sharedledger.RaisedWindow{{Since: us(30), Used: 10}}}},
			log:    planLog{unknown(45, -10, 5), unknown(50, 30, 5)}, want: "1:5 41:5 50:5~30"},

		{name: "an older snapshot takes from the charges of younger ones", snapshots: planSnapshots{saw(20, 0, 5)}, log: planLog{unknown(30, 0, 7)}, want: "20:5~0 30:2~0"},
		{name: "but not of those whose window began later", snapshots: planSnapshots{saw(20, 0, 5)}, log: planLog{unknown(30, 25, 7)}, want: "20:5~0 30:7~25"},
		{name: "the earliest first", snapshots: planSnapshots{saw(20, 0, 5)}, log: planLog{unknown(30, 0, 4), unknown(40, 0, 7)}, want: "20:5~0 40:6~0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := sharedledger.Batch{Rows: c.rows, Snapshots: c.snapshots}
			facts := sharedledger.RemoteFacts{Now: us(60), Horizon: planHorizon.Microseconds(), Writers: wrote,
				Raised: map[string][]sharedledger.Raised{"units": c.raised}}
			log := slices.Clone(c.log)
			p := b.Plan(facts)
			got, changed := applied(p, log)
			if text(got) != c.want {
				t.Errorf("the log is %q, want %q", text(got), c.want)
			}
			if changed == slices.Equal(got, log) {
				t.Errorf("changed: %t, from %q to %q", changed, text(log), text(got))
			}
			if !slices.Equal(log, c.log) {
				t.Errorf("it wrote into the log that it was given: %q, want %v", text(log), c.log)
			}
			// Once more it does nothing.
			facts.Writers, facts.Raised = maps.Clone(wrote), map[string][]sharedledger.Raised{}
			maps.Copy(facts.Writers, p.Writers)
			for _, pool := range p.Pools {
				facts.Raised[pool.Pool] = pool.Raised
			}
			if again, changed := applied(b.Plan(facts), got); changed || text(again) != text(got) {
				t.Errorf("a second time it is %q", text(again))
			}
		})
	}
}

// applied returns the log after a plan that was shown only the part that From names.
func applied(p sharedledger.Plan, log planLog) (out planLog, changed bool) {
	for _, pool := range p.Pools {
		if pool.Idle() {
			continue
		}
		i := slices.IndexFunc(log, func(e sharedledger.Entry) bool { return e.At >= pool.From() })
		if i < 0 {
			i = len(log)
		}
		rest, changed := pool.Apply(log[i:])
		return slices.Concat(log[:i], rest), changed
	}
	return log, false
}

// Hosts that had spent and looked come back in any order after a loss, or stay away: every host's last seen use is
// counted in each window, and nothing more than was spent.
func TestHostsComeBackInAnyOrder(t *testing.T) {
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var all []sharedledger.Batch // two of each host: rows and snapshot may come together or not
		var spent planRows
		for host := range 3 {
			var mine planRows
			for n := range r.IntN(6) {
				mine = append(mine, row(fmt.Sprint("h", host), int64(n+1), 2*r.IntN(29), 1+r.Int64N(9)))
			}
			spent = append(spent, mine...)
			all = append(all, sharedledger.Batch{Rows: mine})
		}
		for host := range 3 {
			m := 1 + 2*r.IntN(29) // a row of the very time of a snapshot may be either counted by it or not
			u := sharedledger.UsageSnapshot{Pool: "units", Generation: sharedledger.Generation(host + 1), At: minute(m)}
			for _, since := range []int{m - 40, 20} { // a sliding window, and one that begins at minute 20, if that has come
				if since <= m {
					u.Windows = append(u.Windows, sharedledger.WindowUsage{Start: minute(since), Used: sum(spent, since, m)})
				}
			}
			if r.IntN(2) == 0 {
				all[host].Snapshots = planSnapshots{u}
			} else {
				all = append(all, sharedledger.Batch{Snapshots: planSnapshots{u}})
			}
		}
		r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		facts := sharedledger.RemoteFacts{Now: us(60), Horizon: planHorizon.Microseconds(), Writers: map[string]sharedledger.WriterState{}, Raised: map[string][]sharedledger.Raised{}}
		var log planLog
		var seen planSnapshots
		for _, b := range all {
			p := b.Plan(facts)
			log, _ = applied(p, log)
			for _, pool := range p.Pools {
				facts.Raised[pool.Pool] = pool.Raised
			}
			maps.Copy(facts.Writers, p.Writers)
			seen = append(seen, b.Snapshots...)
			for _, u := range seen {
				for _, w := range u.Windows {
					if got := counted(log, w.Start, u.At); got < w.Used {
						t.Fatalf("seed %d: %d counted from %s to %s, %d were seen: %s", seed, got, w.Start.Format("15:04"), u.At.Format("15:04"), w.Used, text(log))
					}
				}
			}
			if got, truth := counted(log, minute(-100), minute(60)), sum(spent, -100, 60); got > truth {
				t.Fatalf("seed %d: %d counted, %d spent: %s", seed, got, truth, text(log))
			}
		}
		if got, truth := counted(log, minute(-100), minute(60)), sum(spent, -100, 60); got != truth ||
			slices.ContainsFunc(log, func(e sharedledger.Entry) bool { return e.Who == sharedledger.Unattributed && e.Amount > 0 }) {
			t.Fatalf("seed %d: all are back, %d counted, %d spent: %s", seed, got, truth, text(log))
		}
	}
}

func sum(rows planRows, from, to int) (n int64) {
	for _, r := range rows {
		if !r.At.Before(minute(from)) && !r.At.After(minute(to)) {
			n += r.Amounts["units"]
		}
	}
	return n
}

func counted(log planLog, from, to time.Time) (n int64) {
	for _, e := range log {
		if e.At >= from.UnixMicro() && e.At <= to.UnixMicro() {
			n += e.Amount
		}
	}
	return n
}

func TestEmptyBatchIsRefused(t *testing.T) {
	for _, b := range []sharedledger.Batch{
		{Account: "default", Generation: 1},
		{Account: "default", Generation: 1, Host: &sharedledger.Host{}},
		{Account: "default", Generation: 1, Host: &sharedledger.Host{ID: strings.Repeat("x", 65)}},
		{Account: "default", Generation: 1, Host: &sharedledger.Host{ID: "x", Name: strings.Repeat("x", 1<<15)}},
	} {
		if err := b.Check(); !errors.Is(err, quota.ErrUnknown) || strings.Contains(err.Error(), "%!") {
			t.Errorf("%+v: %v, want error %v", b, err, quota.ErrUnknown)
		}
	}
}
