package httplimit

import "sync/atomic"

// Stats counts requests since the start.
type Stats struct {
	Allowed      int64 // by the ledger
	Refused      int64 // 429, or what would have been one under Observe
	Overloaded   int64 // 503: all clients together had used up the outer limit
	Denied       int64 // 403
	Unauthorized int64 // 401: a token that is not known
	FailedOpen   int64 // served although the ledger could not answer
	FailedClosed int64 // 503 because the ledger could not answer
	Refunded     int64 // charges given back
	Shared       int64 // by clients beyond MaxClients, which share accounts
}

type counters struct {
	allowed, refused, overloaded, denied, unauthorized, failedOpen, failedClosed, refunded, shared atomic.Int64
}

// Stats returns the limiter's counts so far.
func (l *Limiter) Stats() Stats {
	c := &l.stats
	return Stats{
		Allowed: c.allowed.Load(), Refused: c.refused.Load(), Overloaded: c.overloaded.Load(), Denied: c.denied.Load(),
		Unauthorized: c.unauthorized.Load(), FailedOpen: c.failedOpen.Load(), FailedClosed: c.failedClosed.Load(),
		Refunded: c.refunded.Load(), Shared: c.shared.Load(),
	}
}
