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

	"github.com/trendvidstream/ingest/internal/audit"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
	"github.com/trendvidstream/ingest/store"
)

// The checks of quota.db, which is the ledger itself or, beside a Redis, this data directory's journal.
// A copy of it is opened.

func (d *doctor) sqlite() bool { return d.cfg.Ledger == "sqlite" }

// reader opens the ledger, whichever it is, to be read only.
func (d *doctor) reader(ctx context.Context) (*quota.Governor, error) {
	t, err := d.tariff()
	if err != nil {
		return nil, err
	}
	g := &quota.Governor{Tariff: t, Account: d.cfg.Account, Now: d.clock.Now}
	if d.sqlite() {
		l, err := d.ledger(ctx, d.cfg.Data)
		if err != nil {
			return nil, err
		}
		g.Ledger = l
		return g, nil
	}
	l, err := d.remoteLedger(ctx)
	if err != nil {
		return nil, err
	}
	g.Ledger = l
	return g, nil
}

func (d *doctor) report(ctx context.Context) (quota.Report, error) {
	g, err := d.reader(ctx)
	if err != nil {
		return quota.Report{}, err
	}
	defer func() { _ = g.Ledger.Close() }()
	return g.Report(ctx)
}

func lookLedger(ctx context.Context, d *doctor) finding {
	if _, err := d.tariff(); err != nil || !d.sqlite() {
		return noLine
	}
	_, err := d.report(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return warn(filepath.Join(d.cfg.Data, ledgerFile)+" is not there yet", "ingest run makes it")
	case errors.Is(err, sqlitefile.ErrLeftover):
		return warn(err.Error(), "ingest quota finishes what was left; then look again")
	case err != nil:
		return broken(err, "see its owner and mode, and the clock; if it is damaged, restore a backup, or move it away and ingest quota rebuild")
	}
	return fine("sqlite, account %s: it answers", d.cfg.Account)
}

func lookPools(ctx context.Context, d *doctor) finding {
	r, err := d.report(ctx)
	if err != nil {
		return noLine // the ledger has said so
	}
	var lines, advice []string
	for _, p := range r.Pools {
		used := int64(0)
		for _, w := range p.Windows {
			used = max(used, w.Used)
		}
		if p.DrainedUntil.IsZero() {
			lines = append(lines, fmt.Sprintf("%s: %s of %s used", p.Pool, term.Thousands(used), term.Thousands(p.Limit)))
			continue
		}
		line, what := drained(p)
		lines, advice = append(lines, line), append(advice, what)
	}
	if len(advice) > 0 {
		return warn(strings.Join(lines, "; "), strings.Join(advice, "; "))
	}
	return fine("%s", strings.Join(lines, ", "))
}

// drained says what the provider's word differs by from the limit, and what limit it seems to keep.
func drained(p quota.PoolReport) (line, advice string) {
	stopped := p.Limit - p.Drift
	line = fmt.Sprintf("%s: upstream stopped at %s of %s, closed until %s", p.Pool, term.Thousands(stopped), term.Thousands(p.Limit), term.Stamp(p.DrainedUntil))
	if p.Drift == 0 {
		return line, "wait for the provider's midnight"
	}
	step := int64(1)
	for step*100 <= stopped {
		step *= 10
	}
	return line, fmt.Sprintf("does another program spend %s? It should ask ingest quota take; else set the limit to %s", p.Pool, term.Thousands(stopped/step*step))
}

// lookLost finds what checkLost closes the gate for.
func lookLost(ctx context.Context, d *doctor) finding {
	t, err := d.tariff()
	if err != nil {
		return noLine
	}
	account := audit.Account{Name: d.cfg.Account, Now: d.clock.Now(), Horizon: t.Horizon()}
	known, err := store.InspectSlots(ctx, d.cfg.Data, account.MissingSince())
	d.copies.forget(filepath.Join(d.cfg.Data, ledgerFile)) // one made before knows less than the slots of a run that goes on
	if err != nil || len(known.Spent) == 0 || d.delivered(ctx) {
		return noLine
	}
	g, err := d.reader(ctx)
	switch {
	case err == nil:
		defer func() { _ = g.Ledger.Close() }()
		account.Ledger = g.Ledger
	case !errors.Is(err, fs.ErrNotExist): // where it is gone, all is missing
		return noLine
	}
	missing, err := account.Missing(ctx, known.Spent)
	units := audit.Units(missing)
	if err != nil || units == 0 {
		return noLine
	}
	return fail(exitUnavailable, fmt.Sprintf("the store's slots spent %s lately that the ledger does not know: nothing is fetched", term.Amount(units, "units")),
		"put "+ledgerFile+" back as it was, or count them again: ingest quota rebuild")
}

