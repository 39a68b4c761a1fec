package quotatest_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

func TestJournal(t *testing.T) {
	quotatest.RunJournal(t, func(t testing.TB) (sharedledger.Journal, func() sharedledger.Journal) {
		path := filepath.Join(t.TempDir(), "quota.db")
		again := func() sharedledger.Journal {
			l, err := sqliteledger.Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			return l
		}
		return again(), again
	})
}

func TestJournalInMemory(t *testing.T) {
	quotatest.RunJournal(t, func(testing.TB) (sharedledger.Journal, func() sharedledger.Journal) {
		j := &memremote.Journal{}
		return j, func() sharedledger.Journal { return j }
	})
}

// Every way to break a journal that we can think of is caught by the promise that is named here.
func TestSuiteCatchesBrokenJournals(t *testing.T) {
	whole := func(broken func(*memremote.Journal) sharedledger.Journal) func() (sharedledger.Journal, func() sharedledger.Journal) {
		return func() (sharedledger.Journal, func() sharedledger.Journal) {
			j := broken(&memremote.Journal{})
			return j, func() sharedledger.Journal { return j }
		}
	}
	for _, b := range []struct {
		name, caught string
		open         func() (sharedledger.Journal, func() sharedledger.Journal)
	}{
		{"forgets when the process ends", "an operation is written down as asked", func() (sharedledger.Journal, func() sharedledger.Journal) {
			return &memremote.Journal{}, func() sharedledger.Journal { return &memremote.Journal{} }
		}},
		{"begins behind an open breaker", "behind an open breaker", whole(func(j *memremote.Journal) sharedledger.Journal { return &fearless{j} })},
		{"drops the notes behind an open breaker", "behind an open breaker", whole(func(j *memremote.Journal) sharedledger.Journal { return &forgetting{j} })},
		{"lets late rows wait for the breaker", "a late row is written down behind", whole(func(j *memremote.Journal) sharedledger.Journal { return &waiting{j} })},
		{"keeps whatever snapshot comes last", "the youngest snapshot of each pool", whole(func(j *memremote.Journal) sharedledger.Journal { return &lastSnapshot{Journal: j} })},
		{"lists unspent rows", "an unspent row is not listed", whole(func(j *memremote.Journal) sharedledger.Journal { return &charitable{j} })},
		{"believes the last verdict", "a charge changes no late row", whole(func(j *memremote.Journal) sharedledger.Journal { return &swayed{j} })},
		{"lists by time", "rows of all writers from a time on", whole(func(j *memremote.Journal) sharedledger.Journal { return &sorted{j} })},
		{"lists what is owed from a time on", "late rows of any time are listed", whole(func(j *memremote.Journal) sharedledger.Journal { return &forgiving{j} })},
		{"lets go too early", "deletable rows are finally deleted", whole(func(j *memremote.Journal) sharedledger.Journal { return &hasty{j} })},
		{"lets nothing go", "deletable rows are finally deleted", whole(func(j *memremote.Journal) sharedledger.Journal { return &hoarding{j} })},
		{"believes a clock that was set back", "a clock that was set back", whole(func(j *memremote.Journal) sharedledger.Journal { return &believing{Journal: j} })},
		{"counts synced rows no more", "synced spends stay on the budget", whole(func(j *memremote.Journal) sharedledger.Journal { return &relieved{j} })},
		{"keeps on the budget what was given back", "an emergency is given back once", whole(func(j *memremote.Journal) sharedledger.Journal { return &grudging{j} })},
		{"gives back synced rows", "an emergency that was synced meanwhile", whole(func(j *memremote.Journal) sharedledger.Journal { return &generous{j} })},
		{"gives back rows in doubt", "only an emergency is given back", whole(func(j *memremote.Journal) sharedledger.Journal { return &generous{j} })},
		{"does not believe that what was given back was synced", "an emergency given back during its sync", whole(func(j *memremote.Journal) sharedledger.Journal { return &incredulous{Journal: j} })},
		{"gives back to everybody who asks", "only one of two processes gives", whole(func(j *memremote.Journal) sharedledger.Journal { return &agreeable{j} })},
		{"looks first and writes then", "two processes have one budget", whole(func(j *memremote.Journal) sharedledger.Journal { return &racing{Journal: j} })},
	} {
		t.Run(b.name, func(t *testing.T) {
			var also []string
			hit := false
			for _, c := range quotatest.JournalCases() {
				why := said(t, func(t testing.TB) {
					c.Check(t, func(testing.TB) (sharedledger.Journal, func() sharedledger.Journal) { return b.open() })
				})
				switch {
				case strings.HasPrefix(c.Name, b.caught):
					hit = true
					if why == "" {
						t.Errorf("%s: %s passes", b.name, c.Name)
					}
					t.Logf("%s: %s", c.Name, why)
				case why != "":
					also = append(also, c.Name)
				}
			}
			if !hit {
				t.Errorf("there is no promise %q", b.caught)
			}
			t.Logf("and by %q", also)
		})
	}
}

