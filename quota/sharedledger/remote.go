package sharedledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Errors of a Remote beyond the errors of a quota.Ledger; compare with errors.Is.
var (
	// ErrLost is a sign that the remote forgot something: its state or something it acknowledged is gone, a log is not
	// as long as its state says, or the server was restarted. Nothing was changed. The journals must be synced under a
	// new generation.
	ErrLost = errors.New("the ledger has lost known operations")
	// ErrRestarted is a loss whose only sign is the restart: the server has read its own data up to some moment
	// before it stopped. A Resumer can continue with them.
	ErrRestarted = fmt.Errorf("%w: its server was restarted", ErrLost)
	// ErrClone is a number that another process used under the same writer's name. Nothing was changed.
	ErrClone = errors.New("another process writes under the same name")
	// ErrSynced is an operation that another process of the data directory has meanwhile synced as spent. The remote
	// counts it, and it must not be used.
	ErrSynced = errors.New("it was counted by another process meanwhile")
)

// GenerationError is an operation under an ended generation. Nothing was changed.
type GenerationError struct{ Now Generation }

func (e *GenerationError) Error() string { return fmt.Sprintf("the ledger is in generation %d", e.Now) }

// Remote is a ledger that may forget, in part or entirely, and may lose replies. Ledger makes of it a ledger that does
// neither.
//
// A writer is one open Ledger. It numbers its operations 1, 2, 3 ..., one at a time. Together with the log, in the
// same step, the remote stores each writer's last operation: its number, nonce and answer. A writer not heard of for
// the horizon is forgotten.
type Remote interface {
	quota.Ledger
	// TakeOnce takes under a number: asked again with the same number and nonce it answers the same and charges
	// nothing. A refusal is not stored, and decided again. Errors, in this order: no state: ErrLost; another
	// generation: *GenerationError; the writer's last number below op.Written: ErrLost; above op.Number, or equal
	// under another nonce: ErrClone; equal, and synced: ErrSynced; a log that is not as long as its state says:
	// ErrLost. A peek, or an ask with nonce 0, is checked the same way and writes nothing: its number stays unused.
	TakeOnce(ctx context.Context, a quota.Ask, op Operation) (quota.Decision, error)
	// State returns the remote's state, and changes nothing. An account without state has Generation 0. A server that
	// was restarted or replaced since the last generation began returns ErrLost or ErrRestarted with the state, until
	// the next generation begins or Resume is called.
	State(ctx context.Context, account string, writers []string) (RemoteState, error)
	// Renew begins a new generation if the account's is still r.Was (0: there is no state), and otherwise changes
	// nothing; it returns the resulting generation. Unless every log is as long as its state says, it wipes logs,
	// writers and all else.
	Renew(ctx context.Context, r Renewal) (Generation, error)
	// Sync syncs a journal into the remote, all or nothing, even above a limit, as Batch says: it records the rows
	// numbered above their writer's last, each at its own time, raises the writers' numbers, then the pools to the
	// snapshots, drains, and lists the host. It returns the remote's clock. Errors: *GenerationError, ErrLost as
	// TakeOnce.
	Sync(ctx context.Context, d Batch) (time.Time, error)
}

// Resumer is a Remote that can go on after ErrRestarted.
type Resumer interface {
	// Resume goes on in the same generation with the data of a restarted server. Errors: *GenerationError; ErrLost if a
	// log is not as long as its state says.
	Resume(ctx context.Context, account string, g Generation) error
}

// Operation names one TakeOnce, so that asking again charges nothing twice.
type Operation struct {
	Generation Generation // that the writer knows
	Writer     string     // 1..32 letters and digits
	Number     int64      // 1, 2, 3 ... of this writer
	Nonce      int64      // random, 1..1<<52-1; 0: only decide, charge nothing
	Written    int64      // the highest number known to be written by the remote; 0: none
}

// RemoteState is a remote's knowledge of an account.
type RemoteState struct {
	Generation Generation
	At         time.Time // the remote's clock
	Born       time.Time // when the generation began; zero for a first start, which waits for no host
	Hosts      []Host    // synced in this generation
	Written    map[string]int64
}

// Host is one data directory that draws on the account.
type Host struct {
	ID      string   `json:"id"`   // random, kept in the journal
	Name    string   `json:"name"` // for a person: host name and data directory
	Regions []string `json:"regions"`
	Knows   []string `json:"knows"` // ids of all hosts of the last generation that it decided in
	// Left says that the data directory's only process has ended and synced all its spends: no host waits for it.
	Left bool      `json:"left,omitempty"`
	At   time.Time `json:"at"` // when it last synced
}

// Renewal asks for a new generation.
type Renewal struct {
	Account string
	Pools   []string // that may have logs without a state
	Was     Generation
	Next    Generation
	First   bool // nothing was lost: it is the account's first start
	Horizon time.Duration
}

// Batch is one data directory's knowledge that the remote may lack.
type Batch struct {
	Account    string
	Generation Generation
	Horizon    time.Duration // entries are kept this long; the remote keeps the largest it has seen
	Gap        time.Duration // the largest gap between clocks: Ask.ClockGap
	// Rows are in the order of their writers' numbers, at most MaxRows of MaxWriters. A time after the remote's clock
	// becomes the time of that clock; one before the horizon only raises the writer's number. A RowUnused that is its
	// writer's last, and was carried out, is taken back; one above it only raises the writer's number.
	Rows []Row
	// Snapshots are the use that the host last saw, of all its pools. A pool is raised to its snapshot if that is
	// higher: Unattributed enters the missing amount of a window, the shortest first, as a charge of that window, at
	// the snapshot's own time, or just before the start of the shorter window that did not count it. It reduces the
	// unattributed charges of younger snapshots whose window had begun by that time, the earliest first, so that the
	// order of the hosts' syncs does not matter. A row synced as RowAsked or RowOwed belongs only to snapshots from
	// its sync on, since earlier ones did not see it. A row within a charge's window that the charge's snapshot had
	// counted (Row.CountedAt) is netted against it, the earliest such charge first. A snapshot changes nothing if the
	// pool was raised to one of its generation that is as young or younger.
	Snapshots []UsageSnapshot
	// Host is listed; nil: there is more to sync, or the directory only reads.
	Host *Host
}

// maxHosts is how many hosts a remote lists, the newest first.
const maxHosts = 256

// Listed returns the remote's new list of hosts, the batch's first.
func (b Batch) Listed(hosts []Host, now int64) []Host {
	host := *b.Host
	host.At = protocol.Time(now)
	hosts = slices.DeleteFunc(hosts, func(h Host) bool { return h.ID == host.ID })
	return append([]Host{host}, hosts[:min(len(hosts), maxHosts-1)]...)
}

// Unattributed spends are counted by a snapshot and by no row: calls of hosts that have not come back since a loss.
var Unattributed = quota.Who{Purpose: "unknown"}
