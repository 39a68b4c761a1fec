package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/trendvidstream/ingest/internal/sqlitefile"
)

// readableFile returns a file from which the damaged store, kept as r.Broken, can be read: that file or, if it yields
// more tables, a copy with another first page. The first page leads to all others, so one changed byte may hide a store
// that is otherwise whole. fresh is a new store, which has the same header and, unless the old one was vacuumed, the
// same pages for its tables.
func (r *Repaired) readableFile(ctx context.Context, fresh, copied string) (path string, err error) {
	want, err := newSchema(ctx)
	if err != nil {
		return "", err
	}
	page, size, err := firstPage(r.Broken)
	if err != nil {
		return "", fmt.Errorf("read the damaged store: %w", err)
	}
	best := -1 // an empty file must not be opened: SQLite would delete its log
	if size > 0 {
		best, path = want.in(ctx, r.Broken), r.Broken
	}
	made, _, err := firstPage(fresh)
	if err != nil {
		return "", fmt.Errorf("read the new store: %w", err)
	}
	const shape = 24 // bytes that say how SQLite reads every page: the same in every store
	shaped := len(page) >= shape && bytes.Equal(page[:shape], made[:shape])
	if shaped && best == len(want) {
		return path, nil
	}
	if err := sqlitefile.Copy(r.Broken, copied); err != nil {
		return "", fmt.Errorf("copy the damaged store: %w: free some space", err)
	}
	var chosen []byte
	for _, body := range [][]byte{page, made} {
		if len(body) < pageSize {
			continue
		}
		first := repairedPage(made, body, page, size)
		if err := putFirstPage(copied, first); err != nil {
			return "", err
		}
		if n := want.in(ctx, copied); n > best || n == best && !shaped && chosen == nil {
			best, chosen = n, first
		}
	}
	if chosen == nil {
		return r.Broken, nil
	}
	return copied, putFirstPage(copied, chosen)
}

// repairedPage returns a first page with the header of a new store, the counters of the old one, and the rest of body.
func repairedPage(made, body, old []byte, size int64) []byte {
	page := append(made[:headerSize:headerSize], body[headerSize:]...)
	if len(old) >= headerSize {
		copy(page[counterAt:], old[counterAt:counterAt+4])
		copy(page[userVersionAt:], old[userVersionAt:userVersionAt+4]) // the columns are read from the schema itself
	}
	copy(page[validForAt:], page[counterAt:counterAt+4])
	binary.BigEndian.PutUint32(page[pageCountAt:], uint32(max(size/pageSize, 1)))
	return page
}

func putFirstPage(path string, page []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("repair a copy of the damaged store: %w", err)
	}
	_, err = f.WriteAt(page, 0)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("repair a copy of the damaged store: %w", err)
	}
	return nil
}
