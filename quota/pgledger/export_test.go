package pgledger

// OpenWithClock opens a ledger whose clock is what the table clock of its schema's test says, in microseconds.
func OpenWithClock(url string, o Options, clock string) (*Ledger, error) {
	config, err := Parse(url)
	if err != nil {
		return nil, err
	}
	return open(config, o, clock), nil
}
