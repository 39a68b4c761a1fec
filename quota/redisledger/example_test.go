package redisledger_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// A Redis that several hosts share, with a journal in this one's data directory. It needs a server, and so is not run.
func Example() {
	ctx := context.Background()
	tariff := &quota.Tariff{
		Zone:     time.UTC,
		Grace:    30 * time.Second,
		Ceilings: map[quota.Purpose]quota.Share{quota.Scheduled: 950_000},
		Failure:  quota.Failure{OpenAtMost: 1000, Emergency: 5000, SyncWait: 10 * time.Minute},
		Pools:    []quota.Pool{{Name: "units", Windows: []quota.Window{{Name: "24h", Length: 24 * time.Hour, Limit: 10_000}}}},
		Methods:  map[string]quota.Cost{"videos.list": {"units": 1}},
	}
	remote, err := redisledger.Open(ctx, "redis://127.0.0.1:6379/0", redisledger.Options{})
	if err != nil {
		log.Fatal(err)
	}
	journal, err := sqliteledger.Open(ctx, "/var/lib/ingest/quota.db")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = journal.Close() }()
	ledger, err := sharedledger.Open(tariff, remote, journal, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = ledger.Close() }() // and the remote with it
	governor := &quota.Governor{Ledger: ledger, EmergencyAccount: ledger, Tariff: tariff, Account: ledger.Account, Now: ledger.Now}
	d, err := governor.Take(ctx, quota.Request{Method: "videos.list", Region: "US", Purpose: quota.Scheduled})
	switch {
	case err != nil:
		log.Fatal(err) // closed: nothing may be spent
	case !d.Allowed:
		fmt.Println("try again in", d.RetryAfter)
	default:
		fmt.Println(d.Pools[0].Remaining, "units are left")
	}
}
