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
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/pgledger"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// ledgerFile is the ledger itself or, next to a shared one, the journal of this data directory.
const ledgerFile = "quota.db"

// openLedger opens the ledger and this data directory's own file, which may be the same.
func (a *app) openLedger(ctx context.Context) (*quota.Governor, func(), error) {
	tariff, err := tariffOf(a.cfg)
	if err != nil {
		return nil, nil, err
	}
	remote, err := openRemote(ctx, a.cfg)
	if err != nil {
		return nil, nil, err
	}
	closeAll := func() {}
	if remote != nil {
		closeAll = func() { _ = remote.Close() }
	}
	if err := os.MkdirAll(a.cfg.Data, 0o700); err != nil {
		closeAll()
		return nil, nil, config.Invalid(fmt.Errorf("make the data directory: %w: give another --data", err))
	}
	if err := config.CheckData(a.cfg.Data, ledgerFile); err != nil {
		closeAll()
		return nil, nil, config.Invalid(err)
	}
	local, err := sqliteledger.Open(ctx, filepath.Join(a.cfg.Data, ledgerFile))
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	local.Now = a.clock.Now
	chart, _ := fetch.JobCalls(a.provider().calls, ingest.Job{Kind: ingest.KindChart}) // every upstream has charts
	g := &quota.Governor{Ledger: local, EmergencyAccount: local, Tariff: tariff, Usual: chart.Page, Account: a.cfg.Account, Now: a.clock.Now, Log: a.log()}
	if remote != nil {
		shared, err := sharedledger.Open(tariff, remote, local, a.cfg.Hosts)
		// A ledger that recently failed to answer is not asked: an outage costs one timeout, not one per start.
		if s, stateErr := local.State(ctx, a.cfg.Account); err == nil && stateErr == nil && !s.Breaker.Until.After(a.clock.Now()) {
			err = checkRemote(ctx, &a.console, ledgerName(a.cfg.Ledger), remote)
		}
		if err != nil {
			closeAll()
			_ = local.Close()
			return nil, nil, err
		}
		shared.Account, shared.Host, shared.Now, shared.Log = a.cfg.Account, hostOf(a.cfg), a.clock.Now, a.log()
		g.Ledger, g.EmergencyAccount = shared, shared
		closeAll = func() { _ = shared.Close() } // closes the remote, too
	}
	return g, func() { closeAll(); _ = local.Close() }, nil
}

// hostOf returns this data directory as other hosts' doctors see it.
func hostOf(c *config.Config) sharedledger.Host {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	return sharedledger.Host{Name: name + ":" + c.Data, Regions: c.RegionCodes()}
}

// openRemote returns the Redis or PostgreSQL ledger that the config names, nil for sqlite. It sends nothing yet.
func openRemote(ctx context.Context, c *config.Config) (sharedledger.Remote, error) {
	scheme, _, isURL := strings.Cut(c.Ledger, "://")
	switch {
	case c.Ledger == "sqlite":
		return nil, nil //nolint:nilnil // none is wanted
	case !isURL:
		return nil, config.Invalid(fmt.Errorf("ledger %q is not known: use sqlite or redis://host:port/db, or postgres://user@host:port/database", ledgerName(c.Ledger)))
	case scheme == "postgres" || scheme == "postgresql":
		l, err := pgledger.Open(ctx, c.Ledger, pgledger.Options{})
		return l, config.Invalid(err)
	}
	l, err := redisledger.Open(ctx, c.Ledger, redisledger.Options{})
	return l, config.Invalid(err)
}

// checkBound bounds the time that a start spends on checks it does not need.
const checkBound = 500 * time.Millisecond

// checkRemote refuses a Redis that would evict what was spent, and warns about a server that forgets it on restart. It
// takes one round trip. A server that does not answer, or does not permit the question, is no error here: the next take
// will show it.
func checkRemote(ctx context.Context, c *console, name string, remote sharedledger.Remote) error {
	ctx, cancel := context.WithTimeout(ctx, checkBound)
	defer cancel()
	switch l := remote.(type) {
	case *redisledger.Ledger:
		f, err := l.Glance(ctx)
		switch {
		case err != nil: // degraded mode is for that
		case f.Evicts():
			return codeError{exitUnavailable, fmt.Errorf("%w: redis at %s has maxmemory-policy %s and would delete what was spent: CONFIG SET maxmemory-policy noeviction, and in redis.conf",
				quota.ErrClosed, name, f.MaxMemoryPolicy)}
		case f.AppendOnly == "no":
			c.say("ingest: redis at %s has no append-only file and forgets what was spent when it restarts: CONFIG SET appendonly yes", name)
		}
	case *pgledger.Ledger:
		if f, err := l.Inspect(ctx); err == nil && !f.Durable() {
			c.say("ingest: postgres at %s confirms what is not on disk (fsync %s, synchronous_commit %s) and may forget what was spent: set both on", name, f.Fsync, f.SynchronousCommit)
		}
	}
	return nil
}

// ledgerName returns a ledger's URL without its secrets.
func ledgerName(s string) string {
	if !strings.ContainsAny(s, ":@") {
		return s
	}
	return config.RedactURL(s)
}

// governor opens the ledger; the returned function closes it. If the ledger is lost, the gate is closed.
func (a *app) governor(ctx context.Context) (*quota.Governor, func(), error) {
	g, closeAll, err := a.openLedger(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := a.checkLost(ctx, g); err != nil {
		closeAll()
		return nil, nil, err
	}
	return g, closeAll, nil
}

// checkLost keeps the gate closed if the ledger lacks spends of the store's slots. A remote ledger that this data
// directory has synced with before gets what it lacks from the journal, and needs no check.
func (a *app) checkLost(ctx context.Context, g *quota.Governor) error {
	if replays, err := g.EmergencyAccount.Replays(ctx, g.Account); err != nil || replays {
		return err
	}
	account := auditOf(g)
	slots, err := a.spentSlots(ctx, account.MissingSince())
	if err != nil {
		return err
	}
	missing, err := account.Missing(ctx, slots)
	if errors.Is(err, quota.ErrUnavailable) {
		return nil // every take will report it
	}
	if err != nil || len(missing) == 0 {
		return err
	}
	return codeError{exitUnavailable, fmt.Errorf("%w: the slots in %s recently spent %s units that the ledger of account %s does not know: "+
		"put %s back as it was, or count them again with ingest quota rebuild", quota.ErrClosed, a.cfg.Data, term.Thousands(audit.Units(missing)), g.Account, ledgerFile)}
}

func auditOf(g *quota.Governor) audit.Account {
	return audit.Account{Ledger: g.Ledger, Name: g.Account, Now: g.Now(), Horizon: g.Tariff.Horizon()}
}

// spentSlots returns the store's SpentSlots, none if there is no store.
func (a *app) spentSlots(ctx context.Context, since time.Time) ([]ingest.Slot, error) {
	s, err := a.store(ctx, "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	return s.SpentSlots(ctx, since)
}
