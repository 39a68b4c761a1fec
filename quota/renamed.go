package quota

import (
	"context"
	"slices"
	"time"
)

// In every ledger and journal a renamed pool keeps its first name. So no data have to be moved, all hosts count
// together while their costs are changed one after the other, and nothing counts twice.

type renamedLedger struct {
	Ledger

	t *Tariff
}

func (l renamedLedger) ask(a Ask) Ask {
	a.Charges = slices.Clone(a.Charges)
	for i := range a.Charges {
		a.Charges[i].Pool = l.t.InLedger(a.Charges[i].Pool)
	}
	return a
}

func (l renamedLedger) decision(d Decision, name func(string) string) Decision {
	d.Pools = slices.Clone(d.Pools)
	for i := range d.Pools {
		d.Pools[i].Pool = name(d.Pools[i].Pool)
	}
	if d.Refusal != nil {
		r := *d.Refusal
		r.Pool, d.Refusal = name(r.Pool), &r
	}
	return d
}

func (l renamedLedger) Take(ctx context.Context, a Ask) (Decision, error) {
	d, err := l.Ledger.Take(ctx, l.ask(a))
	return l.decision(d, l.t.NowNamed), err
}

func (l renamedLedger) Refund(ctx context.Context, account string, d Decision) error {
	return l.Ledger.Refund(ctx, account, l.decision(d, l.t.InLedger))
}

func (l renamedLedger) Post(ctx context.Context, a Ask, at time.Time) error {
	return l.Ledger.Post(ctx, l.ask(a), at)
}

func (l renamedLedger) Drain(ctx context.Context, account, pool string, d Drain) error {
	return l.Ledger.Drain(ctx, account, l.t.InLedger(pool), d)
}

func (l renamedLedger) Spent(ctx context.Context, account string, since time.Time,
	every time.Duration) ([]Spent, error) {
	spent, err := l.Ledger.Spent(ctx, account, since, every)
	for i := range spent {
		spent[i].Pool = l.t.NowNamed(spent[i].Pool)
	}
	slices.SortFunc(spent, Spent.Compare)
	return spent, err
}

type renamedEmergencies struct {
	EmergencyAccount

	t *Tariff
}

func (e renamedEmergencies) LastUsage(ctx context.Context, account string) ([]LastUsage, error) {
	last, err := e.EmergencyAccount.LastUsage(ctx, account)
	for i := range last {
		last[i].Pool = e.t.NowNamed(last[i].Pool)
	}
	return last, err
}

func (e renamedEmergencies) budgets(budgets []EmergencyBudget) []EmergencyBudget {
	budgets = slices.Clone(budgets)
	for i := range budgets {
		budgets[i].Pool = e.t.InLedger(budgets[i].Pool)
	}
	return budgets
}

func (e renamedEmergencies) Spend(ctx context.Context, spent Emergency, budgets []EmergencyBudget) (int64, error) {
	amounts := Cost{}
	for pool, amount := range spent.Amounts {
		amounts[e.t.InLedger(pool)] = amount
	}
	spent.Amounts = amounts
	return e.EmergencyAccount.Spend(ctx, spent, e.budgets(budgets))
}

func (e renamedEmergencies) Left(ctx context.Context, account string, at time.Time,
	budgets []EmergencyBudget) ([]int64, error) {
	return e.EmergencyAccount.Left(ctx, account, at, e.budgets(budgets))
}