// delivered reports whether a ledger elsewhere was told before what this data directory spent.
func (d *doctor) delivered(ctx context.Context) bool {
	l, err := d.ledger(ctx, d.cfg.Data)
	if err != nil {
		return false
	}
	defer func() { _ = l.Close() }()
	state, err := l.State(ctx, d.cfg.Account)
	return err == nil && state.Generation != 0
}

func lookDegraded(ctx context.Context, d *doctor) finding {
	l, err := d.ledger(ctx, d.cfg.Data)
	if err != nil {
		return noLine
	}
	defer func() { _ = l.Close() }()
	state, err := l.State(ctx, d.cfg.Account)
	if err != nil {
		return noLine
	}
	var lines []string
	now := d.clock.Now()
	switch b := state.Breaker; {
	case b.Until.After(now):
		lines = append(lines, fmt.Sprintf("the ledger is not asked before %s: %s", term.Stamp(b.Until), b.Why))
	case b.Failures > 0:
		lines = append(lines, fmt.Sprintf("the ledger did not answer when last asked, %s ago: %s", term.Ago(now.Sub(b.Until)), b.Why))
	}
	owed, err := l.Rows(ctx, d.cfg.Account, time.Time{}, true)
	if err != nil {
		return broken(err, "restore a backup of "+ledgerFile)
	}
	if len(owed) > 0 {
		sum := quota.Cost{}
		for _, row := range owed {
			for pool, amount := range row.Amounts {
				sum[pool] += amount
			}
		}
		lines = append(lines, fmt.Sprintf("%s went on without it, and it has to be told: %s", term.Plural(len(owed), "call"), term.Amounts(sum)))
	}
	if len(lines) > 0 {
		return warn(strings.Join(lines, "; "), "bring the ledger back: the next run that reaches it tells it, and goes on")
	}
	return fine("not degraded, nothing is owed")
}

// lookDirectories looks for a second ledger of the same account on this machine.
func lookDirectories(ctx context.Context, d *doctor) finding {
	t, err := d.tariff()
	if err != nil || !d.sqlite() {
		return noLine
	}
	since := d.clock.Now().Add(-t.Horizon())
	var spending []string
	var seen []os.FileInfo
	for _, dir := range d.directories() {
		info, err := os.Stat(filepath.Join(dir, ledgerFile))
		if err != nil || containsFile(seen, info) {
			continue
		}
		seen = append(seen, info)
		l, err := d.ledger(ctx, dir)
		if err != nil {
			continue
		}
		if spent(ctx, l, d.cfg.Account, since) {
			spending = append(spending, dir)
		}
		_ = l.Close()
	}
	if len(spending) > 1 {
		return warn(fmt.Sprintf("account %s is spent from %d data directories, each allows the whole limit: %s", d.cfg.Account, len(spending), strings.Join(spending, ", ")),
			"use one --data for all runs on this machine, or --ledger redis://...")
	}
	return fine("no second one here spends of account %s", d.cfg.Account)
}

// directories are the places where a data directory may be, this one first.
func (d *doctor) directories() []string {
	dirs := []string{d.cfg.Data, filepath.Join(d.machine.root, "var/lib/ingest"), filepath.Join(d.machine.root, "var/lib/private/ingest")}
	first, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":")
	dirs = append(dirs, first)
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		dirs = append(dirs, filepath.Join(state, "ingest"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".local", "state", "ingest"))
	}
	var out []string
	for _, dir := range dirs {
		if dir != "" {
			out = append(out, dir)
		}
	}
	return out
}

func containsFile(seen []os.FileInfo, info os.FileInfo) bool {
	for _, s := range seen {
		if os.SameFile(s, info) {
			return true
		}
	}
	return false
}

func spent(ctx context.Context, l *sqliteledger.Ledger, account string, since time.Time) bool {
	s, err := l.Spent(ctx, account, since)
	return err == nil && len(s) > 0
}
