package sharedledger_test

import (
	"fmt"
	"testing"

	"github.com/trendvidstream/ingest/quota"
)

var errSilent = fmt.Errorf("%w: connection refused", quota.ErrUnavailable)

// gate is the governor of one process, whose ledger is shared.
type gate struct {
	*quota.Governor

	t *testing.T
}

// wholeTariff is the hosts' tariff with the limits of a real provider.
func wholeTariff() *quota.Tariff {
	t := tariff()
	for _, p := range t.Pools {
		for i := range p.Windows {
			p.Windows[i].Limit *= 10_000 / limit
		}
	}
	return t
}

func (g *gate) try(method string, p quota.Purpose) (quota.Decision, error) {
	return g.Take(g.t.Context(), quota.Request{Method: method, Region: "US", Purpose: p})
}

func (g *gate) take(method string, p quota.Purpose) quota.Decision {
	g.t.Helper()
	got, err := g.try(method, p)
	if err != nil {
		g.t.Fatalf("%s: %v", method, err)
	}
	return got
}

// spend posts units that count from now on.
func (g *gate) spend(pool string, amount int64) {
	g.t.Helper()
	by := quota.Who{Purpose: quota.Manual, Method: "post"}
	if err := g.Post(g.t.Context(), by, quota.Cost{pool: amount}, g.Now()); err != nil {
		g.t.Fatal(err)
	}
}
