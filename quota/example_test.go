package quota_test

import (
	"context"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
)

// tenASecond is a ledger in memory of ten units a second, where a search costs four.
func tenASecond() *quota.Governor {
	return &quota.Governor{Ledger: &memledger.Ledger{}, Account: "default", Now: time.Now, Tariff: &quota.Tariff{
		Zone:     time.UTC,
		Pools:    []quota.Pool{{Name: "units", Windows: []quota.Window{{Name: "1s", Length: time.Second, Limit: 10}}}},
		Methods:  map[string]quota.Cost{"list": {"units": 1}, "search": {"units": 4}},
		Ceilings: map[quota.Purpose]quota.Share{quota.Manual: 1_000_000}, // all of it
	}}
}

// A refusal is a value that says when to ask again.
func ExampleGovernor_Take() {
	ctx, g := context.Background(), tenASecond()
	for range 3 {
		d, err := g.Take(ctx, quota.Request{Method: "search", Purpose: quota.Manual})
		switch {
		case err != nil:
			fmt.Println(err)
		case d.Allowed:
			fmt.Println("taken; remain", d.Pools[0].Remaining)
		default:
			fmt.Println("refused; the window is", d.Refusal.Window, "and frees within a second:", d.RetryAfter <= time.Second)
		}
	}
	// Output:
	// taken; remain 6
	// taken; remain 2
	// refused; the window is 1s and frees within a second: true
}

// Looking costs nothing, and promises nothing.
func ExampleGovernor_Fits() {
	ctx, g := context.Background(), tenASecond()
	search := quota.Request{Method: "search", Purpose: quota.Manual}
	for range 2 {
		fits, err := g.Fits(ctx, search)
		fmt.Println(fits, err)
		_, _, _ = g.TakeUpTo(ctx, search, 2)
	}
	// Output:
	// true <nil>
	// false <nil>
}

// As many of five searches as there is room for, in one step.
func ExampleGovernor_TakeUpTo() {
	calls, d, err := tenASecond().TakeUpTo(context.Background(), quota.Request{Method: "search", Purpose: quota.Manual}, 5)
	fmt.Println(calls, "calls; remain", d.Pools[0].Remaining, err)
	// Output:
	// 2 calls; remain 2 <nil>
}

// A call that does not fit yet waits until it does, and is given back if it is not made after all.
func ExampleGovernor_Wait() {
	ctx, g := context.Background(), tenASecond()
	search := quota.Request{Method: "search", Purpose: quota.Manual}
	_, _, _ = g.TakeUpTo(ctx, search, 2)
	d, err := g.Wait(ctx, search)
	fmt.Println(d.Allowed, err)
	fmt.Println("given back:", g.Refund(ctx, d) == nil)
	// Output:
	// true <nil>
	// given back: true
}
