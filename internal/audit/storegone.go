package audit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/quota"
)

// StoreGone is the error of a store that is not there, while the ledger of the data directory knows what was spent on
// its contents. It is an ingest.ErrStoreGone.
type StoreGone struct {
	Store string // its name
	Units string // its spends: "32 units"
	Since time.Time
}

// Journal is the ledger of a data directory: it has this machine's spends.
type Journal interface {
	// Store returns the name of the store that is filled with it; "" if none was there yet.
	Store(ctx context.Context) (string, error)
	Spent(ctx context.Context, account string, since time.Time, every time.Duration) ([]quota.Spent, error)
}

// CheckStoreGone returns a *StoreGone for a store that is not there if a run has filled it, and an account has spent
// on a region since a time. The error shows it as name.
func CheckStoreGone(ctx context.Context, j Journal, account, store, name string, since time.Time) error {
	if filled, err := j.Store(ctx); err != nil || filled != store {
		return err
	}
	spent, err := j.Spent(ctx, account, since, 0)
	if err != nil {
		return err
	}
	most, used := "", quota.Cost{}
	for _, s := range spent {
		if s.Who.Region == "" ||
			!slices.Contains([]quota.Purpose{quota.Scheduled, quota.Refresh, quota.Backfill}, s.Who.Purpose) {
			continue
		}
		if used[s.Pool] += s.Amount; used[s.Pool] > used[most] {
			most = s.Pool
		}
	}
	if most == "" {
		return nil
	}
	return &StoreGone{name, fmt.Sprintf("%d %s", used[most], most), since}
}

func (e *StoreGone) Error() string {
	wrong, advice := e.Remedy()
	return wrong + ": " + advice
}

// Remedy names the trouble and the cure.
func (e *StoreGone) Remedy() (wrong, advice string) {
	return fmt.Sprintf("the store %s is gone: quota.db knows of %s that were spent on it since %s",
			e.Store, e.Units, e.Since.UTC().Format("2006-01-02 15:04 UTC")),
		"restore the newest backup, or begin a new store: ingest run --accept-new-store"
}

// Unwrap returns ingest.ErrStoreGone.
func (e *StoreGone) Unwrap() error { return ingest.ErrStoreGone }
