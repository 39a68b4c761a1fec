package sqliteledger_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// Two calls an hour, counted in one file by however many processes.
func Example() {
	dir, err := os.MkdirTemp("", "quota")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	ledger, err := sqliteledger.Open(ctx, filepath.Join(dir, "quota.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = ledger.Close() }()
	g := &quota.Governor{Ledger: ledger, EmergencyAccount: ledger, Account: "default", Now: time.Now, Tariff: &quota.Tariff{
		Zone:     time.UTC,
		Pools:    []quota.Pool{{Name: "calls", Windows: []quota.Window{{Name: "1h", Length: time.Hour, Limit: 2}}}},
		Methods:  map[string]quota.Cost{"get": {"calls": 1}},
		Ceilings: map[quota.Purpose]quota.Share{quota.Manual: 1_000_000}, // all of it
	}}
	for range 3 {
		d, err := g.Take(ctx, quota.Request{Method: "get", Purpose: quota.Manual})
		switch {
		case err != nil:
			log.Fatal(err)
		case d.Allowed:
			fmt.Println("call; left:", d.Pools[0].Remaining)
		default:
			fmt.Println("wait:", d.Refusal)
		}
	}
	// Output:
	// call; left: 1
	// call; left: 0
	// wait: all 2 calls that manual takes may use in 1h are used
}
