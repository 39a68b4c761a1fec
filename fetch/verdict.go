package fetch

import (
	"fmt"
)

// CallVerdict is the meaning of an upstream's answer for the pass and for the quota.
type CallVerdict string

// The verdicts. Each is named for what a pass does about it, not for what an upstream calls it.
const (
	Spent     CallVerdict = "spent"      // a pool's day is over: drain it, stop
	Burst     CallVerdict = "burst"      // too many calls at once: back off, the day goes on
	BadKey    CallVerdict = "bad_key"    // the key is refused: fatal, exit 77
	NoChart   CallVerdict = "no_chart"   // the region has no such chart: skip
	BadToken  CallVerdict = "bad_token"  // the page token is refused: begin again at page 1, once
	BadRegion CallVerdict = "bad_region" // the upstream does not know the region: fatal for it alone
	Broken    CallVerdict = "broken"     // the upstream failed or its answer makes no sense: retry, bounded
	Unsent    CallVerdict = "unsent"     // the request surely never left this machine: refund, then as Broken
	Rejected  CallVerdict = "rejected"   // the request itself is refused, and would be again: fail
)

// Error is a call that failed, with its meaning for the pass.
type Error struct {
	Verdict CallVerdict
	Method  string
	Status  int    // HTTP, of an answer that refuses; 0: none
	Pool    string // with Spent: the pool that is spent, "" for every pool the method draws from
	Sure    bool   // with Burst: the upstream said which rate was exceeded, so it is no other refusal
	Err     error  // what was seen, scrubbed of secrets
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %v", e.Method, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }
