package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/ownfile"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

func checkData(_ context.Context, d *Doctor) Finding {
	dir := d.Config.Data
	if dir == "" {
		return fail(BadConfig, "no data directory is known", "give --data")
	}
	if err := ownfile.CheckDir(dir); err != nil {
		return failRemedy(err)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if parent := nearestExisting(dir); !writable(parent) {
			return fail(BadConfig, dir+" is not there, and "+parent+" cannot be written",
				"give another --data, or make the directory for the user that runs ingest, mode 0700")
		}
		return warn(dir+" is not there yet", "ingest run makes it; was another --data meant?")
	case err != nil:
		return failWith(err, "give another --data")
	}
	return judgeOwner(dir, info, d)
}

// judgeOwner compares the owner of the directory with the user who runs this.
func judgeOwner(dir string, info fs.FileInfo, d *Doctor) Finding {
	uid := d.UID
	owner := ownfile.Owner(info)
	known, belongs := owner >= 0, dir+" belongs to "+ownfile.UserName(owner)
	switch {
	case known && owner != uid && uid != 0:
		return fail(BadConfig, belongs+", this is "+ownfile.UserName(uid),
			"run this with "+ownfile.Sudo(owner)+", or give another --data")
	case !writable(dir):
		return fail(BadConfig, dir+" cannot be written", "mount it for writing, and make its mode 0700")
	}
	if foreign := notOwnedBy(owner, dir, store.FileName, d.LedgerFile, sqlitefile.LockPath(d.LedgerFile)); known &&
		len(foreign) > 0 {
		return fail(BadConfig, belongs+", but not "+strings.Join(foreign, ", "),
			fmt.Sprintf("chown -R --reference=%s %s, as root, and run ingest as one user only", dir, dir))
	}
	for _, name := range []string{store.FileName, d.LedgerFile, sqlitefile.LockPath(d.LedgerFile)} {
		if path := filepath.Join(dir, name); sqlitefile.Exists(path) && !writable(path) {
			return fail(BadConfig, path+" cannot be written", "chmod u+w "+path+", unless it is mounted read-only")
		}
	}
	// The rights alone do not show a disk that its system stopped writing to after an error. A file locked with
	// flock may be opened.
	lock, err := ownfile.Open(filepath.Join(dir, sqlitefile.LockPath(d.LedgerFile)), os.O_WRONLY)
	if err == nil {
		_ = lock.Close()
	} else if _, ours := errors.AsType[*ownfile.Error](err); ours {
		return failRemedy(err)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fail(BadConfig, err.Error(),
			"see the system's log: after an error a disk may be read-only until it is repaired and mounted again")
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && known {
		return warn(fmt.Sprintf("%s has mode %04o: others of this machine can look into it", dir, mode), "chmod 700 "+dir)
	}
	return okf("%s: owner %s, mode %04o, can be written", dir, ownfile.UserName(owner), info.Mode().Perm())
}

// notOwnedBy lists the files whose names begin with one of names and that another user owns, as after a run by root.
func notOwnedBy(owner int, dir string, names ...string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(e.Name(), name) }) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		if ownfile.Owner(info) != owner {
			out = append(out, e.Name())
		}
	}
	return out
}

// nearestExisting returns the directory, or the nearest one above it that exists.
func nearestExisting(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	for !config.FileExists(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

func checkDisk(_ context.Context, d *Doctor) Finding {
	if full := sqlitefile.Room(d.ledgerFile(), sqlitefile.AnswerRoom); full != nil {
		return failRemedy(full)
	}
	v, err := volumeOf(nearestExisting(d.Config.Data))
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return noFinding
	case err != nil:
		return failWith(err, "see whether the disk is there")
	case v.size == 0:
		return noFinding // not a disk
	}
	return v.judgeSpace()
}

func checkFilesystem(_ context.Context, d *Doctor) Finding {
	v, err := volumeOf(nearestExisting(d.Config.Data))
	if err != nil {
		return noFinding // disk reports it
	}
	return v.judgeKind()
}

// volume is the file system that a directory is on.
type volume struct {
	free, size int64  // bytes, for this user
	network    string // name of a network file system, "" for a disk
}

// Below littleSpace, or littleShare of the disk, a warning is due; below noSpace no write can be relied on.
const (
	littleSpace = 1 << 30
	littleShare = 5 // percent
	noSpace     = 50 << 20
)

func (v volume) judgeSpace() Finding {
	share := 100 * float64(v.free) / float64(max(v.size, 1))
	text := fmt.Sprintf("%s free of %s (%.0f %%)", term.Bytes(v.free), term.Bytes(v.size), share)
	switch {
	case v.free < noSpace:
		return fail(Other, text,
			"free some space: a spend that cannot be recorded is not made, so nothing is fetched once it is full")
	case v.free < littleSpace || share < littleShare:
		return warn(text, "free some space before it is full")
	}
	return okf("%s", text)
}

func (v volume) judgeKind() Finding {
	if v.network != "" {
		return warn("the data directory is on "+v.network+", where SQLite's locks may not hold",
			"move it to a disk of this machine; hosts share quota by --ledger redis://..., not by a directory")
	}
	return okf("a disk of this machine")
}