type fearless struct{ *memremote.Journal }

func (j *fearless) Begin(ctx context.Context, row sharedledger.Row, n sharedledger.Notes) (int64, sharedledger.JournalState, error) {
	id, s, err := j.Journal.Begin(ctx, row, n)
	if id == 0 && err == nil {
		open := s.Breaker
		id, _, _ = j.Journal.Begin(ctx, row, sharedledger.Notes{Breaker: &sharedledger.Breaker{}})
		_ = j.Note(ctx, row.Account, sharedledger.Notes{Breaker: &open})
	}
	return id, s, err
}

type forgetting struct{ *memremote.Journal }

func (j *forgetting) Begin(ctx context.Context, row sharedledger.Row, n sharedledger.Notes) (int64, sharedledger.JournalState, error) {
	if s, err := j.State(ctx, row.Account); err != nil || s.Breaker.Until.After(row.At) && n.Breaker == nil {
		return 0, s, err
	}
	return j.Journal.Begin(ctx, row, n)
}

type waiting struct{ *memremote.Journal }

func (j *waiting) Begin(ctx context.Context, row sharedledger.Row, n sharedledger.Notes) (int64, sharedledger.JournalState, error) {
	if n.Breaker != nil && n.Breaker.Until.After(row.At) {
		return 0, sharedledger.JournalState{Breaker: *n.Breaker}, j.Note(ctx, row.Account, n)
	}
	return j.Journal.Begin(ctx, row, n)
}

type lastSnapshot struct {
	*memremote.Journal

	last []sharedledger.UsageSnapshot
}

func (j *lastSnapshot) Note(ctx context.Context, account string, n sharedledger.Notes) error {
	if len(n.Snapshots) > 0 {
		j.last = n.Snapshots
	}
	return j.Journal.Note(ctx, account, n)
}

func (j *lastSnapshot) State(ctx context.Context, account string) (sharedledger.JournalState, error) {
	s, err := j.Journal.State(ctx, account)
	s.Snapshots = j.last
	return s, err
}

type charitable struct{ *memremote.Journal }

func (j *charitable) Note(ctx context.Context, account string, n sharedledger.Notes) error {
	for i := range n.Verdicts {
		if n.Verdicts[i].State == sharedledger.RowVoid {
			n.Verdicts[i].State = sharedledger.RowAsked
		}
	}
	return j.Journal.Note(ctx, account, n)
}

type swayed struct{ *memremote.Journal }

func (j *swayed) Note(ctx context.Context, account string, n sharedledger.Notes) error {
	var first []sharedledger.RowVerdict
	for _, v := range n.Verdicts {
		first = append(first, sharedledger.RowVerdict{ID: v.ID, State: sharedledger.RowAsked})
	}
	if err := j.Journal.Note(ctx, account, sharedledger.Notes{Verdicts: first}); err != nil {
		return err
	}
	return j.Journal.Note(ctx, account, n)
}

type sorted struct{ *memremote.Journal }

