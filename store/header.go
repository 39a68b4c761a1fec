package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/trendvidstream/ingest"
)

// The first page of a store begins with SQLite's header, most of which is the same in every store.
// https://www.sqlite.org/fileformat2.html#the_database_header
const (
	pageSize   = 4096
	headerSize = 100

	writeVersionAt = 18 // 1 or 2; above that SQLite writes nothing, and says only that the file is read-only
	counterAt      = 24 // of changes
	pageCountAt    = 28 // big-endian, valid where the counters at 24 and 92 are equal
	userVersionAt  = 60
	validForAt     = 92
)

// implausible is a version that no program of ours will have: a file that says so is damaged.
const implausible = 1000

var (
	// ErrEmpty is the damage of a store's file of 0 bytes. It must not be opened: SQLite takes it for a new one, and
	// deletes its log.
	ErrEmpty = errors.New("it is empty")

	errUnwritable = errors.New("the header says that no program may write it: a byte of it has changed")
)

// unwritable is errUnwritable where the header of a database keeps SQLite from writing it. It is asked through
// SQLite: closing a file that it has open too would end its locks.
func unwritable(ctx context.Context, q querier) error {
	var version []byte
	err := q.QueryRowContext(ctx, `SELECT substr(data, ?, 1) FROM sqlite_dbpage WHERE pgno = 1`, writeVersionAt+1).Scan(&version)
	if err == nil && len(version) == 1 && version[0] > 2 {
		return errUnwritable
	}
	return err
}

// mislabelled reports whether a file that was refused for what it says of itself is a store anyway: its
// tables are exactly those of one, and a byte of its application id has changed, or no program has such a version.
// A version that may be a newer program's is never taken for damage.
func mislabelled(ctx context.Context, path string, refused error) (bool, error) {
	var application *ApplicationError
	var version *VersionError
	switch {
	case errors.As(refused, &application) && oneByte(application.ID^applicationID):
	case errors.As(refused, &version) && version.Have > implausible:
	default:
		return false, nil
	}
	want, err := newSchema(ctx)
	if err != nil {
		return false, err
	}
	return want.in(ctx, path) == len(want), nil
}

// oneByte reports whether all that two numbers differ in, changed, is one byte.
func oneByte(changed uint32) bool {
	n := 0
	for ; changed > 0; changed >>= 8 {
		n += min(int(changed&0xff), 1)
	}
	return n == 1
}

// schema is what a store is made of: SQL by name.
type schema map[string]string

// newSchema is that of this program's version.
func newSchema(ctx context.Context) (schema, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, fmt.Errorf("build the tables in memory: %w", err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, ingest.Schema); err != nil {
		return nil, fmt.Errorf("build the tables in memory: %w", err)
	}
	return readSchema(ctx, db)
}

// in is how much of it the file has, as far as that can be read. What SQLite makes of a damaged one is not an
// error here.
func (want schema) in(ctx context.Context, path string) (n int) {
	db, err := connect(path, 1, "mode=ro", "_query_only=1", "_pragma=writable_schema(1)")
	if err != nil {
		return 0
	}
	defer func() { _ = db.Close() }()
	have, _ := readSchema(ctx, db)
	for name, text := range have {
		if of, known := want[name]; known && of == text {
			n++
		}
	}
	return n
}

func readSchema(ctx context.Context, db *sql.DB) (schema, error) {
	return pairs[string, string](ctx, db, `SELECT name, coalesce(sql, '') FROM sqlite_schema`)
}

// firstPage is a file's first page, as much of it as there is, and the file's size. Nobody may have it open.
func firstPage(path string) (page []byte, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	page = make([]byte, pageSize)
	n, err := f.ReadAt(page, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return page[:n], info.Size(), err
}
