package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/audit"
	"github.com/trendvidstream/ingest/internal/ownfile"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

// The checks of the database files, and the repair of the store. Only the repair opens the file as a store, since that
// makes files beside it and upgrades an older store.

// inspect calls read with the store: a file is read without opening it as a store, a database is opened for reading.
func (d *Doctor) inspect(ctx context.Context, read func(*store.Store) error) error {
	if d.OpenStore == nil {
		return store.Inspect(ctx, d.Config.Data, read)
	}
	s, err := d.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return read(s)
}

func storeSummary(ctx context.Context, d *Doctor) (*store.Summary, error) {
	var summary store.Summary
	err := d.inspect(ctx, func(s *store.Store) (err error) {
		summary, err = s.Summary(ctx)
		return err
	})
	return &summary, err
}

func (d *Doctor) inspectSlots(ctx context.Context, since time.Time) (summary store.SlotSummary, err error) {
	err = d.inspect(ctx, func(s *store.Store) error {
		summary, err = s.SlotSummary(ctx, since, d.now())
		return err
	})
	return summary, err
}

func checkStore(ctx context.Context, d *Doctor) Finding {
	s, err := storeSummary(ctx, d)
	if err != nil {
		name := cmp.Or(d.StoreName, filepath.Join(d.Config.Data, store.FileName))
		if errors.Is(err, fs.ErrNotExist) {
			if gone := d.storeGone(ctx, name); gone != nil {
				return failRemedy(gone)
			}
		}
		return d.judgeUnreadable(name, err)
	}
	if d.OpenStore == nil && sqlitefile.Exists(filepath.Join(d.Config.Data, store.FileName)+"-shm") {
		// Another process has it open, and may have moved pages out of its log. Without one that makes files.
		opened, err := store.Open(ctx, d.Config.Data, store.Options{ReadOnly: true})
		if err != nil {
			return d.judgeUnreadable(filepath.Join(d.Config.Data, store.FileName), err)
		}
		_ = opened.Close()
	}
	return judgeStore(ctx, d, *s)
}

// storeGone says so if the data directory's ledger knows of a store, for one that is not there. Other checks report
// the faults of the ledger and the costs.
func (d *Doctor) storeGone(ctx context.Context, name string) *audit.StoreGone {
	schedule, err := d.PricedSchedule()
	if err != nil {
		return nil
	}
	l, err := openLocal(ctx, d, d.Config.Data)
	if err != nil {
		return nil
	}
	defer func() { _ = l.Close() }()
	err = audit.CheckStoreGone(ctx, l, d.Config.Account, cmp.Or(d.StoreName, "sqlite"), name,
		d.now().Add(-schedule.Tariff.Horizon()))
	gone, _ := errors.AsType[*audit.StoreGone](err)
	return gone
}

func judgeStore(ctx context.Context, d *Doctor, s store.Summary) Finding {
	text := fmt.Sprintf("version %d, data of %s, %s", s.Version, cmp.Or(s.Upstream, "not yet"),
		term.Plural(int(s.Videos), "video"))
	if d.onlyTried(s) {
		text += ", of ingest demo or another stand-in: with a key give another --data"
	} else if want, err := d.Upstream(ctx); err == nil && s.Upstream != "" && s.Upstream != want {
		return fail(BadConfig, text+"; it takes none of "+want,
			"give another --data for that upstream, or the --upstream-url that this data is from")
	}
	if s.DoneAt.IsZero() {
		return warn(text+"; no slot is done yet"+d.lastBackup(), "ingest run fetches the due slots")
	}
	return okf("%s; newest slot done %s ago%s", text, term.Ago(max(d.now().Sub(s.DoneAt), 0)), d.lastBackup())
}

// onlyTried reports whether a person without a key looks at the data of a stand-in on this machine: nothing is wrong.
func (d *Doctor) onlyTried(s store.Summary) bool {
	key, err := d.Config.Key()
	return err == nil && key.IsZero() && !d.StandIn && s.Upstream == "localhost"
}

// lastBackup is the age of ingest backup's newest copy, in words; "" for a PostgreSQL, which has its own backups.
func (d *Doctor) lastBackup() string {
	at, err := store.LastBackup(filepath.Join(d.Config.Data, store.FileName))
	switch {
	case d.OpenStore != nil || err != nil:
		return ""
	case at.IsZero():
		return ", no backup yet"
	}
	return ", last backup " + term.Ago(max(d.now().Sub(at), 0)) + " ago"
}

