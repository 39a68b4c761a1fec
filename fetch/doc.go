// Package fetch fetches pages from an upstream under quota: it claims a due slot, takes, calls and saves each page,
// and finishes the slot. It knows no upstream, ledger or database, only the few methods of each that a pass needs
// (needs.go, upstream.go).
//
// Every slot ends with a commit or a recorded reason, and running out of quota is an outcome, not an error. An attempt
// is one claim of a slot; a retry is one more call for the same page.
//
// needs.go has the life of a slot, from its time to its outcome, and of a backfill's piece.
//
// A run works on a plan until no piece is open, quota refuses one, MaxUnits are spent, or several pieces in
// a row bring nothing. A search that finds more than an upstream lists adds two pieces, each of half the time.
package fetch
