package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/trendvidstream/ingest/internal/config"

	"github.com/trendvidstream/ingest/internal/term"
)

// The checks of the data directory and what it lies on.

func lookData(_ context.Context, d *doctor) finding {
	dir := d.cfg.Data
	if dir == "" {
		return fail(exitConfig, "no data directory is known", "give --data")
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !writable(existing(dir)) {
			return fail(exitConfig, dir+" is not there, and "+existing(dir)+" cannot be written", "give another --data, or make the directory for the user that runs ingest, mode 0700")
		}
		return warn(dir+" is not there yet", "ingest run makes it; was another --data meant?")
	case err != nil:
		return broken(err, "run as its owner, or give another --data")
	case !info.IsDir():
		return fail(exitConfig, dir+" is a file", "give another --data")
	}
	owner, known := ownerOf(info)
	switch {
	case known && owner != d.machine.uid && d.machine.uid != 0:
		return fail(exitConfig, fmt.Sprintf("%s belongs to %s, this is %s", dir, userName(owner), userName(d.machine.uid)),
			"run as its owner, such as sudo -u "+userName(owner)+" ingest doctor, or give another --data")
	case !writable(dir):
		return fail(exitConfig, dir+" cannot be written", "mount it for writing, and make its mode 0700")
	}
	if other := foreign(dir, owner); known && len(other) > 0 {
		return fail(exitConfig, fmt.Sprintf("%s belongs to %s, but not %s", dir, userName(owner), strings.Join(other, ", ")),
			fmt.Sprintf("chown -R --reference=%s %s, as root, and run ingest as one user only", dir, dir))
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && known {
		return warn(fmt.Sprintf("%s has mode %04o: others of this machine can look into it", dir, mode), "chmod 700 "+dir)
	}
	return fine("%s: owner %s, mode %04o, can be written", dir, userName(owner), info.Mode().Perm())
}

// foreign are the files of ours that do not belong to the directory's owner, as one run by root leaves
// them.
func foreign(dir string, owner int) []string {
	var out []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "ingest.db") && !strings.HasPrefix(e.Name(), ledgerFile) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		if uid, known := ownerOf(info); known && uid != owner {
			out = append(out, e.Name())
		}
	}
	return out
}

// existing is the directory, or the nearest above it that is there.
func existing(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	for !config.FileExists(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// Below these a disk is worth a word, or nothing can be trusted to be written.
const (
	diskFew    = 1 << 30
	diskFewPer = 5 // percent
	diskNone   = 50 << 20
)

func lookDisk(_ context.Context, d *doctor) finding {
	v, err := volumeOf(existing(d.cfg.Data))
	if errors.Is(err, errors.ErrUnsupported) {
		return noLine
	}
	if err != nil {
		return broken(err, "look whether the disk is there")
	}
	if v.size == 0 {
		return noLine // not a disk
	}
	return v.judge()
}

// volume is what a directory lies on.
type volume struct {
	free, size int64  // bytes, for this user
	network    string // name of a network file system, "" for a disk
}

func (v volume) judge() finding {
	share := 100 * float64(v.free) / float64(max(v.size, 1))
	text := fmt.Sprintf("%s free of %s (%.0f %%)", term.Bytes(v.free), term.Bytes(v.size), share)
	switch {
	case v.free < diskNone:
		return fail(exitError, text, "free some space: what cannot be written down is not spent, so nothing is fetched")
	case v.free < diskFew || share < diskFewPer:
		return warn(text, "free some space before it is full")
	}
	return fine("%s", text)
}

func lookFilesystem(_ context.Context, d *doctor) finding {
	v, err := volumeOf(existing(d.cfg.Data))
	if err != nil {
		return noLine // the disk has said so
	}
	return v.place()
}

func (v volume) place() finding {
	if v.network != "" {
		return warn("the data directory is on "+v.network+", where SQLite's locks may not hold",
			"move it to a disk of this machine; hosts share quota by --ledger redis://..., not by a directory")
	}
	return fine("a disk of this machine")
}