// repairAdvice is what to do about a damaged store.
const repairAdvice = "ingest doctor --repair moves the readable rows to a new one; or restore a backup"

func (d *Doctor) judgeUnreadable(path string, err error) Finding {
	var corrupt *store.CorruptError
	var version *store.VersionError
	switch {
	case d.OpenStore == nil && ownfile.CheckDir(d.Config.Data) != nil:
		return noFinding // data reports it
	case errors.As(err, new(*ownfile.Error)):
		return failRemedy(err)
	case errors.Is(err, store.ErrMissing):
		return warn(path+" has no tables yet", "ingest run makes them")
	case errors.Is(err, fs.ErrNotExist):
		return warn(path+" is not there yet", "ingest run makes it")
	case errors.As(err, &corrupt):
		return failAs(err, "damaged: "+corrupt.Err.Error(), repairAdvice)
	case errors.Is(err, sqlitefile.ErrLeftover):
		return warn(err.Error(), "ingest run recovers the file; then look again")
	case errors.As(err, &version) && version.Have > version.Know:
		return failWith(err, "use the newer program, or restore a backup")
	case version != nil:
		return failWith(err, "ingest run brings it up to date")
	case errors.As(err, new(*store.ApplicationError)):
		return failAs(err, "cannot be read: "+err.Error(), "give another --data, or move "+path+" and its -wal away")
	case d.OpenStore != nil:
		return failAs(err, "cannot be read: "+err.Error(), "see that it runs, and that --store names it")
	}
	return failAs(err, "cannot be read: "+err.Error(), "see its owner and mode; if it is damaged, "+repairAdvice)
}

func checkStoreFile(ctx context.Context, d *Doctor) Finding {
	if d.OpenStore != nil {
		return noFinding // it is not a file
	}
	return quickCheck(ctx, filepath.Join(d.Config.Data, store.FileName), Other, repairAdvice)
}

func checkLedgerFile(ctx context.Context, d *Doctor) Finding {
	return quickCheck(ctx, d.ledgerFile(), Unavailable, rebuildAdvice)
}

// rebuildAdvice says what to do about a damaged ledger. An older copy of it would let the same quota be spent again.
const rebuildAdvice = "ingest quota rebuild --replace moves it aside and counts the store's spends again; " +
	"an older copy is refused"

// readFor is how long a check may read a whole file.
const readFor = 3 * time.Second

// quickCheck returns SQLite's own findings about a file.
func quickCheck(ctx context.Context, path string, exit int, advice string) Finding {
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		return noFinding // store or ledger reports it
	}
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	damage, err := sqlitefile.QuickCheck(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, sqlitefile.ErrLeftover),
		sqlitefile.Forbidden(sqlitefile.Explain(path, err)):
		return noFinding // store, ledger or data reports it
	case ctx.Err() != nil:
		return okf("too large to be checked within %v: sqlite3 %s 'PRAGMA quick_check'", readFor, path)
	case err != nil:
		return fail(exit, "cannot be checked: "+err.Error(), advice)
	case damage != "":
		return fail(exit, "damaged: "+damage, advice)
	}
	return okf("quick_check finds no damage")
}

// checkTables compares the tables of a store with each other and with the index, and finds nothing if they agree. In
// a store that is too large to be read in time, only --repair finds contradictions.
func checkTables(ctx context.Context, d *Doctor) Finding {
	if d.OpenStore != nil {
		return noFinding
	}
	ctx, cancel := context.WithTimeout(ctx, 2*readFor)
	defer cancel()
	var found []string
	err := store.Inspect(ctx, d.Config.Data, func(s *store.Store) (err error) {
		found, err = s.Check(ctx, readFor/2)
		return err
	})
	if err != nil || len(found) == 0 {
		return noFinding // ingest.db reports whether it can be read
	}
	return fail(Other, strings.Join(found, "; "), "ingest doctor --repair corrects it")
}

