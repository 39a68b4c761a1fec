package quotatest_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
	"github.com/trendvidstream/ingest/quota/quotatest"
)

// Every way to break a journal that we can think of is caught by the promise that is named here.
func TestSuiteCatchesBrokenJournals(t *testing.T) {
	whole := func(broken func(*memledger.Journal) quota.Journal) func() (quota.Journal, func() quota.Journal) {
		return func() (quota.Journal, func() quota.Journal) {
			j := broken(&memledger.Journal{})
			return j, func() quota.Journal { return j }
		}
	}
	for _, b := range []struct {
		name, caught string
		open         func() (quota.Journal, func() quota.Journal)
	}{
		{"forgets when the process ends", "an operation is written down as asked", func() (quota.Journal, func() quota.Journal) {
			return &memledger.Journal{}, func() quota.Journal { return &memledger.Journal{} }
		}},
		{"begins behind an open breaker", "behind an open breaker", whole(func(j *memledger.Journal) quota.Journal { return &fearless{j} })},
		{"drops the notes behind an open breaker", "behind an open breaker", whole(func(j *memledger.Journal) quota.Journal { return &forgetting{j} })},
		{"lets what is owed wait for the breaker", "what is owed is written down behind", whole(func(j *memledger.Journal) quota.Journal { return &waiting{j} })},
		{"keeps whatever look comes last", "of each pool the youngest look", whole(func(j *memledger.Journal) quota.Journal { return &lastLook{Journal: j} })},
		{"lists what was not spent", "what was not spent", whole(func(j *memledger.Journal) quota.Journal { return &charitable{j} })},
		{"believes the last verdict", "that it was charged is no news", whole(func(j *memledger.Journal) quota.Journal { return &swayed{j} })},
		{"lists by time", "rows are listed from a time on", whole(func(j *memledger.Journal) quota.Journal { return &sorted{j} })},
		{"lists what is owed from a time on", "what is owed is listed of any time", whole(func(j *memledger.Journal) quota.Journal { return &forgiving{j} })},
		{"lets go too early", "what may go is forgotten in the end", whole(func(j *memledger.Journal) quota.Journal { return &hasty{j} })},
		{"lets nothing go", "what may go is forgotten in the end", whole(func(j *memledger.Journal) quota.Journal { return &hoarding{j} })},
		{"believes a clock that was set back", "a clock that was set back", whole(func(j *memledger.Journal) quota.Journal { return &believing{Journal: j} })},
		{"writes down twice what becomes owed", "what was asked already", whole(func(j *memledger.Journal) quota.Journal { return &doubling{j} })},
		{"counts what was told no more", "what the ledger was told of", whole(func(j *memledger.Journal) quota.Journal { return &relieved{j} })},
		{"looks first and writes then", "two processes have one budget", whole(func(j *memledger.Journal) quota.Journal { return &racing{Journal: j} })},
	} {
		t.Run(b.name, func(t *testing.T) {
			var also []string
			hit := false
			for _, c := range quotatest.JournalCases() {
				why := said(t, func(t testing.TB) {
					c.Check(t, func(testing.TB) (quota.Journal, func() quota.Journal) { return b.open() })
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

type fearless struct{ *memledger.Journal }

func (j *fearless) Begin(ctx context.Context, row quota.Row, n quota.Notes) (int64, quota.JournalState, error) {
	id, s, err := j.Journal.Begin(ctx, row, n)
	if id == 0 && err == nil {
		open := s.Breaker
		id, _, _ = j.Journal.Begin(ctx, row, quota.Notes{Breaker: &quota.Breaker{}})
		_ = j.Note(ctx, row.Account, quota.Notes{Breaker: &open})
	}
	return id, s, err
}

type forgetting struct{ *memledger.Journal }

func (j *forgetting) Begin(ctx context.Context, row quota.Row, n quota.Notes) (int64, quota.JournalState, error) {
	if s, err := j.State(ctx, row.Account); err != nil || s.Breaker.Until.After(row.At) && n.Breaker == nil {
		return 0, s, err
	}
	return j.Journal.Begin(ctx, row, n)
}

type waiting struct{ *memledger.Journal }

func (j *waiting) Begin(ctx context.Context, row quota.Row, n quota.Notes) (int64, quota.JournalState, error) {
	if n.Breaker != nil && n.Breaker.Until.After(row.At) {
		return 0, quota.JournalState{Breaker: *n.Breaker}, j.Note(ctx, row.Account, n)
	}
	return j.Journal.Begin(ctx, row, n)
}

type lastLook struct {
	*memledger.Journal

	last []quota.Look
}

func (j *lastLook) Note(ctx context.Context, account string, n quota.Notes) error {
	if len(n.Looks) > 0 {
		j.last = n.Looks
	}
	return j.Journal.Note(ctx, account, n)
}

func (j *lastLook) State(ctx context.Context, account string) (quota.JournalState, error) {
	s, err := j.Journal.State(ctx, account)
	s.Looks = j.last
	return s, err
}

type charitable struct{ *memledger.Journal }

func (j *charitable) Note(ctx context.Context, account string, n quota.Notes) error {
	for i := range n.Verdicts {
		if n.Verdicts[i].State == quota.RowVoid {
			n.Verdicts[i].State = quota.RowAsked
		}
	}
	return j.Journal.Note(ctx, account, n)
}

type swayed struct{ *memledger.Journal }

func (j *swayed) Note(ctx context.Context, account string, n quota.Notes) error {
	var first []quota.Verdict
	for _, v := range n.Verdicts {
		first = append(first, quota.Verdict{ID: v.ID, State: quota.RowAsked})
	}
	if err := j.Journal.Note(ctx, account, quota.Notes{Verdicts: first}); err != nil {
		return err
	}
	return j.Journal.Note(ctx, account, n)
}

type sorted struct{ *memledger.Journal }

func (j *sorted) Rows(ctx context.Context, account string, since time.Time, owed bool) ([]quota.Row, error) {
	rows, err := j.Journal.Rows(ctx, account, since, owed)
	for i := range rows {
		for k := i; k > 0 && rows[k].At.Before(rows[k-1].At); k-- {
			rows[k], rows[k-1] = rows[k-1], rows[k]
		}
	}
	return rows, err
}

type forgiving struct{ *memledger.Journal }

func (j *forgiving) Rows(ctx context.Context, account string, since time.Time, owed bool) ([]quota.Row, error) {
	rows, err := j.Journal.Rows(ctx, account, since, owed)
	var out []quota.Row
	for _, r := range rows {
		if !r.At.Before(since) {
			out = append(out, r)
		}
	}
	return out, err
}

type hasty struct{ *memledger.Journal }

func (j *hasty) Begin(ctx context.Context, row quota.Row, n quota.Notes) (int64, quota.JournalState, error) {
	n.Forget -= time.Hour
	return j.Journal.Begin(ctx, row, n)
}

type hoarding struct{ *memledger.Journal }

func (j *hoarding) Begin(ctx context.Context, row quota.Row, n quota.Notes) (int64, quota.JournalState, error) {
	n.Now = time.Time{}
	return j.Journal.Begin(ctx, row, n)
}

type believing struct {
	*memledger.Journal

	mu   sync.Mutex
	last time.Time
}

func (j *believing) Allow(ctx context.Context, row quota.Row, budgets []quota.Budget) (bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if row.At.Before(j.last) {
		budgets = nil
	}
	j.last = row.At
	return j.Journal.Allow(ctx, row, budgets)
}

type doubling struct{ *memledger.Journal }

func (j *doubling) Allow(ctx context.Context, row quota.Row, budgets []quota.Budget) (bool, error) {
	row.ID = 0
	return j.Journal.Allow(ctx, row, budgets)
}

type relieved struct{ *memledger.Journal }

func (j *relieved) Allow(ctx context.Context, row quota.Row, budgets []quota.Budget) (bool, error) {
	rows, _ := j.Rows(ctx, row.Account, time.Time{}, false)
	var more []quota.Budget
	for _, b := range budgets {
		for _, r := range rows {
			if r.State == quota.RowDelivered && r.Emergency {
				b.Amount += r.Amounts[b.Pool]
			}
		}
		more = append(more, b)
	}
	return j.Journal.Allow(ctx, row, more)
}

// racing answers from what it saw a moment ago.
type racing struct {
	*memledger.Journal

	mu   sync.Mutex
	rows int
}

func (j *racing) Allow(ctx context.Context, row quota.Row, budgets []quota.Budget) (bool, error) {
	j.mu.Lock()
	j.rows++
	stale := j.rows%10 == 0
	j.mu.Unlock()
	if stale {
		budgets = nil
	}
	return j.Journal.Allow(ctx, row, budgets)
}
