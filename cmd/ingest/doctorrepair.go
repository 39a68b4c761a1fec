package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/store"
)

// repairFor is how long a repair may take, a large store on a slow disk included.
const repairFor = 12 * time.Hour

// lookRepair makes the store whole. quota.db is not touched.
func lookRepair(ctx context.Context, d *doctor) finding {
	path := filepath.Join(d.cfg.Data, store.FileName)
	r, err := store.Repair(ctx, d.cfg.Data, store.Options{Now: d.clock.Now, Upgraded: d.sayUpgraded})
	var foreign *store.ApplicationError
	var newer *store.VersionError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noLine // the store's own check says so
	case errors.As(err, &foreign):
		return broken(err, "move it away, and ingest run makes a store; nothing was changed")
	case errors.As(err, &newer):
		return broken(err, "use the newer program, or restore a backup; nothing was changed")
	case err != nil:
		advice := "stop ingest serve and all that uses " + path + ", see that the disk has room and can be written, and try again"
		if r.Broken != "" {
			advice += "; the file as it was is also " + r.Broken
		}
		if len(r.Found) > 0 {
			err = fmt.Errorf("%s: %w", strings.Join(r.Found, "; "), err)
		}
		return broken(err, advice)
	case len(r.Found) == 0:
		return fine("nothing to repair in %s", path)
	}
	text := "found: " + strings.Join(r.Found, "; ")
	if len(r.Done) > 0 {
		text += "; did: " + strings.Join(r.Done, "; ")
	}
	if len(r.Lost) == 0 && r.Broken == "" {
		return fine("%s", text)
	}
	if len(r.Lost) > 0 {
		text += "; lost: " + strings.Join(r.Lost, "; ")
	}
	return warn(text, "the next runs fetch again what the upstream still has; the damaged file is "+r.Broken+": remove it when all is well")
}

// lookTables is what the tables of a store say of each other, and of the index. It has a line only where they
// disagree; in a store that is too large to be read within a moment, --repair finds out.
func lookTables(ctx context.Context, d *doctor) finding {
	ctx, cancel := context.WithTimeout(ctx, checkFor)
	defer cancel()
	found, err := store.CheckFile(ctx, d.cfg.Data, checkFor/2)
	if err != nil || len(found) == 0 {
		return noLine // whether it can be read, ingest.db has said
	}
	return fail(exitError, strings.Join(found, "; "), "ingest doctor --repair mends it")
}
