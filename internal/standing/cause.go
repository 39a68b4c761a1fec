package standing

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/trendvidstream/ingest/quota"
)

// Cause says why a condition is not good, or why a series is not fresh. It is one of the causes of the table Causes.
type Cause string

// The causes.
const (
	LedgerMissing    Cause = "ledger missing"
	LedgerOlderCopy  Cause = "ledger older copy"
	LedgerDamaged    Cause = "ledger damaged"
	LedgerIncomplete Cause = "ledger incomplete"
	LedgerSilent     Cause = "ledger silent"
	LedgerUnreadable Cause = "ledger unreadable"
	NewerProgram     Cause = "newer program"

	DiskFull  Cause = "disk full"
	NoRight   Cause = "no right"
	ReadOnly  Cause = "read-only"
	OpenFiles Cause = "too many open files"

	StoreUnreadable Cause = "store unreadable"
	WorkersRest     Cause = "workers rest"

	UpstreamSilent Cause = "upstream silent"
	KeyRefused     Cause = "key refused"
	NotAsked       Cause = "not asked"

	QuotaUsed      Cause = "quota used"
	QuotaShort     Cause = "quota short"
	ProviderSaysNo Cause = "provider says no"
	ClosedByHand   Cause = "closed by hand"
	Paced          Cause = "paced"

	Overdue     Cause = "overdue"
	NoRun       Cause = "no run"
	FetchFailed Cause = "fetch failed"
	NoChart     Cause = "no chart"
	ChartEmpty  Cause = "chart empty"
	ChartShrunk Cause = "chart shrunk"
	NotBegun    Cause = "not begun"
)

// Meanwhile says what goes on while a condition lasts.
type Meanwhile string

// What goes on.
const (
	Everything Meanwhile = "everything"
	CheapCalls Meanwhile = "cheap calls, from the emergency budget"
	Reads      Meanwhile = "reads"
	Nothing    Meanwhile = "nothing"
)

// Cure is what a person can do: what is wrong, the advice, and the command. The zero Cure: nothing, it recovers by itself.
type Cure struct{ Thing, Advice, Command string }

// Row says what goes on during a cause, and its cure.
type Row struct {
	Cause     Cause
	Is        error // the error of this cause, for errors.Is; nil: the cause is no error
	Meanwhile Meanwhile
	Cure      Cure
}

// Causes is all causes. If an error is of several, the first counts.
var Causes = []Row{
	{LedgerMissing, quota.ErrMissing, Reads, Cure{"quota.db is missing.", "Put it back, or rebuild it from the store:", "ingest quota rebuild"}},
	{LedgerOlderCopy, quota.ErrOlderCopy, Reads, Cure{"quota.db is an older copy.", "Put the newest back, or move it aside and count again the calls that the store knows:", "ingest quota rebuild --replace"}},
	{LedgerDamaged, quota.ErrCorrupt, Reads, Cure{"quota.db is damaged.", "Move it aside and count again the calls that the store knows:", "ingest quota rebuild --replace"}},
	{LedgerIncomplete, quota.ErrIncomplete, Reads, Cure{"quota.db lacks calls that the store knows.", "Put it back, or rebuild it from the store:", "ingest quota rebuild"}},
	{NewerProgram, quota.ErrNewer, Nothing, Cure{"A newer ingest wrote the data.", "Install that version, then see:", "ingest version"}},
	{DiskFull, syscall.ENOSPC, Reads, Cure{"The disk is full.", "Make room; this says where:", "ingest doctor"}},
	{ReadOnly, syscall.EROFS, Reads, Cure{"The data directory is read-only.", "This says which file:", "ingest doctor"}},
	{OpenFiles, syscall.EMFILE, Reads, Cure{"The process has too many open files.", "Raise its limit (LimitNOFILE), then look again:", "ingest doctor"}},
	{NoRight, fs.ErrPermission, Reads, Cure{"A file may not be read or written.", "This says which, and whose it is:", "ingest doctor"}},
	{LedgerSilent, quota.ErrUnavailable, CheapCalls, Cure{}},
	{LedgerUnreadable, nil, Reads, Cure{"The quota ledger cannot be read.", "This says why:", "ingest doctor"}},

	{StoreUnreadable, nil, Nothing, Cure{"The store cannot be read.", "This says why; with --repair it mends the file where it can:", "ingest doctor"}},
	{WorkersRest, nil, Reads, Cure{}},

	{UpstreamSilent, nil, Reads, Cure{}},
	{KeyRefused, nil, Reads, Cure{"The API key is refused.", "Give another one; with one call this says why:", "ingest doctor --online"}},
	{NotAsked, nil, Everything, Cure{}},

	{QuotaUsed, nil, Reads, Cure{}},
	{QuotaShort, nil, Everything, Cure{}},
	{ProviderSaysNo, nil, Reads, Cure{}},
	{ClosedByHand, nil, Reads, Cure{}},
	{Paced, nil, Everything, Cure{}},

	{Overdue, nil, Everything, Cure{}},
	{NoRun, nil, Reads, Cure{}},
	{FetchFailed, nil, Everything, Cure{}},
	{NoChart, nil, Everything, Cure{}},
	{ChartEmpty, nil, Everything, Cure{}},
	{ChartShrunk, nil, Everything, Cure{}},
	{NotBegun, nil, Everything, Cure{}},
}

// Row returns the row of a cause in the table; the zero Row of "".
func (c Cause) Row() Row {
	for _, row := range Causes {
		if row.Cause == c {
			return row
		}
	}
	return Row{}
}

// CauseOf returns the cause of an error, or other if the table does not have it.
func CauseOf(err error, other Cause) Cause {
	for _, row := range Causes {
		if row.Is != nil && errors.Is(err, row.Is) {
			return row.Cause
		}
	}
	return other
}
