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
	counterAt      = 24 // the change counter
	pageCountAt    = 28 // big-endian, valid if the counters at 24 and 92 are equal
	userVersionAt  = 60
	validForAt     = 92
)

// implausible is a version that no program of ours will reach: a file that claims a higher one is damaged.
const implausible = 1000

var (
	// ErrEmpty means that a store's file has 0 bytes. It must not be opened: SQLite would take it for a new one, and
	// delete its log.
	ErrEmpty = errors.New("it is empty")

	errUnwritable = errors.New("the header says that no program may write it: a byte of it has changed")
)

// unwritable returns errUnwritable if the header of a database keeps SQLite from writing it. It reads the header
// through SQLite: closing a file that SQLite has open too would release its locks.
func unwritable(ctx context.Context, q querier) error {
	var version []byte
	err := q.QueryRowContext(ctx, `SELECT substr(data, ?, 1) FROM sqlite_dbpage WHERE pgno = 1`, writeVersionAt+1).Scan(&version)
	if err == nil && len(version) == 1 && version[0] > 2 {
		return errUnwritable
	}
	return err
}

// mislabelled reports whether a file that was refused for its header is a store anyway: its tables are exactly those of
// one, and either one byte of the application id has changed or the version is implausible. A version that may be a
// newer program's is never taken for damage.
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

// oneByte reports whether two numbers whose XOR is changed differ in one byte only.
func oneByte(changed uint32) bool {
	n := 0
	for ; changed > 0; changed >>= 8 {
		n += min(int(changed&0xff), 1)
	}
	return n == 1
}

// schema holds the SQL of a store's tables and indexes by name.
type schema map[string]string

// newSchema returns the schema of this program's version.
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

// in returns how many entries of want the file has, as far as they can be read. Errors from a damaged file are ignored.
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

// firstPage returns a file's first page, or as much of it as there is, and the file's size. Nobody may have it open.
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
