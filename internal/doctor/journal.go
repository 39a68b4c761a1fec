package doctor

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/ownfile"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// The checks of quota.db as the journal of a data directory, and of other data directories.

// scratch is the directory of all copies, made when it is first needed.
type scratch struct {
	once sync.Once
	dir  string
	err  error
}

func (s *scratch) make(data string) (dir string, err error) {
	s.once.Do(func() { s.dir, s.err = sqlitefile.ScratchDir(data, "ingest-doctor-*") })
	return s.dir, s.err
}

func (s *scratch) remove() {
	s.once.Do(func() { s.err = os.ErrClosed }) // a check that still runs makes none from now on
	_ = os.RemoveAll(s.dir)                    // nothing if it was never made
}

// openLocal opens a copy of the ledger's file in a data directory, since opening a ledger writes to it.
func openLocal(ctx context.Context, d *Doctor, data string) (LocalLedger, error) {
	path := filepath.Join(data, d.LedgerFile)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir, err := d.scratch.make(d.Config.Data)
	if err == nil {
		dir, err = os.MkdirTemp(dir, "")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	made := filepath.Join(dir, d.LedgerFile)
	// the count of its writes, read before the file itself
	if lock, err := ownfile.Open(sqlitefile.LockPath(path), os.O_RDONLY); err == nil {
		count, _ := io.ReadAll(lock)
		_, _ = lock.Close(), os.WriteFile(sqlitefile.LockPath(made), count, 0o600)
	}
	copyFile := sqlitefile.Snapshot
	if info.Size() == 0 { // SQLite cannot copy it, and OpenLocal says whether it may be empty
		copyFile = func(_ context.Context, _, to string) error { return os.WriteFile(to, nil, 0o600) }
	}
	if err := copyFile(ctx, path, made); err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", quota.ErrUnavailable, path, err)
	}
	return d.OpenLocal(ctx, made)
}

// nameOriginal replaces the path of a copy in a text by the path of its original.
func nameOriginal(text, data string) string {
	made := regexp.MustCompile(`(?:` + regexp.QuoteMeta(os.TempDir()) + `|` + regexp.QuoteMeta(data) +
		`)[/\\]*\.?ingest-doctor-\d+[/\\]\d+`)
	return made.ReplaceAllLiteralString(text, data)
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

// emergencyLeft returns the amount that may be spent while the ledger cannot answer. known is false if no journal
// says it.
func emergencyLeft(ctx context.Context, d *Doctor) (left []quota.EmergencyLeft, known bool) {
	ctx = context.WithoutCancel(ctx) // a server that hangs may have used up the time
	g := &quota.Governor{Account: d.Config.Account, Now: d.now}
	schedule, err := d.PricedSchedule()
	if err != nil {
		return nil, false
	}
	chart, _ := fetch.JobCalls(schedule.Upstream, ingest.Job{Kind: ingest.KindChart}) // every upstream has charts
	g.Tariff, g.Usual = schedule.Tariff, chart.Page
	local, err := openLocal(ctx, d, d.Config.Data)
	if err != nil {
		return nil, false
	}
	defer func() { _ = local.Close() }()
	g.EmergencyAccount = local
	if d.OpenRemote != nil {
		remote, err := d.OpenRemote(ctx)
		if err != nil {
			return nil, false
		}
		defer func() { _ = remote.Close() }()
		// not to be closed: that would write to the remote
		shared, err := sharedledger.Open(g.Tariff, remote, local, d.Config.Hosts)
		if err != nil {
			return nil, false
		}
		shared.Account, shared.Now = g.Account, g.Now
		g.EmergencyAccount = shared
	}
	left, err = g.EmergencyLeft(ctx)
	return left, err == nil
}

// untilThen describes the fetching until the ledger answers, at the latest at a time (zero: not known), as the last
// part of an advice; "" if that is not known.
func untilThen(ctx context.Context, d *Doctor, until time.Time) string {
	left, known := emergencyLeft(ctx, d)
	if !known {
		return ""
	}
	for i := range left {
		if !until.IsZero() {
			left[i].ResumeBy(until)
		}
	}
	return "; until then " + report.WithoutLedger(left)
}

func judgeDegraded(d *Doctor, j journal) Finding {
	var lines []string
	switch b := j.Breaker; {
	case b.Until.After(d.now()):
		lines = append(lines, fmt.Sprintf("the ledger is not asked before %s: %s", term.Stamp(b.Until), b.Why))
	case b.Failures > 0:
		lines = append(lines, fmt.Sprintf("the ledger did not answer when last asked, %s ago: %s",
			term.Ago(d.now().Sub(b.Until)), b.Why))
	}
	if j.owedErr != nil {
		return failWith(j.owedErr, "restore a backup of "+d.LedgerFile)
	}
	if len(j.owed) > 0 {
		sum := quota.Cost{}
		for _, row := range j.owed {
			sum.Add(row.Amounts, 1)
		}
		lines = append(lines, fmt.Sprintf("%s went on without it, still to be posted: %s",
			term.Plural(len(j.owed), "call"), term.Amounts(sum)))
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
		return warn(fmt.Sprintf("account %s is spent from %d data directories, each allows the whole limit: %s",
			d.Config.Account, len(spending), strings.Join(spending, ", ")),
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
