// Package fetch fetches pages from an upstream under quota: it claims a due slot, takes, calls and saves each page,
// and finishes the slot. It knows no upstream, ledger or database, only the few methods of each that a pass needs
// (needs.go, upstream.go).
//
// Every slot ends with a commit or a recorded reason, and running out of quota is an outcome, not an error. An attempt
// is one claim of a slot; a retry is one more call for the same page.
//
// The life of a slot:
//
//	state            event                                                      next
//	-                its time comes, and nothing newer of its series is due     due
//	-                its time comes, but a newer one of its series is stored    skipped
//	-                its time has passed, and something newer is due            missed
//	due              a newer slot of its series is added, or the config no      skipped
//	                 longer has its job or its region
//	due, stopped     a run claims it, while no newer slot of its series exists  claimed
//	claimed          the last page is saved, or nothing is left to ask          done
//	claimed          quota refuses a call, or the provider does so twice        stopped
//	claimed          the upstream has no such chart, or cannot do such a job    skipped
//	claimed          a call fails for good                                      failed
//	claimed          the pass panics, or brings no page within its lease        failed
//	claimed          the run ends, the key is refused, the ledger or the store  due, or skipped
//	                 fails, nothing can be sent                                 if a newer one exists
//	claimed          the lease ends: the process died                           claimed by another run, or
//	                                                                            skipped as one that is due
//
// The pieces of a backfill differ, as nothing supersedes them:
//
//	claimed          calls fail, and no id is to blame                          due, and waits: a minute to 6 h
//	claimed          no page within its lease                                   due, and waits: a minute to 6 h
//	claimed          an answer lacks too much to be believed                    due, and waits: an hour
//	claimed          the same, and the pass never returns                       failed
//	claimed          any of these, or the process died, the 25th time in a row  failed, at the next claim
//	due, stopped,    the backfill is cancelled                                  skipped
//	claimed
//	failed, or with  a person retries it                                        due
//	ids given up
//
// The state of the whole plan follows from the states of its pieces: see ingest.Backfill.
//
// A run works on a plan until no piece is open, quota refuses one, MaxUnits are spent, or several pieces in
// a row bring nothing. A search that finds more than an upstream lists adds two pieces, each of half the time.
package fetch
