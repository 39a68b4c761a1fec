package quota_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
)

// Ten units a second in memory: as many calls as fit, one given back, and the wait for the next.
func Example() {
	ctx := context.Background()
	g := &quota.Governor{Ledger: &memledger.Ledger{}, Account: "default", Now: time.Now, Tariff: &quota.Tariff{
		Zone:     time.UTC,
		Pools:    []quota.Pool{{Name: "units", Windows: []quota.Window{{Name: "1s", Length: time.Second, Limit: 10}}}},
		Methods:  map[string]quota.Cost{"list": {"units": 1}, "search": {"units": 4}},
		Ceilings: map[quota.Purpose]quota.Share{quota.Manual: 1_000_000}, // all of it
	}}
	search := quota.Request{Method: "search", Purpose: quota.Manual}
	calls, taken, err := g.TakeUpTo(ctx, search, 5)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(calls, "calls; then remain", taken.Pools[0].Remaining)
	if fits, err := g.Fits(ctx, search); err == nil && !fits {
		fmt.Println("another does not fit")
	}
	if d, err := g.Wait(ctx, search); err == nil && d.Allowed {
		fmt.Println("a second later it does; then remain", d.Pools[0].Remaining)
		err = g.Refund(ctx, d) // the call was not made
		fmt.Println("given back:", err == nil)
	}
	// Output:
	// 2 calls; then remain 2
	// another does not fit
	// a second later it does; then remain 6
	// given back: true
}
