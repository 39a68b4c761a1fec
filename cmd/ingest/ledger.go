package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/audit"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/internal/ownfile"
	"github.com/trendvidstream/ingest/internal/policy"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/pgledger"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
	"github.com/trendvidstream/ingest/store"
)

// ledgerFile is the ledger itself or, next to a shared one, the journal of this data directory.
const ledgerFile = "quota.db"

// ledger is an open ledger and this data directory's quota.db, which may be the same.
type ledger struct {
	*quota.Governor
	journal *sqliteledger.Ledger
	close   func()
}

func (a *app) openLedger(ctx context.Context) (*ledger, error) {
	if err := a.checkCountable(ctx); err != nil {
		return nil, err
	}
	tariff, err := a.tariff()
	if err != nil {
		return nil, err
	}
	remote, err := openRemote(ctx, a.cfg)
	if err != nil {
		return nil, err
	}
	local, err := a.openLocal(ctx)
	if err == nil {
		tariff, err = local.KeepZone(ctx, a.cfg.Account, tariff, a.say)
	}
	if err != nil {
		if remote != nil {
			_ = remote.Close()
		}
		return nil, err
	}
	chart, _ := fetch.JobCalls(a.provider().calls, ingest.Job{Kind: ingest.KindChart}) // every upstream has charts
	g := &quota.Governor{Ledger: local, EmergencyAccount: local, Tariff: tariff, Usual: chart.Page,
		Account: a.cfg.Account, Now: a.clock.Now, Log: a.log()}
	l := &ledger{g, local, func() { _ = local.Close() }}
	if remote != nil {
		if err := a.share(ctx, l, local, remote); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

// share makes the remote ledger the one that decides, and the data directory's own file its journal.
func (a *app) share(ctx context.Context, l *ledger, local *sqliteledger.Ledger, remote sharedledger.Remote) error {
	l.close = func() { _ = remote.Close(); _ = local.Close() }
	shared, err := sharedledger.Open(l.Tariff, remote, local, a.cfg.Hosts)
	if err != nil {
		return err
	}
	// A ledger that recently failed to answer is not asked: an outage costs one timeout, not one per start.
	if s, err := local.State(ctx, a.cfg.Account); err == nil && !s.Breaker.Until.After(a.clock.Now()) {
		warning, err := doctor.CheckAtStart(ctx, remote, config.ServerName(a.cfg.Ledger))
		if err != nil {
			return err
		}
		if warning != "" {
			a.say("ingest: %s", warning)
		}
	}
	shared.Account, shared.Host, shared.Now, shared.Log = a.cfg.Account,
		sharedledger.Host{Name: config.Hostname() + ":" + a.cfg.Data, Regions: a.cfg.RegionCodes()}, a.clock.Now, a.log()
	l.Ledger, l.EmergencyAccount = shared, shared
	l.close = func() { _ = shared.Close(); _ = local.Close() } // closes the remote, too
	return nil
}

// makeData makes the data directory if it is missing.
func (a *app) makeData() error {
	if err := ownfile.CheckDir(a.cfg.Data); err != nil {
		return err
	}
	if err := os.MkdirAll(a.cfg.Data, 0o700); err != nil {
		return config.Invalid(fmt.Errorf("make the data directory: %w: give another --data", err))
	}
	return nil
}

// openLocal opens the ledger's file in the data directory, and makes both if they are missing.
func (a *app) openLocal(ctx context.Context) (*sqliteledger.Ledger, error) {
	if err := a.makeData(); err != nil {
		return nil, err
	}
	local, err := sqliteledger.Open(ctx, filepath.Join(a.cfg.Data, ledgerFile))
	damaged, ok := errors.AsType[*sqliteledger.DamagedError](err)
	switch {
	case ok:
		err = ledgerFileError{err, fmt.Sprintf("%s (%v): %s",
			strings.TrimSuffix(standing.CauseOf(err, "").Row().Cure.Thing, "."), damaged.Err, howToReplace)}
	case errors.Is(err, quota.ErrMissing):
		err = ledgerFileError{err, fmt.Sprintf("%s is missing from %s: "+
			"put it back as it was, or run ingest quota rebuild, which counts the store's spends again", ledgerFile, a.cfg.Data)}
	}
	if err == nil {
		local.Now = a.clock.Now
	}
	return local, err
}

// checkCountable fails if quota.db is missing and the store shows that it was there: a new one would begin at 0 and
// forget all spends. Without a store nothing was fetched yet.
func (a *app) checkCountable(ctx context.Context) error {
	path := filepath.Join(a.cfg.Data, ledgerFile)
	if a.cfg.Ledger != "sqlite" || sqlitefile.Exists(path) {
		return nil
	}
	trace, err := a.traceOfSpending(ctx)
	if err != nil || trace == "" {
		return err
	}
	return ledgerFileError{fmt.Errorf("%w: %w", quota.ErrUnavailable, quota.ErrMissing),
		fmt.Sprintf("%s is missing from %s, and the store %s: "+
			"put it back as it was, or run ingest quota rebuild, which says how to go on", ledgerFile, a.cfg.Data, trace)}
}

// traceOfSpending describes the store's evidence of spends that still count; "" if there is none. A missing store, or
// one that cannot be read for now, has none.
func (a *app) traceOfSpending(ctx context.Context) (string, error) {
	tariff, err := a.tariff()
	if err != nil {
		return "", err
	}
	s, err := a.store(ctx)
	var corrupt *store.CorruptError
	if errors.As(err, &corrupt) {
		return "", err
	} else if err != nil {
		return "", nil
	}
	defer func() { _ = s.Close() }()
	return audit.Trace(ctx, s, a.clock.Now().Add(-tariff.Horizon()))
}

// ledgerFileError says what to do about a lost or damaged quota.db.
type ledgerFileError struct {
	error

	text string
}

func (e ledgerFileError) Error() string { return e.text }

func (e ledgerFileError) Unwrap() error { return e.error }

// howToReplace says how to replace a file that cannot be read.
const howToReplace = "run ingest quota rebuild --replace, which moves it aside and counts the store's spends again"

// openRemote returns the Redis or PostgreSQL ledger that the config names; nil for sqlite. It sends nothing yet.
func openRemote(ctx context.Context, c *config.Config) (sharedledger.Remote, error) {
	if c.Ledger == "sqlite" {
		return nil, nil //nolint:nilnil // there is none
	}
	if err := config.CheckLedger(c.Ledger); err != nil {
		return nil, err
	}
	if strings.HasPrefix(c.Ledger, "postgres") {
		return asRemote(pgledger.Open(ctx, c.Ledger, pgledger.Options{}))
	}
	return asRemote(redisledger.Open(ctx, c.Ledger, redisledger.Options{}))
}

// asRemote returns a nil interface beside an error, which comes from the config.
func asRemote[R sharedledger.Remote](l R, err error) (sharedledger.Remote, error) {
	if err != nil {
		return nil, config.Invalid(err)
	}
	return l, nil
}

// slotsSpent returns the slots of a store that spent quota since a time.
type slotsSpent func(ctx context.Context, since time.Time) ([]ingest.Slot, error)

// openCheckedLedger opens the ledger, unless the provider's terms forbid it or the ledger lacks slots' spends.
func (a *app) openCheckedLedger(ctx context.Context, spent slotsSpent) (*ledger, error) {
	l, err := a.openLedger(ctx)
	if err != nil {
		return nil, err
	}
	others, err := l.journal.OtherAccounts(ctx, l.Account, l.Tariff.LedgerPools(), l.Now().Add(-l.Tariff.Horizon()))
	if err == nil {
		err = a.checkPolicy(policy.Facts{Account: l.Account, Others: others})
	}
	if err == nil && !a.corrects {
		err = a.checkRenamed(ctx, l)
	}
	if err == nil {
		l.Known = func(ctx context.Context, since time.Time) ([]quota.Spent, error) {
			slots, err := spent(ctx, since)
			return audit.Known(slots, since, l.Tariff), err
		}
		err = a.checkLost(ctx, l)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// checkRenamed fails if the ledger has counts under a pool's name that the costs no longer have.
func (a *app) checkRenamed(ctx context.Context, l *ledger) error {
	spent, err := l.journal.Spent(ctx, l.Account, l.Now().Add(-l.Tariff.Horizon()), 0)
	if err != nil {
		return err
	}
	return config.Invalid(audit.Renamed(spent, l.Tariff))
}

// checkPolicy refuses a use that the provider's terms forbid, judged by these facts.
func (a *app) checkPolicy(f policy.Facts) error {
	tariff, err := a.tariff()
	if err != nil {
		return err
	}
	return config.Invalid(policy.Refusal(policy.Judge(tariff.Policy, f)))
}

// checkLost fails if the ledger lacks charges of the store's slots.
func (a *app) checkLost(ctx context.Context, l *ledger) error {
	missing, err := l.Missing(ctx)
	if l.cannotAnswer(err) {
		return nil // every take will report it
	}
	if err != nil || len(missing) == 0 {
		return err
	}
	lacks := map[string]int64{}
	for _, s := range missing {
		if l.Tariff.CheckPool(s.Pool) != nil {
			return config.Invalid(fmt.Errorf("slots in %s spent from pool %s, which the costs do not have. "+
				"If it was renamed, list its earlier names in the line of the present pool, oldest first: was: [FIRST, %[2]s]",
				a.storeName(), s.Pool))
		}
		lacks[s.Pool] += s.Amount
	}
	return codeError{exitUnavailable, ledgerFileError{errors.Join(quota.ErrClosed, quota.ErrIncomplete),
		fmt.Sprintf("the ledger of account %s is incomplete: it lacks %s that the slots in %s spent: "+
			"put %s back as it was, or count them again with ingest quota rebuild (%v)",
			l.Account, term.Amounts(lacks), a.storeName(), ledgerFile, quota.ErrClosed)}}
}

// report returns the rest. While the ledger cannot answer, the report says why instead; a damaged server is no
// different, as the emergency budget is in quota.db.
func (l *ledger) report(ctx context.Context) (quota.Report, error) {
	r, err := l.Report(ctx)
	if l.cannotAnswer(err) {
		r.Degraded, err = err, nil
	}
	return r, err
}

func (l *ledger) cannotAnswer(err error) bool {
	return errors.Is(err, quota.ErrUnavailable) || errors.Is(err, quota.ErrCorrupt) && l.Ledger != quota.Ledger(l.journal)
}

func (l *ledger) audit() audit.Account {
	return audit.Account{Ledger: l.Governor, Tariff: l.Tariff, Name: l.Account, Now: l.Now()}
}

// spentSlots opens the store and returns its SpentSlots, none if there is no store.
func (a *app) spentSlots(ctx context.Context, since time.Time) ([]ingest.Slot, error) {
	s, err := a.store(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	return s.SpentSlots(ctx, since)
}
