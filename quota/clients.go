package quota

import (
	"fmt"
	"slices"
	"strings"
)

// clientSign separates the pool and the client in the name of a client's own pool, units@reports. CheckAccount refuses
// it, so that no pool's own name contains it.
const clientSign = "@"

// LimitClients sets each client's own limits. Every Pool is named after a pool of the tariff (ErrUnknown otherwise),
// and the limit becomes one more charge in the same take: units@reports beside units.
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

// ownCharges returns the amounts that a cost draws from a client's own pools.
func (t *Tariff) ownCharges(client string, cost Cost) (charges []Charge) {
	for _, p := range t.ownPools(client) {
		shared, _, _ := strings.Cut(p.Name, clientSign)
		if amount, ok := cost[shared]; ok {
			charges = append(charges, p.charge(amount, whole))
		}
	}
	return charges
}

// counted reports whether the provider counts the pool. A client's own pool is never closed by the provider's answers.
func counted(pool string) bool { return !strings.Contains(pool, clientSign) }

// allPools returns the tariff's pools and its clients' pools.
func (t *Tariff) allPools() []Pool {
	all := slices.Clone(t.Pools)
	for client := range t.clients {
		all = append(all, t.ownPools(client)...)
	}
	return all
}

// LedgerPools returns the names under which ledgers count the tariff's pools and its clients' own, sorted.
func (t *Tariff) LedgerPools() []string {
	names := poolNames(t.allPools())
	for i, name := range names {
		names[i] = t.InLedger(name)
	}
	slices.Sort(names)
	return names
}

// translate renames a pool with to; in the name of a client's own pool it renames the part before the sign.
func translate(pool string, to func(string) string) string {
	shared, client, own := strings.Cut(pool, clientSign)
	if own {
		return to(shared) + clientSign + client
	}
	return to(shared)
}

// InLedger returns the name under which ledgers count a pool.
func (t *Tariff) InLedger(pool string) string {
	return translate(pool, func(name string) string {
		if was := t.pool(name).Was; len(was) > 0 {
			return was[0]
		}
		return name
	})
}

// NowNamed returns the pool's present name; costs.yaml may have renamed it since it was used.
func (t *Tariff) NowNamed(pool string) string {
	return translate(pool, func(name string) string {
		for _, p := range t.Pools {
			if slices.Contains(p.Was, name) {
				return p.Name
			}
		}
		return name
	})
}

// renames reports whether any pool was renamed.
func (t *Tariff) renames() bool {
	return t != nil && slices.ContainsFunc(t.Pools, func(p Pool) bool { return len(p.Was) > 0 })
}
