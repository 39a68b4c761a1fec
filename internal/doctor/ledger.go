package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/audit"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// The checks of the ledger, wherever it is. They open a copy of quota.db.

func openLedger(ctx context.Context, d *Doctor) (quota.Ledger, error) {
	if d.OpenRemote == nil {
		return openLocal(ctx, d, d.Config.Data)
	}
	return d.OpenRemote(ctx)
}

func ledgerReport(ctx context.Context, d *Doctor) (*quota.Report, error) {
	t, err := d.Tariff()
	if err != nil {
		return nil, err
	}
	l, err := openLedger(ctx, d)
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	g := &quota.Governor{Ledger: l, Tariff: t, Account: d.Config.Account, Now: d.now}
	r, err := g.Report(ctx)
	return &r, err
}

func checkLedger(ctx context.Context, d *Doctor) Finding {
	if _, err := d.Tariff(); err != nil || d.OpenRemote != nil {
		return noFinding // costs or redis reports it
	}
	_, err := ledgerReport(ctx, d)
	switch {
	case errors.Is(err, fs.ErrNotExist) && checkLost(ctx, d).Status == Fail:
		return noFinding // lost reports it
	case errors.Is(err, fs.ErrNotExist):
		return warn(d.ledgerFile()+" is not there yet", "ingest run makes it")
	case errors.Is(err, sqlitefile.ErrLeftover):
		return warn(err.Error(), "ingest quota finishes what was left; then look again")
	case errors.Is(err, quota.ErrCorrupt):
		return failAs(err, nameOriginal(err.Error(), d.Config.Data), rebuildAdvice)
	case err != nil:
		return failAs(err, nameOriginal(err.Error(), d.Config.Data), "see its owner and mode, and the clock; the check quota.db says whether it is damaged")
	}
	return okf("sqlite, account %s: it answers", d.Config.Account)
}

func judgePools(d *Doctor, r quota.Report) Finding {
	t, err := d.Tariff()
	if err != nil {
		return noFinding // costs reports it
	}
	var price budget.Price // of the schedule; empty if config or costs report why it has none
	if schedule, err := d.PricedSchedule(); err == nil {
		price, _ = schedule.DayPrice(d.now())
	}
	var lines, unused, advice []string
	for i, p := range report.NewQuotaDocument(r, t, report.ForecastDocument{}).Pools {
		line, resumes := fmt.Sprintf("%s: %s of %s used", p.Pool, term.Thousands(p.Used()), term.Thousands(p.Limit)), r.Pools[i].ResumesAt[quota.Scheduled]
		switch {
		case p.DrainedUntil != nil:
			line = p.Pool + ": " + p.ClosedText()
			advice = append(advice, cmp.Or(p.LimitText(), p.Lift()+" opens it"))
		case p.Used() == 0:
			unused = append(unused, p.Pool)
			continue
		case p.Used() > p.Limit:
			advice = append(advice, "more "+p.Pool+" were posted than there are: ingest quota says until when nothing is fetched")
		case price.Total[p.Pool] > 0 && r.Pools[i].Remaining[quota.Scheduled] == 0 && !resumes.IsZero():
			line += ", none left for the schedule until " + term.StampFrom(resumes)
			advice = append(advice, "wait: the next run after that goes on; ingest quota --all says who spent them")
		}
		lines = append(lines, line)
	}
	if len(unused) > 0 {
		lines = append(lines, strings.Join(unused, ", ")+" unused")
	}
	if len(advice) > 0 {
		return warn(strings.Join(lines, "; "), strings.Join(advice, "; "))
	}
	return okf("%s", strings.Join(lines, ", "))
}

// checkLost finds what closes the gate of every command that spends: package audit decides for both.
func checkLost(ctx context.Context, d *Doctor) Finding {
	t, err := d.Tariff()
	if err != nil {
		return noFinding // costs reports it
	}
	advice := "put " + d.LedgerFile + " back as it was, or count them again: ingest quota rebuild"
	account := audit.Account{Name: d.Config.Account, Now: d.now(), Horizon: t.Horizon()}
	// The ledger is opened after the slots were read: an earlier copy would lack what a run has spent since.
	slots, err := d.inspectSlots(ctx, account.MissingSince())
	if file := d.ledgerFile(); d.OpenRemote == nil && len(slots.Spent) == 0 && !config.FileExists(file) && config.FileExists(file+".lock") {
		return fail(Unavailable, file+" is missing: nothing is fetched", advice)
	}
	if err != nil || len(slots.Spent) == 0 || syncsElsewhere(ctx, d) {
		return noFinding // store reports it, or the journal fills the gap
	}
	l, err := openLedger(ctx, d)
	if err == nil {
		defer func() { _ = l.Close() }()
		account.Ledger = l
	} else if !errors.Is(err, fs.ErrNotExist) {
		return noFinding // ledger or redis reports it
	}
	missing, err := account.Missing(ctx, slots.Spent)
	units := audit.Units(missing)
	if err != nil || units == 0 {
		return noFinding
	}
	return fail(Unavailable, fmt.Sprintf("the store's slots recently spent %s that the ledger does not know: nothing is fetched", term.Amount(units, "units")), advice)
}

// The checks of quota.db as the journal of a data directory, and of other data directories.

// scratch is the directory of all copies, made when it is first needed.
type scratch struct {
	once sync.Once
	dir  string
	err  error
}