// repairLedger moves the entries of quota.db that a fast clock left in the future.
func repairLedger(ctx context.Context, d *Doctor) Finding {
	path := filepath.Join(d.Config.Data, d.LedgerFile)
	if _, err := os.Stat(path); err != nil {
		return noFinding // ledger reports it
	}
	l, err := d.OpenLocal(ctx, path)
	if err != nil {
		return noFinding
	}
	defer func() { _ = l.Close() }()
	moved, err := l.MoveBack(ctx)
	switch {
	case err != nil:
		return failWith(err, "try again: the future rows of "+path+" were not moved")
	case moved == 0:
		return noFinding
	}
	text := fmt.Sprintf("found %s in the future of %s, left by a clock that was ahead; "+
		"did: moved to now, where it counts", term.Plural(moved, "charge"), path)
	if d.OpenRemote != nil {
		return okf("%s", text)
	}
	slots, lost, err := d.Recount(ctx) // that clock may have forgotten a day of charges
	switch {
	case err != nil:
		return failWith(err, "count the slots' spends again: ingest quota rebuild")
	case slots > 0:
		text += "; counted the spends of " + term.Plural(slots, "slot") + " again, which the ledger forgot under that clock"
	}
	if lost != "" {
		return warn(text+"; "+lost+", and others spend too: every pool is closed",
			"post the figure that the provider's console shows for today: ingest quota post POOL N opens a pool")
	}
	return okf("%s", text)
}

func repairStore(ctx context.Context, d *Doctor) Finding {
	if d.OpenStore != nil {
		return okf("nothing: PostgreSQL repairs itself, and is restored from its own backups")
	}
	path := filepath.Join(d.Config.Data, store.FileName)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // to read a pipe may take for ever
		return fail(BadConfig, path+" is no regular file",
			"move it away, and begin a new store: ingest run --accept-new-store; nothing was changed")
	}
	host, _ := d.Upstream(ctx) // unknown if the config is broken: the next run stores it
	r, err := store.Repair(ctx, d.Config.Data, store.Options{Upstream: host, Now: d.now, Upgraded: d.Upgraded})
	switch {
	case errors.Is(err, fs.ErrNotExist), ownfile.CheckDir(d.Config.Data) != nil:
		return noFinding // store or data reports it
	case errors.As(err, new(*store.ApplicationError)):
		return failWith(err, "move it away, and begin a new store: ingest run --accept-new-store; nothing was changed")
	case errors.As(err, new(*store.VersionError)):
		return failWith(err, "use the newer program, or restore a backup; nothing was changed")
	case err != nil:
		advice := "stop ingest serve and all that uses " + path +
			", see that the disk has room and can be written, and try again"
		if r.Broken != "" {
			advice += "; the file as it was is also " + r.Broken
		}
		text := err.Error()
		if len(r.Found) > 0 {
			text = strings.Join(r.Found, "; ") + ": " + text
		}
		return failAs(err, text, advice)
	}
	removed, err := removeFuture(ctx, d)
	switch {
	case err != nil:
		return failWith(err, "the store is whole; try again to remove its slots in the future")
	case removed > 0:
		r.Found = append(r.Found, fmt.Sprintf("%s due in the future", term.Plural(removed, "slot")))
		r.Done = append(r.Done, "removed them; their spends count as spent now")
	case len(r.Found) == 0:
		return okf("nothing to repair in %s", path)
	}
	text := "found: " + strings.Join(r.Found, "; ")
	if len(r.Done) > 0 {
		text += "; did: " + strings.Join(r.Done, "; ")
	}
	if len(r.Lost) > 0 {
		text += "; lost: " + strings.Join(r.Lost, "; ")
	} else if r.Broken == "" {
		return okf("%s", text)
	}
	return warn(text, "the next runs fetch the part again that the upstream still has; the damaged file is "+
		r.Broken+": remove it when all is well")
}

// removeFuture deletes the slots that were added while the clock was ahead.
func removeFuture(ctx context.Context, d *Doctor) (slots int, err error) {
	if slots, err := d.inspectSlots(ctx, d.now()); err != nil || len(slots.Ahead) == 0 {
		return 0, err
	}
	about, err := storeSummary(ctx, d)
	if err != nil {
		return 0, err
	}
	s, err := store.Open(ctx, d.Config.Data, store.Options{Upstream: about.Upstream, Now: d.now})
	if err != nil {
		return 0, err
	}
	defer func() { _ = s.Close() }()
	return s.RemoveFuture(ctx, d.now())
}
