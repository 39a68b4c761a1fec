package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"path/filepath"
	"slices"

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
	cmd := command("rebuild", "Count the spends again, when quota.db is lost or damaged",
		noArgs, func(ctx context.Context, _ []string) error {
			if replace {
				if err := a.setAside(ctx); err != nil {
					return err
				}
			}
			from, lost, err := a.beginAnew(ctx)
			if err != nil {
				return err
			}
			return a.recount(ctx, from, lost)
		})
	cmd.Flags().BoolVar(&replace, "replace", false, "move a damaged quota.db out of the way first")
	return cmd
}

// beginAnew makes quota.db if it is missing, with the readable content of from, the newest one that was moved away.
// lost says why more may have been spent. Then every pool is closed, in the new file and on a server's ledger, which
// may lack spends made here without it.
func (a *app) beginAnew(ctx context.Context) (from, lost string, err error) {
	path := filepath.Join(a.cfg.Data, ledgerFile)
	if sqlitefile.Exists(path) {
		return "", "", nil
	}
	if err := a.makeData(); err != nil {
		return "", "", err
	}
	moved := movedAway(path)
	if len(moved) > 0 {
		from = moved[len(moved)-1]
	}
	err = sqliteledger.Replace(ctx, path, from, func(l *sqliteledger.Ledger, why string) error {
		if lost = why; lost == "" {
			return nil
		}
		l.Now = a.clock.Now
		return a.closeUnknown(ctx, l)
	})
	if err != nil && !errors.Is(err, fs.ErrExist) { // else another process was faster
		return "", "", fmt.Errorf("begin %s anew: %w", path, err)
	}
	return from, lost, nil
}

// closeUnknown closes every pool of a ledger, because the spends are not known.
func (a *app) closeUnknown(ctx context.Context, l quota.Ledger) error {
	tariff, err := a.tariff()
	if err != nil {
		return err
	}
	g := &quota.Governor{Ledger: l, Tariff: tariff, Account: a.cfg.Account, Now: a.clock.Now, Log: a.log()}
	for _, pool := range tariff.PoolNames() {
		if err := g.CloseUnknown(ctx, pool); err != nil {
			return fmt.Errorf("close %s: %w", pool, err)
		}
	}
	return nil
}

// recount adds the slots' spends that the ledger lacks to its content from a file. lost says why more may have been
// spent.
func (a *app) recount(ctx context.Context, from, lost string) error {
	n, err := a.rebuild(ctx, &lost, false)
	if err != nil && (from+lost == "" || !errors.Is(err, errLacksNothing)) {
		return err
	}
	did := "counted the spends of " + term.Plural(n, "slot") + " again"
	if from != "" {
		did += ", after the units that " + filepath.Base(from) + " shows"
	}
	return a.withLedger(ctx, func(ctx context.Context, l *ledger) error {
		if err := a.corrected(ctx, l, did, ""); err != nil || lost == "" {
			return err
		}
		return codeError{exitUnavailable, fmt.Errorf("%s: the other spends are not known. "+
			"Every pool is closed until none of them can count, or until you post today's figure from "+
			"the provider's console, or the figure for a pool's longer window: ingest quota post POOL N counts "+
			"that and opens the pool (%w)", lost, quota.ErrClosed)}
	})
}

// movedAway returns the files that setAside has moved, the oldest first.
func movedAway(path string) []string {
	names, _ := filepath.Glob(path + ".broken-*T*Z") // it fails only for a bad pattern
	slices.Sort(names)
	return names
}

// errLacksNothing means that the ledger has every spend of the store's slots.
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

// rebuild posts the slots' spends that the ledger lacks. It refuses while another process does the same: together
// they would count it twice. A ledger that lacks something may lack more: lost then gets the reason, and every pool is
// closed first; nil: no pool is. ahead says that charges of a fast clock were found before.
func (a *app) rebuild(ctx context.Context, lost *string, ahead bool) (slots int, err error) {
	s, err := a.writableStore(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return a.rebuildAlone(ctx, lost, ahead)
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = s.Close() }()
	err = s.Alone(ctx, "quota rebuild", func() (err error) {
		slots, err = a.rebuildAlone(ctx, lost, ahead)
		return err
	})
	return slots, err
}

// rebuildAlone can be interrupted and called again. The store does not know takes made by hand, nor the take of a
// killed run for its last page.
func (a *app) rebuildAlone(ctx context.Context, lost *string, ahead bool) (slots int, err error) {
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
		return 0, codeError{exitError, fmt.Errorf("the ledger of account %s knows all that the slots in %s spent: "+
			"%w; correct it with ingest quota post", l.Account, a.storeName(), errLacksNothing)}
	}
	// A fast clock deleted the missing spends: without other spenders nothing else is missing.
	if len(missing) > 0 && lost != nil && *lost == "" && (moved == 0 && !ahead || a.othersSpend(ctx, l)) {
		*lost = fmt.Sprintf("the ledger of account %s lacked %s that slots spent", l.Account,
			term.Amount(audit.Units(missing), "units"))
		if err := a.closeUnknown(ctx, l.Ledger); err != nil {
			return 0, err
		}
	}
	return account.Post(missing, l.Tariff, func(slot ingest.Slot) ([]string, error) { return a.slotMethods(ctx, slot) },
		func(p audit.Posting) error { return l.Post(ctx, p.Who, p.Cost, p.At) })
}

// othersSpend reports whether there are, or were, spenders that leave no slot: a gateway's clients, or a person.
func (a *app) othersSpend(ctx context.Context, l *ledger) bool {
	spenders, err := l.journal.Spenders(ctx) // also slots whose charges are forgotten
	return err != nil || a.cfg.GatewayListen != "" || len(a.cfg.Clients) > 0 ||
		slices.ContainsFunc(spenders, func(w quota.Who) bool {
			return w.Purpose == quota.Client || w.Purpose == quota.Manual
		})
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
	cmd := command("reset", "Forget all counts except the spends of the store's slots", noArgs,
		func(ctx context.Context, _ []string) error {
			if !yes {
				return usageError{fmt.Errorf("reset forgets for good the takes and posts of account %s by hand, "+
					"the spends of a gateway's clients, and which pools are closed: say so with --yes", a.cfg.Account)}
			}
			tariff, err := a.tariff()
			if err != nil {
				return err
			}
			lost := false
			if s, err := a.store(ctx); err == nil {
				at, err := s.LostSlots(ctx)
				lost = err != nil || at.After(a.clock.Now().Add(-tariff.Horizon()))
				_ = s.Close()
			}
			if lost {
				return codeError{exitUnavailable, errors.New("reset would forget the spends of slots that the store has lost: " +
					"correct the ledger with ingest quota post")}
			}
			by := "unknown"
			if u, err := user.Current(); err == nil {
				by = u.Username
			}
			l, err := a.openLedger(ctx) // unlike openCheckedLedger, it may lack slots' spends
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
			n, err := a.rebuild(ctx, nil, false)
			did := "counted the spends of " + term.Plural(n, "slot") + " again"
			if errors.Is(err, errLacksNothing) {
				did, err = "reset account "+a.cfg.Account, nil
			}
			if err != nil {
				return err
			}
			return a.withLedger(ctx, func(ctx context.Context, l *ledger) error { return a.corrected(ctx, l, did, "") })
		})
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}
