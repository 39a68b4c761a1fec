package sharedledger

import (
	"context"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Open makes the ledger of one process on a data directory, for a tariff and a remote that hosts data directories
// share. It does not ask the remote yet. The fields have the tariff's values or defaults, and may be changed before
// its first use. Close closes the remote, but not the journal. ErrUnknown: a part is missing or the tariff contradicts
// itself.
func Open(tariff *quota.Tariff, remote Remote, journal Journal, hosts int) (*Ledger, error) {
	if err := checkParts(tariff, remote, journal, hosts); err != nil {
		return nil, fmt.Errorf("open the shared ledger: %w", err)
	}
	s := &Ledger{
		Remote: remote, Journal: journal, Account: "default", SyncWait: tariff.Failure.SyncWait, Now: time.Now,
		ShortWait: 25 * time.Millisecond,
		Pause:     func(_ context.Context, d time.Duration) { time.Sleep(d) },

		pools: tariff.LedgerPools(), horizon: tariff.Horizon(), gap: tariff.Gap(), hosts: hosts, turn: make(chan struct{}, 1),
	}
	s.probeCtx, s.stopping = context.WithCancel(context.Background())
	return s, nil
}

// checkParts refuses missing parts and an incomplete tariff.
func checkParts(tariff *quota.Tariff, remote Remote, journal Journal, hosts int) error {
	if err := tariff.Check(); err != nil {
		return err
	}
	switch {
	case remote == nil:
		return fmt.Errorf("%w: no remote", quota.ErrUnknown)
	case journal == nil:
		return fmt.Errorf("%w: no journal", quota.ErrUnknown)
	case hosts < 1:
		return fmt.Errorf("%w: %d data directories share it, want at least 1", quota.ErrUnknown, hosts)
	case tariff.Failure.SyncWait <= 0:
		return fmt.Errorf("%w: failure: settle is %v: a new generation must wait for the other hosts: use 10m",
			quota.ErrUnknown, tariff.Failure.SyncWait)
	}
	return nil
}
