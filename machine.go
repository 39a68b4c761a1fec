package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ClockApart is the error of a machine whose clock differs from another by more than is trusted.
type ClockApart struct {
	From  string        // whose clock disagrees: "the database", "the upstream"
	Ahead time.Duration // of this machine's clock; negative: it is behind
}

// ErrClock means that this machine's clock is wrong, as another that can be trusted says. A *ClockApart is one, too.
var ErrClock = errors.New("this machine's clock is wrong")

// ErrNoWrites means that the database that machines share answers, and takes no writes: it is a standby, or was set to
// be read only.
var ErrNoWrites = errors.New("the store takes no writes")

// ErrStoreSilent means that the store's database cannot be reached now.
var ErrStoreSilent = errors.New("the store is not reachable")

// Errors of calls of the upstream.
var (
	ErrNoAnswer   = errors.New("the upstream gives no usable answer")
	ErrKeyRefused = errors.New("the upstream refuses the key")
)

// ErrStoreGone means that the store is new or missing, and that the ledger of the data directory knows of calls whose
// answers were saved.
var ErrStoreGone = errors.New("the store is gone")

// ErrStoreClosed means that the store could not be opened, and that the ledger was not asked therefore.
var ErrStoreClosed = errors.New("the store cannot be opened")

// StoreClosed returns the error of opening a store as an ErrStoreClosed, its text unchanged.
func StoreClosed(err error) error {
	if err == nil {
		return nil
	}
	return storeClosed{err}
}

type storeClosed struct{ error }

func (e storeClosed) Unwrap() error { return e.error }

func (storeClosed) Is(target error) bool { return target == ErrStoreClosed }

// CompareClocks returns a *ClockApart if here and there, two readings of one moment, differ by more than gap.
func CompareClocks(from string, here, there time.Time, gap time.Duration) error {
	if ahead := here.Sub(there); ahead.Abs() > gap {
		return &ClockApart{From: from, Ahead: ahead}
	}
	return nil
}

// AskClock reads another clock, and this machine's halfway through the question: two readings of one moment.
func AskClock(ctx context.Context, ask func(context.Context) (time.Time, error)) (here, there time.Time, err error) {
	asked := time.Now()
	there, err = ask(ctx)
	return asked.Add(time.Since(asked) / 2), there, err
}

// Is reports whether target is ErrClock.
func (*ClockApart) Is(target error) bool { return target == ErrClock }

func (e *ClockApart) Error() string {
	side, by := "ahead of", e.Ahead
	if by < 0 {
		side, by = "behind", -by
	}
	return fmt.Sprintf("its clock is %s %s %s's clock: set it (timedatectl set-ntp true)", roughly(by), side, e.From)
}

// roughly returns a duration in its largest unit that leaves at least two of it.
func roughly(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d min", d.Round(time.Minute)/time.Minute)
	}
	return fmt.Sprintf("%d s", d.Round(time.Second)/time.Second)
}

// IdleMachine is a machine that leaves all work to the others, until it may work again.
type IdleMachine struct {
	Machine string    `json:"machine"`
	Why     string    `json:"why"`
	Since   time.Time `json:"since"`   // by the database's clock
	SeenAt  time.Time `json:"seen_at"` // when it last noted it
}

func (m IdleMachine) String() string { return "machine " + m.Machine + " does not work: " + m.Why }
