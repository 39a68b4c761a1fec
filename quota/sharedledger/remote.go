package sharedledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Errors of a Remote beyond those of a quota.Ledger; compare with errors.Is.
var (
	// ErrLost is a sign that the remote forgot something: its state is gone, it has not what it once
	// acknowledged, a log is not as long as its state says, or the server was restarted. Nothing was
	// changed. What is known elsewhere has to be synced under a new generation.
	ErrLost = errors.New("the ledger has lost what it knew")
	// ErrClone is a number that was used before by somebody else under the same writer's name. Nothing
	// was changed.
	ErrClone = errors.New("somebody else writes under the same name")
	// ErrSynced is an operation that another process of the data directory has synced as spent
	// meanwhile. It is counted, and must not be acted upon.
	ErrSynced = errors.New("it was counted by another process meanwhile")
)

// GenerationError is an operation under a generation that is over. Nothing was changed.
type GenerationError struct{ Now Generation }

func (e *GenerationError) Error() string { return fmt.Sprintf("the ledger is in generation %d", e.Now) }

// Remote is a ledger that may forget, in part or whole, and whose replies may be lost. Ledger makes one of it that
// does neither.
//
// A writer is one open Ledger. Its operations are numbered 1, 2, 3 ..., and one is in flight at a time. Together
// with the log, and in the same step, the remote keeps of each writer the number of the last operation that it
// wrote, its nonce, and its answer. A writer that was not heard of for the horizon is forgotten.
type Remote interface {
	quota.Ledger
	// TakeOnce takes under a number: asked again with the same number and nonce it answers as it
	// did, and charges nothing. A refusal is not kept: asked again, it is decided again. In this order:
	// no state: ErrLost; another generation: *GenerationError; the writer's last number below
	// op.Written: ErrLost; above op.Number, or equal under another nonce: ErrClone; equal, and
	// synced: ErrSynced; a log that is not as long as its state says: ErrLost. An ask that only
	// peeks, or is only decided, is checked in the same way and writes nothing: its number stays free.
	TakeOnce(ctx context.Context, a quota.Ask, op Operation) (quota.Decision, error)
	// State returns the remote's state, and changes nothing. An account without state has Generation 0. A
	// server that was restarted since the last generation began returns ErrLost together with the state,
	// until the next one begins.
	State(ctx context.Context, account string, writers []string) (RemoteState, error)
	// Renew begins a new generation if the account's is still r.Was (0: there is no state), and
	// otherwise changes nothing; it returns the generation after it. Logs, writers and all else are
	// wiped unless every log is as long as its state says.
	Renew(ctx context.Context, r Renewal) (Generation, error)
	// Sync syncs a journal into the remote, all or nothing, whatever is used or taken meanwhile: it records the rows
	// whose number is above their writer's last, each at its own time, raises the writers' numbers to them, then the
	// pools to the snapshots, drains, and lists the host, all as Batch says. It returns the remote's clock. Errors:
	// *GenerationError, ErrLost as TakeOnce.
	Sync(ctx context.Context, d Batch) (time.Time, error)
}

// Operation names one TakeOnce.
type Operation struct {
	Generation Generation // that the writer knows
	Writer     string     // 1..32 letters and digits
	Number     int64      // 1, 2, 3 ... of this writer
	Nonce      int64      // random, 1..1<<52-1; 0: the ask is decided, and nothing is charged
	Written    int64      // the highest number that the remote is known to have written; 0: none
}

// RemoteState is a remote's knowledge of an account.
type RemoteState struct {
	Generation Generation
	At         time.Time // the remote's clock
	Born       time.Time // when the generation began; zero for a first start, which waits for nobody
	Hosts      []Host    // that have synced in this generation
	Written    map[string]int64
}

// Host is one data directory that draws on the account.
type Host struct {
	ID      string   `json:"id"`   // random, kept in the journal
	Name    string   `json:"name"` // for a person: host name and data directory
	Regions []string `json:"regions"`
	Knows   []string `json:"knows"` // ids of the hosts, with its own, of the last generation in which it decided
	// Left is a data directory of one process, which has ended and synced all that it spent: nobody waits for it.
	Left bool      `json:"left,omitempty"`
	At   time.Time `json:"at"` // when it synced last
}

// Renewal asks for a new generation.
type Renewal struct {
	Account string
	Pools   []string // whose logs may be left over without a state
	Was     Generation
	Next    Generation
	First   bool // nothing was lost: it is the account's first start
	Horizon time.Duration
}

// Batch is the knowledge of one data directory that the remote may lack.
type Batch struct {
	Account    string
	Generation Generation
	Horizon    time.Duration // entries are kept this long; the remote keeps the largest it has seen
	Gap        time.Duration // how far clocks may be apart: quota.ClockGap
	// Rows are in the order of their writers' numbers, at most MaxRows of MaxWriters. A time after the remote's
	// clock is moved to it; one before the horizon only raises the writer's number. A RowUnused that is its
	// writer's last, and was carried out, is taken back; one above it only raises the writer's number.
	Rows []Row
	// Snapshots are what the host last saw used, of all its pools. A pool is raised to its snapshot if
	// that says more: what a window lacks, the shortest first, is entered as an unattributed charge of that
	// window, at the snapshot's own time, by Unattributed. Unattributed charges of younger snapshots whose
	// window had begun by that time become smaller by as much, the earliest first, so that it does not
	// matter in which order hosts come. A row synced as RowAsked or RowOwed counts
	// there only for snapshots from its sync on, since an earlier one has not seen it. A row of a time
	// within the charge's window that the charge's snapshot had counted, as Row.CountedAt says, is netted
	// against it, the earliest such charge first. A snapshot that is not younger than one raised before, of
	// the same generation, says nothing new.
	Snapshots []UsageSnapshot
	// Host is listed, or listed again; nil: it has more to sync, or only reads.
	Host *Host
}

// maxHosts is how many hosts a remote lists at most, the newest.
const maxHosts = 256

// Listed returns the hosts that a remote lists, with the batch's before the others, as it is now.
func (b Batch) Listed(hosts []Host, now int64) []Host {
	host := *b.Host
	host.At = quota.FromMicros(now)
	hosts = slices.DeleteFunc(hosts, func(h Host) bool { return h.ID == host.ID })
	return append([]Host{host}, hosts[:min(len(hosts), maxHosts-1)]...)
}

// Unattributed is who spent what a snapshot counted and no row accounts for: hosts that have not come back since
// a loss.
var Unattributed = quota.Who{Purpose: "unknown"}
