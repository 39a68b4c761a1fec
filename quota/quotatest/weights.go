package quotatest

import (
	"math"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

var weights = []Case{
	{ID: "B1", Name: "a refusal charges nothing", check: func(r *rig) {
		r.bounds = []quota.Bound{per(time.Hour, 100)}
		r.admits(98, 2)
		r.refuses(100, 2)
		r.admits(1, 1)
		r.admits(1, 0)
		r.refuses(1, 0)
	}},
	{ID: "B2", Name: "the whole limit fits at once, and one more never fits", check: func(r *rig) {
		r.bounds = []quota.Bound{per(time.Hour, 100)}
		r.fails(quota.ErrNeverFits, func() error { _, err := r.try(charge("units", 101, r.bounds...)); return err })
		r.admits(100, 0)
		r.fresh(noon, under(per(time.Hour, 100), 70))
		r.fails(quota.ErrNeverFits, func() error { _, err := r.try(charge("units", 71, r.bounds...)); return err })
		r.admits(70, 0)
	}},
	{ID: "B3", Name: "a cost of 0 peeks", check: func(r *rig) {
		r.bounds = []quota.Bound{per(time.Hour, 3)}
		for left := int64(2); left >= 0; left-- {
			r.admits(0, left+1)
			r.admits(1, left)
		}
		r.admits(0, 0) // never refused
	}},
	{ID: "B4", Name: "a senseless ask is an error and changes nothing", check: nonsense},
	{ID: "B5", Name: "large limits still refuse", check: func(r *rig) {
		r.bounds = []quota.Bound{per(24*time.Hour, 1_000_000), daily(1_000_000)}
		for left := int64(900_000); left >= 0; left -= 100_000 {
			r.pass(time.Second)
			r.admits(100_000, left)
		}
		r.refuses(1, 0)
		r.fresh(noon, per(24*time.Hour, quota.MaxLimit))
		r.admits(quota.MaxLimit-1, 1)
		r.refuses(2, 1)
		r.admits(1, 0)
		r.refuses(1, 0)
	}},
	{ID: "B6", Name: "a cost of 100 is one entry", Needs: Counts, check: func(r *rig) {
		r.bounds = []quota.Bound{per(24*time.Hour, 10_000)}
		for range 10 {
			r.take(100)
			r.pass(second)
		}
		if h := r.store.Footprint(r); h.Accounts != 1 || h.Entries != 10 {
			r.Fatalf("ten calls are held as %+v, want Accounts 1 and Entries 10", h)
		}
	}},
}

func nonsense(r *rig) {
	b := per(time.Hour, 100)
	r.bounds = []quota.Bound{b}
	r.admits(10, 90)
	take := func(change func(*quota.Ask)) func() error {
		return func() error {
			a := r.ask(charge("units", 1, b))
			change(&a)
			_, err := r.ledger.Take(r.Context(), a)
			return err
		}
	}
	amount := func(n int64) func(*quota.Ask) { return func(a *quota.Ask) { a.Charges[0].Amount = n } }
	account := func(name string) func(*quota.Ask) { return func(a *quota.Ask) { a.Account = name } }
	for _, c := range []struct {
		name string
		want error
		make func(*quota.Ask)
	}{
		{"a negative cost", quota.ErrNeverFits, amount(-1)},
		{"the most negative cost", quota.ErrNeverFits, amount(math.MinInt64)},
		{"an overflowing cost", quota.ErrNeverFits, amount(math.MaxInt64)},
		{"a cost whose sum with the use overflows", quota.ErrNeverFits, amount(math.MaxInt64 - 9)},
		{"a cost beyond exact numbers", quota.ErrNeverFits, amount(1<<53 + 1)},
		{"no charge", quota.ErrUnknown, func(a *quota.Ask) { a.Charges = nil }},
		{"a pool twice", quota.ErrUnknown, func(a *quota.Ask) { a.Charges = append(a.Charges, a.Charges[0]) }},
		{"a pool without a name", quota.ErrUnknown, func(a *quota.Ask) { a.Charges[0].Pool = "" }},
		{"no window", quota.ErrUnknown, func(a *quota.Ask) { a.Charges[0].Bounds = nil }},
		{"no limit", quota.ErrUnknown, func(a *quota.Ask) { a.Charges[0].Bounds = []quota.Bound{per(time.Hour, 0)} }},
		{"a ceiling above its limit", quota.ErrUnknown,
			func(a *quota.Ask) { a.Charges[0].Bounds = []quota.Bound{under(b, 101)} }},
		{"a day without midnights", quota.ErrUnavailable,
			func(a *quota.Ask) { a.Charges[0].Bounds, a.Midnights = []quota.Bound{daily(100)}, nil }},
		{"midnights of another week", quota.ErrUnavailable, func(a *quota.Ask) {
			a.Charges[0].Bounds = []quota.Bound{daily(100)}
			a.Midnights = quota.Midnights(noon.Add(7*24*time.Hour), time.UTC)
		}},
		{"no account", quota.ErrUnknown, account("")},
		{"an account with braces", quota.ErrUnknown, account("{a}b")},
		{"an account with spaces", quota.ErrUnknown, account("a b")},
		{"an account with a colon", quota.ErrUnknown, account("a:units")},
		{"an account with a newline", quota.ErrUnknown, account("a\n")},
		{"an account with a zero byte", quota.ErrUnknown, account("a\x00")},
		{"an account that is not ASCII", quota.ErrUnknown, account("käse")},
		{"an account of 10 kB", quota.ErrUnknown, account(strings.Repeat("a", 10_000))},
	} {
		r.about = c.name + ", "
		r.fails(c.want, take(c.make))
	}
	for _, name := range []string{"", "{a}b", "a b", strings.Repeat("a", 10_000)} {
		r.fails(quota.ErrUnknown, func() error {
			return r.ledger.Drain(r.Context(), name, "units", quota.Drain{Until: noon.Add(time.Hour), Used: 1})
		})
	}
	r.fails(quota.ErrNeverFits, func() error { return r.ledger.Post(r.Context(), r.ask(charge("units", -1, b)), noon) })
	r.admits(90, 0)
}
