package memremote

import (
	"maps"
	"slices"
)

// Image is all that a ledger remembers at one time: what a server would keep on disk. It does not
// change.
type Image struct{ accounts map[string]*account }

// Image copies what the ledger remembers.
func (l *Remote) Image() Image {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Image{cloneAccounts(l.accounts)}
}

// Load makes the ledger remember the image and nothing else, as a server does that is started from
// what was on its disk: the zero Image is an empty disk.
func (l *Remote) Load(i Image) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accounts = cloneAccounts(i.accounts)
}

// Without returns the image after an eviction: of the account or, if pools are named, of their logs.
func (i Image) Without(account string, pools ...string) Image {
	accounts := cloneAccounts(i.accounts)
	a := accounts[account]
	if len(pools) == 0 {
		delete(accounts, account)
	}
	for _, name := range pools {
		if a != nil && a.pools[name] != nil {
			a.pools[name].log = log{} // its length stays in the state
		}
	}
	return Image{accounts}
}

func cloneAccounts(accounts map[string]*account) map[string]*account {
	out := make(map[string]*account, len(accounts))
	for name, a := range accounts {
		c := *a
		c.pools = make(map[string]*pool, len(a.pools))
		for name, p := range a.pools {
			q := *p
			q.log.Entries = slices.Clone(p.log.Entries)
			q.raised = maps.Clone(p.raised)
			c.pools[name] = &q
		}
		c.writers = maps.Clone(a.writers) // an answer is never written into
		c.hosts = slices.Clone(a.hosts)
		out[name] = &c
	}
	return out
}