func (s *scratch) make() (dir string, err error) {
	s.once.Do(func() { s.dir, s.err = os.MkdirTemp("", "ingest-doctor-*") }) // 0700
	return s.dir, s.err
}

func (s *scratch) remove() {
	s.once.Do(func() { s.err = os.ErrClosed }) // a check that was left behind makes none from now on
	_ = os.RemoveAll(s.dir)                    // nothing if it was never made
}

// openLocal opens a copy, as of this moment, of the ledger's file in a data directory: opening a ledger writes to it.
func openLocal(ctx context.Context, d *Doctor, data string) (LocalLedger, error) {
	path := filepath.Join(data, d.LedgerFile)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	dir, err := d.scratch.make()
	if err == nil {
		dir, err = os.MkdirTemp(dir, "")
	}
	if err != nil {
		return nil, fmt.Errorf("no place for a copy of %s: %w: set TMPDIR", path, err)
	}
	made := filepath.Join(dir, d.LedgerFile)
	if count, err := os.ReadFile(path + ".lock"); err == nil { // the count of its writes, read before the file itself
		_ = os.WriteFile(made+".lock", count, 0o600)
	}
	if err := sqlitefile.Snapshot(ctx, path, made); err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", quota.ErrUnavailable, path, err)
	}
	return d.OpenLocal(ctx, made)
}

// nameOriginal replaces the path of a copy in a text by the path of its original.
func nameOriginal(text, data string) string {
	made := regexp.MustCompile(regexp.QuoteMeta(os.TempDir()) + `[/\\]*ingest-doctor-\d+[/\\]\d+`)
	return made.ReplaceAllLiteralString(text, data)
}

// syncsElsewhere reports whether this data directory has synced its journal with a remote ledger: the journal restores
// what that ledger loses.
func syncsElsewhere(ctx context.Context, d *Doctor) bool {
	j, err := readJournal(ctx, d)
	return err == nil && j.Generation != 0
}

// journal is the state of quota.db, and the rows that are still to be posted.
type journal struct {
	sharedledger.JournalState

	owed    []sharedledger.Row
	owedErr error
}

func readJournal(ctx context.Context, d *Doctor) (*journal, error) {
	l, err := openLocal(ctx, d, d.Config.Data)
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	j := &journal{}
	if j.JournalState, err = l.State(ctx, d.Config.Account); err == nil {
		j.owed, j.owedErr = l.Rows(ctx, d.Config.Account, time.Time{}, true)
	}
	return j, err
}

func judgeDegraded(d *Doctor, j journal) Finding {
	var lines []string
	switch b := j.Breaker; {
	case b.Until.After(d.now()):
		lines = append(lines, fmt.Sprintf("the ledger is not asked before %s: %s", term.Stamp(b.Until), b.Why))
	case b.Failures > 0:
		lines = append(lines, fmt.Sprintf("the ledger did not answer when last asked, %s ago: %s", term.Ago(d.now().Sub(b.Until)), b.Why))
	}
	if j.owedErr != nil {
		return failWith(j.owedErr, "restore a backup of "+d.LedgerFile)
	}
	if len(j.owed) > 0 {
		sum := quota.Cost{}
		for _, row := range j.owed {
			for pool, amount := range row.Amounts {
				sum[pool] += amount
			}
		}
		lines = append(lines, fmt.Sprintf("%s went on without it, still to be posted: %s", term.Plural(len(j.owed), "call"), term.Amounts(sum)))
	}
	if len(lines) > 0 {
		return warn(strings.Join(lines, "; "), "bring the ledger back: the next run that reaches it syncs, and goes on")
	}
	return okf("up to date, nothing is still to be posted")
}

// checkDirectories looks for a second ledger of the same account on this machine.
func checkDirectories(ctx context.Context, d *Doctor) Finding {
	t, err := d.Tariff()
	if err != nil || d.OpenRemote != nil {
		return noFinding // costs reports it, or hosts share a ledger
	}
	var spending []string
	var seen []os.FileInfo
	for _, dir := range dataDirectories(d.Config.Data, d.Root) {
		info, err := os.Stat(filepath.Join(dir, d.LedgerFile))
		if err != nil || slices.ContainsFunc(seen, func(s os.FileInfo) bool { return os.SameFile(s, info) }) {
			continue
		}
		seen = append(seen, info)
		l, err := openLocal(ctx, d, dir)
		if err != nil {
			continue
		}
		if spent, err := l.Spent(ctx, d.Config.Account, d.now().Add(-t.Horizon()), 0); err == nil && len(spent) > 0 {
			spending = append(spending, dir)
		}
		_ = l.Close()
	}
	if len(spending) > 1 {
		return warn(fmt.Sprintf("account %s is spent from %d data directories, each allows the whole limit: %s", d.Config.Account, len(spending), strings.Join(spending, ", ")),
			"use one --data for all runs on this machine, or --ledger redis://...")
	}
	return okf("no other data directory here uses account %s", d.Config.Account)
}

// dataDirectories returns the places where a data directory may be, this one first.
func dataDirectories(data, root string) []string {
	service, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":")
	dirs := []string{data, filepath.Join(root, "var/lib/ingest"), filepath.Join(root, "var/lib/private/ingest"), service}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		dirs = append(dirs, filepath.Join(state, "ingest"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".local", "state", "ingest"))
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" })
}