func (j *sorted) Rows(ctx context.Context, account string, since time.Time, owed bool) ([]sharedledger.Row, error) {
	rows, err := j.Journal.Rows(ctx, account, since, owed)
	for i := range rows {
		for k := i; k > 0 && rows[k].At.Before(rows[k-1].At); k-- {
			rows[k], rows[k-1] = rows[k-1], rows[k]
		}
	}
	return rows, err
}

type forgiving struct{ *memremote.Journal }

func (j *forgiving) Rows(ctx context.Context, account string, since time.Time, owed bool) ([]sharedledger.Row, error) {
	rows, err := j.Journal.Rows(ctx, account, since, owed)
	var out []sharedledger.Row
	for _, r := range rows {
		if !r.At.Before(since) {
			out = append(out, r)
		}
	}
	return out, err
}

type hasty struct{ *memremote.Journal }

func (j *hasty) Begin(ctx context.Context, row sharedledger.Row, n sharedledger.Notes) (int64, sharedledger.JournalState, error) {
	n.Forget -= time.Hour
	return j.Journal.Begin(ctx, row, n)
}

type hoarding struct{ *memremote.Journal }

func (j *hoarding) Begin(ctx context.Context, row sharedledger.Row, n sharedledger.Notes) (int64, sharedledger.JournalState, error) {
	n.Now = time.Time{}
	return j.Journal.Begin(ctx, row, n)
}

type believing struct {
	*memremote.Journal

	mu   sync.Mutex
	last time.Time
}

func (j *believing) Allow(ctx context.Context, row sharedledger.Row, budgets []quota.EmergencyBudget) (int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if row.At.Before(j.last) {
		budgets = nil
	}
	j.last = row.At
	return j.Journal.Allow(ctx, row, budgets)
}

type relieved struct{ *memremote.Journal }

func (j *relieved) Allow(ctx context.Context, row sharedledger.Row, budgets []quota.EmergencyBudget) (int64, error) {
	rows, _ := j.Rows(ctx, row.Account, time.Time{}, false)
	var more []quota.EmergencyBudget
	for _, b := range budgets {
		for _, r := range rows {
			if r.State == sharedledger.RowSynced && r.Emergency {
				b.Amount += r.Amounts[b.Pool]
			}
		}
		more = append(more, b)
	}
	return j.Journal.Allow(ctx, row, more)
}

// grudging says that it gives back.
type grudging struct{ *memremote.Journal }

func (*grudging) RefundEmergency(context.Context, string, int64) error { return nil }

// generous gives back whatever the row is.
type generous struct{ *memremote.Journal }

func (j *generous) RefundEmergency(ctx context.Context, account string, id int64) error {
	return j.Note(ctx, account, sharedledger.Notes{Verdicts: []sharedledger.RowVerdict{{ID: id, State: sharedledger.RowVoid}}})
}

// incredulous believes no verdict on an operation that it gave back.
type incredulous struct {
	*memremote.Journal

	back []int64
}

func (j *incredulous) RefundEmergency(ctx context.Context, account string, id int64) error {
	j.back = append(j.back, id)
	return j.Journal.RefundEmergency(ctx, account, id)
}

func (j *incredulous) Note(ctx context.Context, account string, n sharedledger.Notes) error {
	n.Verdicts = slices.DeleteFunc(n.Verdicts, func(v sharedledger.RowVerdict) bool { return slices.Contains(j.back, v.ID) })
	return j.Journal.Note(ctx, account, n)
}

// agreeable never says that there was nothing to give back.
type agreeable struct{ *memremote.Journal }

func (j *agreeable) RefundEmergency(ctx context.Context, account string, id int64) error {
	_ = j.Journal.RefundEmergency(ctx, account, id)
	return nil
}

// racing answers from a moment ago.
type racing struct {
	*memremote.Journal

	mu   sync.Mutex
	rows int
}

func (j *racing) Allow(ctx context.Context, row sharedledger.Row, budgets []quota.EmergencyBudget) (int64, error) {
	j.mu.Lock()
	j.rows++
	stale := j.rows%10 == 0
	j.mu.Unlock()
	if stale {
		budgets = nil
	}
	return j.Journal.Allow(ctx, row, budgets)
}
