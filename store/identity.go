package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// FileName is the name of the database file in the data directory.
const FileName = "ingest.db"

// applicationID marks the file as a store of this program: "ingt".
const applicationID = 0x696E6774

// tables is the store's schema. Foreign keys are enforced while a step runs.
var tables = sqlitefile.Schema{Application: applicationID, Tables: ingest.Schema}

// identity is the header of a store's file.
type identity struct {
	version  int
	upstream string // "" if nothing was written yet
}

// identify reads a file's identity, and refuses files that this program must not read.
func identify(ctx context.Context, q querier, path, doing string) (id identity, err error) {
	var application uint32
	err = q.QueryRowContext(ctx, `SELECT application_id, user_version FROM pragma_application_id, pragma_user_version`).
		Scan(&application, &id.version)
	switch {
	case err != nil:
		return id, err
	case application != applicationID:
		return id, &ApplicationError{Path: path, ID: application}
	case id.version < 1:
		return id, &CorruptError{Path: path, Doing: doing,
			Err: fmt.Errorf("the header has version %d, which does not exist", id.version)}
	case id.version > tables.Version():
		return id, &VersionError{Path: path, Have: id.version, Know: tables.Version()}
	}
	object, err := tables.Foreign(ctx, q, id.version)
	if err == nil && object != "" {
		err = &CorruptError{Path: path, Doing: doing, Err: fmt.Errorf("%w: the %s", ErrForeign, object)}
	}
	if err != nil {
		return id, err
	}
	err = readNote(ctx, q, "upstream", &id.upstream)
	return id, err
}

var (
	// ErrEmpty means that a store's file has 0 bytes. SQLite would take it for a new one and delete its log.
	ErrEmpty = errors.New("it is empty")

	// ErrForeign means that another program has added to a store, or changed, a table, a view, an index or a trigger.
	ErrForeign = errors.New("its schema has something that ingest did not create")

	errUnwritable = errors.New("its header forbids writing: one of its bytes was changed")
)

// unwritable returns errUnwritable if a database's header forbids writing. It reads the header through SQLite, as
// closing a file of its own would release SQLite's locks.
func unwritable(ctx context.Context, q querier) error {
	var version []byte
	err := q.QueryRowContext(ctx, `SELECT substr(data, 19, 1) FROM sqlite_dbpage WHERE pgno = 1`).Scan(&version)
	if err == nil && len(version) == 1 && version[0] > 2 {
		return errUnwritable
	}
	return err
}
