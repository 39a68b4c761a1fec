package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/audit"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

func (a *app) quotaRebuildCommand() *cobra.Command {
	replace := false
	cmd := command("rebuild", "Rebuild a lost quota.db from what the store says was spent",
		noArgs, func(ctx context.Context, _ []string) error {
			if replace {
				if err := a.setAside(ctx); err != nil {
					return err
				}
			}
			unknown, err := a.beginAnew(ctx)
			if err == nil {
				err = a.recount(ctx)
			}
			if err != nil || unknown == "" {
				return err
			}
			return codeError{exitUnavailable, fmt.Errorf("%s: what was spent in the last day is not known, so that every pool is closed until the provider's midnight. Wait for it; or see in the provider's console what was spent today, post it with ingest quota post POOL N, and open the pool with ingest quota drain POOL --lift (%w)", unknown, quota.ErrClosed)}
		})
	cmd.Flags().BoolVar(&replace, "replace", false, "move a damaged quota.db out of the way first")
	return cmd
}

// beginAnew makes quota.db if it is missing. If the store cannot tell what was spent, it returns why, and the new file
// has every pool closed: the provider has counted it.
func (a *app) beginAnew(ctx context.Context) (unknown string, err error) {
	path := filepath.Join(a.cfg.Data, ledgerFile)
	if sqlitefile.Exists(path) {
		return "", nil
	}
	if a.cfg.Ledger == "sqlite" { // else the server has the counts
		if unknown, err = a.uncountable(ctx); err != nil {
			return "", err
		}
	}
	tariff, err := a.tariff()
	if err != nil {
		return "", err
	}
	err = sqliteledger.Replace(ctx, path, func(l *sqliteledger.Ledger) error {
		if unknown == "" {
			return nil
		}
		l.Now = a.clock.Now
		g := &quota.Governor{Ledger: l, Tariff: tariff, Account: a.cfg.Account, Now: a.clock.Now, Log: a.log()}
		for _, pool := range tariff.PoolNames() {
			if err := g.DrainByHand(ctx, pool, false); err != nil {
				return fmt.Errorf("close %s: %w", pool, err)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrExist) { // else another process was faster
		return "", fmt.Errorf("begin %s anew: %w", path, err)
	}
	return unknown, nil
}

// uncountable says why the store cannot tell what was spent; "" if it can.
func (a *app) uncountable(ctx context.Context) (string, error) {
	s, err := a.store(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("%s is lost, and there is no store in %s", ledgerFile, a.storeName()), nil
	}
	if err != nil {
		return "", err
	}
	_ = s.Close()
	lost, err := a.lostSlots(ctx)
	if err != nil || !lost {
		return "", err
	}
	return ledgerFile + " is lost, and the store has lost slots", nil
}

func (a *app) recount(ctx context.Context) error {
	n, err := a.rebuild(ctx)
	if err != nil {
		return err
	}
	return a.withLedger(ctx, func(ctx context.Context, l *ledger) error {
		return a.corrected(ctx, l, "counted the spends of "+term.Plural(n, "slot")+" again", "")
	})
}

// errLacksNothing means that the ledger knows all that the store's slots spent.
var errLacksNothing = errors.New("nothing to rebuild")

// setAside renames a damaged quota.db, with the files that SQLite keeps beside it.
func (a *app) setAside(ctx context.Context) error {
	path := filepath.Join(a.cfg.Data, ledgerFile)
	l, err := a.openLedger(ctx)
	if err == nil {
		_, err = l.Report(ctx)
		l.close()
	}
	damage := ""
	if err == nil {
		damage, err = sqlitefile.QuickCheck(ctx, path)
	}
	if err == nil && damage == "" {
		return usageError{fmt.Errorf("%s can be read: it is not replaced; ingest quota post corrects it", path)}
	}
	if damage == "" && !errors.Is(err, quota.ErrCorrupt) {
		return err
	}
	to := path + ".broken-" + a.clock.Now().UTC().Format("20060102T150405Z")
	if err := sqlitefile.Rename(path, to); err != nil {
		return fmt.Errorf("move %s away: %w", path, err)
	}
	a.say("ingest: %s was damaged and is moved to %s", path, to)
	return nil
}

// rebuild posts what the store's slots spent and the ledger lacks. It refuses while another process does the same:
// together they would count it twice.
func (a *app) rebuild(ctx context.Context) (slots int, err error) {
	s, err := a.writableStore(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return a.rebuildAlone(ctx)
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = s.Close() }()
	err = s.Alone(ctx, "quota rebuild", func() (err error) {
		slots, err = a.rebuildAlone(ctx)
		return err
	})
	return slots, err
}

// rebuildAlone can be interrupted and called again. The store does not know what was taken by hand, nor what a killed
// run took for its last page.
func (a *app) rebuildAlone(ctx context.Context) (slots int, err error) {
	l, err := a.openLedger(ctx)
	if err != nil {
		return 0, err
	}
	defer l.close()
	moved, err := l.journal.MoveBack(ctx) // entries that a fast clock left in the future block every post
	if err != nil {
		return 0, err
	}
	account := l.audit()
	spent, err := a.spentSlots(ctx, account.RebuildSince())
	if err != nil {
		return 0, err
	}
	missing, err := account.Rebuild(ctx, spent)
	if err != nil {
		return 0, err
	}
	if len(missing) == 0 && len(spent) > 0 && moved == 0 {
		return 0, codeError{exitError, fmt.Errorf("the ledger of account %s knows all that the slots in %s spent: %w; correct it with ingest quota post", l.Account, a.storeName(), errLacksNothing)}
	}
	return account.Post(missing, l.Tariff, func(slot ingest.Slot) ([]string, error) { return a.slotMethods(ctx, slot) },
		func(p audit.Posting) error { return l.Post(ctx, p.Who, p.Cost, p.At) })
}

func (a *app) slotMethods(ctx context.Context, slot ingest.Slot) ([]string, error) {
	id, piece := ingest.IsBackfillJob(slot.Job)
	if !piece {
		calls, err := fetch.JobCalls(a.provider().calls, ingest.Job{Kind: slot.Kind})
		return calls.Methods(), err
	}
	s, err := a.store(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	b, err := s.FindBackfill(ctx, id)
	if err != nil {
		return nil, err
	}
	calls, err := fetch.BackfillCalls(a.provider().calls, b.Kind)
	return calls.Methods(), err
}

// forgetStops ends all waits for quota from before the ledger was reset.
func (a *app) forgetStops(ctx context.Context) error {
	s, err := a.writableStore(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return s.ForgetStops(ctx, "stopped by quota, before the ledger was reset")
}

func (a *app) quotaResetCommand() *cobra.Command {
	yes := false
	cmd := command("reset", "Forget all counts except what the store's slots spent", noArgs, func(ctx context.Context, _ []string) error {
		if !yes {
			return usageError{fmt.Errorf("reset forgets for good what account %s has taken and posted by hand, and who closed its pools: say so with --yes", a.cfg.Account)}
		}
		if lost, err := a.lostSlots(ctx); err != nil {
			return err
		} else if lost {
			return codeError{exitUnavailable, errors.New("reset would forget what the slots spent that the store has lost: correct the ledger with ingest quota post")}
		}
		by := "unknown"
		if u, err := user.Current(); err == nil {
			by = u.Username
		}
		l, err := a.openLedger(ctx) // unlike openCheckedLedger, it may lack what slots spent
		if err != nil {
			return err
		}
		err = l.Reset(ctx, by)
		l.close()
		if err == nil {
			err = a.forgetStops(ctx)
		}
		if err != nil {
			return err
		}
		if err := a.recount(ctx); !errors.Is(err, errLacksNothing) {
			return err
		}
		return a.withLedger(ctx, func(ctx context.Context, l *ledger) error {
			return a.corrected(ctx, l, "reset account "+a.cfg.Account, "")
		})
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}
