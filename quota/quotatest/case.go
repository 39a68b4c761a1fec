package quotatest

import (
	"testing"

	"github.com/trendvidstream/ingest/quota"
)

// Backend makes stores of one kind of ledger, for Run. For several hosts on one remote see SharedBackend.
type Backend struct {
	Name string
	// Open returns a fresh and empty store, whose ledger's clock is the given one. It is closed by
	// t.Cleanup.
	Open func(t testing.TB, clock *Clock) Store
	// Without explains each capability that its stores lack: cases that need it are skipped, and the log says so. A
	// capability neither present nor explained is a failure.
	Without map[Capability]string
	// Steps is how many random steps A6 takes; 0 is 10,000.
	Steps int
	// Forward says that random steps never set a clock back, since a breaker may wait by it.
	Forward bool
	// Keys is how many one-off accounts F2 makes; 0 is 100,000.
	Keys int
	// Entries is how many entries expire at once in F3; 0 is 10,000.
	Entries int
	// Many is how many entries L9 compares with 1,000, or with half as many if that is fewer; 0 is 175,000.
	Many int
}

// Store is one place that holds quota, and the faults that a test can give it. All but Ledger may be absent.
type Store struct {
	Ledger quota.Ledger
	// Another opens the same store once more, as another process would; also after a Close of
	// Ledger. It is closed by t.Cleanup.
	Another func(t testing.TB) quota.Ledger
	// Address lets another process open the store; see Worker.
	Address string
	// Footprint counts the store's entries at the clock's time.
	Footprint func(t testing.TB) Footprint
	// LoseReply loses the reply to the next operation after it was carried out.
	LoseReply func(t testing.TB)
	// Evict deletes the stored state behind the ledger's back.
	Evict func(t testing.TB)
	// EvictPart deletes a part of an account.
	EvictPart func(t testing.TB, account string, part Part)
	// File is for a store in one file: others may overwrite it with an older copy, or delete it.
	File *File
	// OwnClock says that the ledger has a clock of its own, which it must compare with Ask.Now.
	OwnClock bool
}

// Part is a part of an account, for Store.EvictPart: a server that runs out of memory loses one alone.
type Part string

// The parts that an account of several hosts has.
const (
	PartLog     Part = "log"     // the entries of the pool "units"
	PartPool    Part = "pool"    // the other fields of that pool
	PartWriters Part = "writers" // each writer's last operation
)

// File is a file that is all of a store, so that a test can damage it or put an older copy back.
type File struct {
	Path string
	Open func() (quota.Ledger, error) // as another process does
}

// Footprint is the size of a store, to show that old entries are deleted.
type Footprint struct {
	Accounts int
	Entries  int // of all accounts and pools
}

// Capability is one of the things that a Store may be able to do. A Case that needs a missing one is skipped.
type Capability string

// The capabilities, by the names of their fields in Store.
const (
	Another   Capability = "Another"
	Address   Capability = "Address"
	Counts    Capability = "Footprint"
	LoseReply Capability = "LoseReply"
	Evict     Capability = "Evict"
	EvictPart Capability = "EvictPart"
	InFile    Capability = "File"
	OwnClock  Capability = "OwnClock"
)

func (s Store) can(c Capability) bool {
	switch c {
	case Another:
		return s.Another != nil
	case Address:
		return s.Address != ""
	case Counts:
		return s.Footprint != nil
	case LoseReply:
		return s.LoseReply != nil
	case Evict:
		return s.Evict != nil
	case EvictPart:
		return s.EvictPart != nil
	case InFile:
		return s.File != nil
	case OwnClock:
		return s.OwnClock
	default:
		return true
	}
}

// Case is one promise of a quota.Ledger. Run checks all of them on a Backend.
type Case struct {
	ID    string     // "A1"
	Name  string     // "takes leave 9..0"
	Needs Capability // "" for none
	check func(*rig)
}

// String returns the case's name as a test: its id first.
func (c Case) String() string { return c.ID + " " + c.Name }

// Check runs the case on a fresh store. The store must have the parts that the case needs.
func (c Case) Check(t testing.TB, b Backend) {
	t.Helper()
	r := newRig(t, b)
	if c.Needs != "" && !r.store.can(c.Needs) {
		t.Fatalf("%s: the store has no %s", c, c.Needs)
	}
	c.check(r)
}
