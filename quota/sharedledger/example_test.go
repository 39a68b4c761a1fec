package sharedledger_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Two hosts draw on one account. The remote is a redisledger.Ledger and each journal a sqliteledger.Ledger outside of
// an example; here both are in memory. Even a remote that forgets all gives nothing twice.
func ExampleOpen() {
	ctx := context.Background()
	tariff := &quota.Tariff{
		Zone:     time.UTC,
		Ceilings: map[quota.Purpose]quota.Share{quota.Manual: 1_000_000},
		Failure:  quota.Failure{SyncWait: 10 * time.Minute},
		Pools:    []quota.Pool{{Name: "units", Windows: []quota.Window{{Name: "24h", Length: 24 * time.Hour, Limit: 250}}}},
		Methods:  map[string]quota.Cost{"search.list": {"units": 100}},
	}
	remote := &memremote.Remote{Now: time.Now}
	var hosts []*quota.Governor
	for range 2 {
		ledger, err := sharedledger.Open(tariff, remote, &memremote.Journal{}, 2)
		if err != nil {
			log.Fatal(err)
		}
		defer func() { _ = ledger.Close() }()
		hosts = append(hosts, &quota.Governor{Ledger: ledger, EmergencyAccount: ledger, Tariff: tariff, Account: "default", Now: time.Now})
	}
	take := func(host int) {
		d, err := hosts[host].Take(ctx, quota.Request{Method: "search.list", Purpose: quota.Manual})
		switch {
		case err != nil:
			fmt.Println("host", host, "waits for the other one")
		case d.Allowed:
			fmt.Println("host", host, "may call,", d.Pools[0].Remaining, "units are left")
		default:
			fmt.Println("host", host, "is refused, at", d.Pools[0].Windows[0].Used, "units used")
		}
	}
	take(0)
	take(1)
	take(0)
	remote.Load(memremote.Image{}) // all is forgotten
	take(0)
	take(1)
	take(0)
	// Output:
	// host 0 may call, 150 units are left
	// host 1 may call, 50 units are left
	// host 0 is refused, at 200 units used
	// host 0 waits for the other one
	// host 1 is refused, at 200 units used
	// host 0 is refused, at 200 units used
}
