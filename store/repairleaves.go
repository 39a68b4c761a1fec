package store

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
)

// leafColumn is a column as a row on a leaf page has it.
type leafColumn struct {
	name, kind string
	required   bool // NOT NULL without a default
	rowid      bool // the rowid, stored as NULL in the row itself
}

// moveLeaves moves the rows of leaf pages that no other page leads to any more: when a file was truncated, the pages
// above them may be gone. A page is taken for one of the table if all its rows fit the table's columns: no two tables
// of a store have rows that look alike. Rows that were moved already stay as they are. A table without rowids has no
// such pages. An error is one of the new store, or of ctx. https://www.sqlite.org/fileformat2.html#b_tree_pages
func (s *salvage) moveLeaves(ctx context.Context, tx *txn, t copyTable) (kept int, err error) {
	columns, err := collect(ctx, tx, func(row scanner) (c leafColumn, err error) {
		return c, row.Scan(&c.name, &c.kind, &c.required, &c.rowid)
	}, `
		SELECT c.name, c.type, c."notnull" AND c.dflt_value IS NULL AND NOT c.pk, c.pk
		FROM pragma_table_list AS l, pragma_table_info(l.name) AS c WHERE l.name = ? AND NOT l.wr`, t.name)
	if err != nil || len(columns) == 0 {
		return 0, err
	}
	var pages uint32
	if err := s.from.QueryRowContext(ctx, `SELECT page_count FROM pragma_page_count`).Scan(&pages); err != nil {
		return 0, ctx.Err()
	}
	for n := uint32(2); n <= pages; n++ {
		for _, row := range s.leafRows(ctx, n, columns) {
			var names []string
			for _, c := range columns[:len(row)] {
				names = append(names, c.name)
			}
			added, err := affected(tx.ExecContext(ctx, t.insertOrIgnore(names), row...))
			if err != nil && !isConstraint(err) {
				return kept, err
			}
			kept += added
		}
	}
	return kept, ctx.Err()
}

// page returns a page of the damaged store; nil if it cannot be read.
func (s *salvage) page(ctx context.Context, n uint32) (page []byte) {
	err := s.from.QueryRowContext(ctx, `SELECT data FROM sqlite_dbpage WHERE pgno = ?`, n).Scan(&page)
	if err != nil || len(page) != pageSize {
		return nil
	}
	return page
}

// leafRows returns the rows of a leaf page; nil if it is none, or one of another table.
func (s *salvage) leafRows(ctx context.Context, n uint32, columns []leafColumn) (rows [][]any) {
	const header, leaf = 8, 13
	page := s.page(ctx, n)
	if page == nil || page[0] != leaf {
		return nil
	}
	for i := range int(binary.BigEndian.Uint16(page[3:])) {
		at := header + 2*i
		if at+2 > pageSize {
			return nil
		}
		row, ok := s.leafRow(ctx, page, int(binary.BigEndian.Uint16(page[at:])), columns)
		if !ok {
			return nil
		}
		rows = append(rows, row)
	}
	return rows
}

// leafRow reads the row at an offset of a page, with the parts of it that lie on overflow pages.
func (s *salvage) leafRow(ctx context.Context, page []byte, at int, columns []leafColumn) (row []any, ok bool) {
	const most, least = pageSize - 35, (pageSize-12)*32/255 - 23 // bounds of the bytes of a row on its own page
	size, n := varint(page[min(at, pageSize):])
	rowid, m := varint(page[min(at+n, pageSize):])
	if at += n + m; n == 0 || m == 0 || size > 1<<24 {
		return nil, false
	}
	here := int(size)
	if here > most {
		if here = least + (here-least)%(pageSize-4); here > most {
			here = least
		}
	}
	if at+here > pageSize || here < int(size) && at+here+4 > pageSize {
		return nil, false
	}
	record := slices.Clone(page[at : at+here])
	for next := page[at+here:]; len(record) < int(size); {
		rest := s.page(ctx, binary.BigEndian.Uint32(next))
		if rest == nil {
			return nil, false
		}
		record, next = append(record, rest[4:min(pageSize, 4+int(size)-len(record))]...), rest
	}
	return readRecord(record, int64(rowid), columns)
}

// readRecord decodes a row as SQLite stores it, if it fits these columns. Columns that were added to the table later
// may be missing at its end.
func readRecord(record []byte, rowid int64, columns []leafColumn) (row []any, ok bool) {
	head, at := varint(record)
	if at == 0 || head > uint64(len(record)) {
		return nil, false
	}
	for body := record[head:]; at < int(head); {
		kind, n := varint(record[at:head])
		if n == 0 || len(row) == len(columns) {
			return nil, false
		}
		value, size, ok := readValue(kind, body)
		if c := columns[len(row)]; ok && c.rowid && value == nil {
			value = rowid
		} else if !ok || !c.holds(value) {
			return nil, false
		}
		row, body, at = append(row, value), body[size:], at+n
	}
	return row, len(row) > 0 && !slices.ContainsFunc(columns[len(row):], func(c leafColumn) bool { return c.required })
}

// holds reports whether the value may be in this column of a STRICT table.
func (c leafColumn) holds(value any) bool {
	switch value.(type) {
	case nil:
		return !c.required
	case int64:
		return c.kind == "INTEGER"
	case string:
		return c.kind == "TEXT"
	}
	return false
}

// readValue decodes a NULL, an integer or a text; ok is false for any other kind, or if it is truncated.
func readValue(kind uint64, body []byte) (value any, size int, ok bool) {
	switch {
	case kind == 0:
		return nil, 0, true
	case kind <= 6:
		if size = []int{0, 1, 2, 3, 4, 6, 8}[kind]; size > len(body) {
			return nil, 0, false
		}
		n := int64(int8(body[0]))
		for _, b := range body[1:size] {
			n = n<<8 | int64(b)
		}
		return n, size, true
	case kind == 8 || kind == 9:
		return int64(kind - 8), 0, true
	case kind >= 13 && kind%2 == 1 && kind < math.MaxInt32:
		if size = int(kind-13) / 2; size > len(body) {
			return nil, 0, false
		}
		return string(body[:size]), size, true
	}
	return nil, 0, false
}

// varint decodes an integer of one to nine bytes; size is 0 if it is truncated.
func varint(b []byte) (value uint64, size int) {
	for i := range min(len(b), 9) {
		if i == 8 {
			return value<<8 | uint64(b[i]), 9
		}
		if value = value<<7 | uint64(b[i]&0x7f); b[i] < 0x80 {
			return value, i + 1
		}
	}
	return 0, 0
}
