package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/trendvidstream/ingest/internal/config"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/store"
)

// The checks of the store as a file. It is not opened as a store: that would make files beside it, and bring
// an older one up to date.

func lookStore(ctx context.Context, d *doctor) finding {
	s, err := store.Inspect(ctx, d.cfg.Data)
	if errors.Is(err, fs.ErrNotExist) {
		return warn(s.Path+" is not there yet", "ingest run makes it")
	}
	if err != nil {
		return unreadable(s.Path, err)
	}
	text := fmt.Sprintf("version %d, data of %s, %s", s.Version, cmp.Or(s.Upstream, "nobody yet"), term.Plural(int(s.Videos), "video"))
	if want, err := d.upstreamName(ctx); err == nil && s.Upstream != "" && s.Upstream != want {
		return fail(exitConfig, text+"; it takes none of "+want, "give another --data for that upstream, or leave --upstream-url out")
	}
	if s.Version < store.Version() {
		return warn(text, fmt.Sprintf("the next ingest run brings it to version %d, after a backup", store.Version()))
	}
	if s.DoneAt.IsZero() {
		return warn(text+"; no slot is done yet", "ingest run fetches what is due")
	}
	return fine("%s; newest slot done %s ago", text, term.Ago(max(d.clock.Now().Sub(s.DoneAt), 0)))
}

// upstreamName is the host that a store would remember. Nothing is sent.
func (d *doctor) upstreamName(ctx context.Context) (string, error) {
	c, err := d.provider().open(ctx, d.cfg.UpstreamURL, ingest.NewSecret("any"))
	if err != nil {
		return "", config.Invalid(err)
	}
	return hostname(c.Host()), nil
}

// unreadable is a database that could not be read.
func unreadable(path string, err error) finding {
	var newer *store.VersionError
	var foreign *store.ApplicationError
	var corrupt *store.CorruptError
	switch {
	case errors.As(err, &corrupt):
		return fail(exitCode(err), "damaged: "+corrupt.Err.Error(), repairAdvice)
	case errors.Is(err, sqlitefile.ErrLeftover):
		return warn(err.Error(), "ingest run finishes what was left; then look again")
	case errors.As(err, &newer):
		return broken(err, "use the program that wrote it")
	case errors.As(err, &foreign):
		return fail(exitCode(err), "cannot be read: "+err.Error(), "give another --data, or move "+path+" and its -wal away")
	}
	return fail(exitCode(err), "cannot be read: "+err.Error(), "see its owner and mode; if it is damaged, "+repairAdvice)
}

// repairAdvice is what to do about a damaged store.
const repairAdvice = "ingest doctor --repair moves what can be read to a new one; or restore a backup"

func lookStoreFile(ctx context.Context, d *doctor) finding {
	path := filepath.Join(d.cfg.Data, store.FileName)
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		return noLine // the store's line says so
	}
	return integrity(ctx, path, exitError, repairAdvice)
}

func lookLedgerFile(ctx context.Context, d *doctor) finding {
	return integrity(ctx, filepath.Join(d.cfg.Data, ledgerFile), exitUnavailable,
		"restore a backup, or move it and its -wal away: ingest quota rebuild counts again what the store knows")
}

// checkFor is how long a quick_check may take: it reads the whole file.
const checkFor = 3 * time.Second

// integrity is what SQLite itself says of a file.
func integrity(ctx context.Context, path string, code int, advice string) finding {
	ctx, cancel := context.WithTimeout(ctx, checkFor)
	defer cancel()
	damage, err := sqlitefile.QuickCheck(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noLine // whose file it is has said so
	case ctx.Err() != nil:
		return fine("too large to be checked within %v: sqlite3 %s 'PRAGMA quick_check'", checkFor, path)
	case errors.Is(err, sqlitefile.ErrLeftover):
		return noLine
	case err != nil:
		return fail(code, "cannot be checked: "+err.Error(), advice)
	case damage != "":
		return fail(code, "damaged: "+damage, advice)
	}
	return fine("quick_check finds no damage")
}
