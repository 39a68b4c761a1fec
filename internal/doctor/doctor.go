// Package doctor examines an installation as a careful person would: config, key, disk, store, ledger, clocks. Each
// check looks at one thing and reports whether it is well, its state, and the cure. The checks spend and change
// nothing, and know nothing of each other. Only Repair writes, and only AskUpstream spends.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/pgledger"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// Doctor is the installation that is examined. Its functions open the things that a check needs. Only the functions
// of Online may create or change anything.
type Doctor struct {
	Version   string // of the program
	Config    *config.Config
	ConfigErr error // the config was refused, and Config is the readable part of it
	Clock     *config.Clock
	ClockErr  error  // INGEST_NOW was refused, and Clock is the machine's clock
	Root      string // the root of the system's files: "/"
	UID       int

	Tariff         func() (*quota.Tariff, error)
	Schedule       func() (regions.Schedule, error)
	PricedSchedule func() (budget.PricedSchedule, error) // the schedule with the tariff

	Provider string                                    // the upstream's name, for a person
	Keyed    bool                                      // the upstream wants an API key
	StandIn  bool                                      // its URL leads to this machine
	Upstream func(ctx context.Context) (string, error) // its host as a store remembers it; nothing is sent

	LedgerFile string // its name in a data directory
	// opens such a file: a copy, or the file itself to repair it
	OpenLocal func(ctx context.Context, path string) (LocalLedger, error)
	// for reading; nil: the store is an SQLite file in the data directory
	OpenStore func(ctx context.Context) (*store.Store, error)
	// where OpenStore's store is, without a password
	StoreName  string
	OpenRemote func(ctx context.Context) (sharedledger.Remote, error) // nil: the ledger is SQLite; nothing is sent
	Online     Online

	Say func(format string, args ...any) // prints the running step for a person
	// Recount posts the slots' spends that the ledger in quota.db lacks, after MoveBack. lost says why more may have
	// been spent: then every pool is closed.
	Recount  func(ctx context.Context) (slots int, lost string, err error)
	Upgraded func(fromVersion, toVersion int, backup string) // called when a repair has upgraded the store

	scratch  scratch
	standing struct {
		once sync.Once
		is   standing.Standing
		err  error
	}
	server struct {
		once     sync.Once
		redis    *redisledger.Facts // nil: it is no Redis
		postgres *pgledger.Facts    // nil: it is no PostgreSQL
		err      error
	}
}

// LocalLedger is the ledger of one data directory or, beside a remote one, its journal.
type LocalLedger interface {
	quota.Ledger
	quota.EmergencyAccount
	sharedledger.Journal
	Store(ctx context.Context) (name string, err error)
	MoveBack(ctx context.Context) (moved int, err error)
	KeepZone(ctx context.Context, account string, t *quota.Tariff,
		say func(format string, args ...any)) (*quota.Tariff, error)
	OtherAccounts(ctx context.Context, account string, pools []string, since time.Time) ([]string, error)
}

// Online opens everything that one call of the upstream needs, as every command that spends does.
type Online struct {
	CheckClock func(ctx context.Context) error
	Upstream   func(ctx context.Context) (Upstream, error)
	Quota      func(ctx context.Context) (q *quota.Governor, closeQuota func(), err error)
}

// Upstream is the API that is called, and a second opinion on this machine's clock.
type Upstream interface {
	fetch.Upstream
	dated
	Host() string
	Close()
}

// dated is an upstream whose clock is known from the Date header of its last answer.
type dated interface {
	// Date returns the header, and when the answer came by this machine's clock; zero for none.
	Date() (upstream, here time.Time)
}

// Close removes the copies that checks have made.
func (d *Doctor) Close() { d.scratch.remove() }

func (d *Doctor) ledgerFile() string { return filepath.Join(d.Config.Data, d.LedgerFile) }

func (d *Doctor) now() time.Time { return d.Clock.Now() }

// Status is how a check ended. Only Fail has an exit code.
type Status string

// The statuses.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// The exit codes of failures. The largest is to be fixed first, since it keeps the others from being judged.
const (
	Other       = standing.ExitError
	Unavailable = standing.ExitUnavailable
	BadKey      = standing.ExitKey
	BadConfig   = standing.ExitConfig
)

// Finding is the result of a check: the facts, and the next step of the person who reads it.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"` // "" if there was nothing to look at
	Detail string `json:"detail"` // the finding; its parts are separated by "; "
	Advice string `json:"advice"` // what to do next
	Exit   int    `json:"-"`      // the code of a failure

	brief string // a screen's text in place of the detail; "": the detail
	err   error  // of a failure that has the error's code
}

func okf(format string, args ...any) Finding {
	return Finding{Status: OK, Detail: fmt.Sprintf(format, args...)}
}

func warn(detail, advice string) Finding {
	return Finding{Status: Warn, Detail: detail, Advice: advice}
}

func fail(exit int, detail, advice string) Finding {
	return Finding{Status: Fail, Detail: detail, Advice: advice, Exit: exit}
}

// failAs returns a failure with the error's code.
func failAs(err error, detail, advice string) Finding {
	return Finding{Status: Fail, Detail: detail, Advice: advice, err: err}
}

// failWith is failAs with the error's text as the detail.
func failWith(err error, advice string) Finding { return failAs(err, err.Error(), advice) }

// failRemedy is failAs for an error that knows its cure, or none.
func failRemedy(err error) Finding {
	if known, ok := errors.AsType[standing.Remedy](err); ok {
		wrong, advice := known.Remedy()
		return failAs(err, wrong, advice)
	}
	return failWith(err, "")
}

// noFinding is the finding of a check that has nothing to look at, or whose subject another check reports on.
var noFinding = Finding{}
