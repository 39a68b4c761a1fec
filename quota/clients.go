package quota

import (
	"fmt"
	"slices"
	"strings"
)

// clientSign stands between a shared pool and a client in the name of the client's own pool, units@reports. The name of
// no pool in costs.yaml can hold it.
const clientSign = "@"

// LimitClients sets the limits that clients have of their own, by client: each Pool has the name of a pool that the
// provider counts. Such a limit is one more charge in the take of the shared pools: units@reports beside units.
// ErrUnknown for a pool that the tariff does not have.
func (t *Tariff) LimitClients(limits map[string][]Pool) error {
	for client, pools := range limits {
		for _, p := range pools {
			if err := t.CheckPool(p.Name); err != nil {
				return fmt.Errorf("client %s: %w", client, err)
			}
		}
	}
	t.clients = limits
	return nil
}

// ownPools returns the pools of a client, as the ledger names them.
func (t *Tariff) ownPools(client string) (own []Pool) {
	for _, p := range t.clients[client] {
		own = append(own, Pool{Name: p.Name + clientSign + client, Windows: p.Windows, Line: p.Line})
	}
	return own
}

// ownCharges returns what a cost draws from a client's own pools.
func (t *Tariff) ownCharges(client string, cost Cost) (charges []Charge) {
	for _, p := range t.ownPools(client) {
		shared, _, _ := strings.Cut(p.Name, clientSign)
		if amount, ok := cost[shared]; ok {
			charges = append(charges, p.charge(amount, whole))
		}
	}
	return charges
}

// counted reports whether the provider counts a pool. If not, it is a client's own, which no answer of the provider
// closes.
func counted(pool string) bool { return !strings.Contains(pool, clientSign) }

// allPools returns the tariff's pools and those of its clients.
func (t *Tariff) allPools() []Pool {
	all := slices.Clone(t.Pools)
	for client := range t.clients {
		all = append(all, t.ownPools(client)...)
	}
	return all
}

// LedgerPools returns the names of all pools that a ledger may be asked for: the tariff's, and those of clients.
func (t *Tariff) LedgerPools() []string {
	var names []string
	for _, p := range t.allPools() {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}
