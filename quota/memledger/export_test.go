package memledger

// Accounts is how many accounts are remembered.
func (l *Ledger) Accounts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.accounts)
}

// Entries is how many entries are remembered, of all accounts.
func (l *Ledger) Entries() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, a := range l.accounts {
		for _, p := range a.Pools {
			n += len(p.Log.Entries)
		}
	}
	return n
}
