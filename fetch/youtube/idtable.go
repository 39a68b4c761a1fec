package youtube

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// table is where a table has its videos; comma is 0 if a list is none.
type table struct {
	comma   byte   // between cells: , ; or a tab
	column  int    // from 0
	name    string // of the column; "": it was found by its ids
	heading int    // the heading's line, from 1; 0: there is none
}

func (t table) String() string {
	switch {
	case t.comma == 0:
		return ""
	case t.name == "":
		return fmt.Sprintf("column %d", t.column+1)
	}
	return fmt.Sprintf("column %d (%s)", t.column+1, t.name)
}

// headings are the names of columns of videos, without case and signs, the clearest first.
var headings = [][]string{
	{"videoid", "youtubeid", "youtubevideoid", "ytid"},
	{"videourl", "youtubeurl", "videolink"},
	{"id", "ids", "video", "videos", "videoids", "url", "urls", "link"},
}

// rank returns the place of a field in headings; ok is false if it is in none.
func rank(field []byte) (place int, ok bool) {
	name := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(string(field)))
	place = slices.IndexFunc(headings, func(names []string) bool { return slices.Contains(names, name) })
	return place, place >= 0
}

// isHeading reports whether a field names a column of videos.
func isHeading(field []byte) bool {
	_, ok := rank(field)
	return ok
}

// isWord reports whether a field has the letters of a word, lower case except the first, as one id in 20,000 has.
func isWord(field []byte) bool {
	return len(field) > 0 && !slices.ContainsFunc(field[1:], func(c byte) bool { return c < 'a' || c > 'z' }) &&
		(field[0]|0x20) >= 'a' && (field[0]|0x20) <= 'z'
}

const (
	sampled    = 50 // the first lines that may hold a table's heading
	mostCells  = 100
	cellCommas = ",;\t"
)

// findTable finds the column of videos of a list that begins like head: by its heading, in the first line or, if it
// is clear, in a later one; or as the first column that holds a video in each cell. A list whose first fields are
// videos needs no column.
func findTable(head []byte) table {
	var lines [][]byte
	for line := range bytes.Lines(head) {
		if lines = append(lines, bytes.TrimSpace(line)); len(lines) == sampled {
			break
		}
	}
	if len(head) > 0 && head[len(head)-1] != '\n' && len(lines) > 1 {
		lines = lines[:len(lines)-1] // perhaps not whole
	}
	for i, line := range lines {
		if id, ok := parseVideoID(firstField(line)); ok && !isWord(id[:]) {
			break
		}
		if t := headingOf(line); t.comma != 0 && (i == 0 || isClear(t.name)) {
			t.heading = i + 1
			return t
		}
	}
	for _, comma := range []byte(cellCommas) {
		for column := range mostCells {
			n, all := videosIn(lines, comma, column)
			if n > 0 && column == 0 {
				return table{}
			}
			if n > 0 && all {
				return table{comma: comma, column: column}
			}
		}
	}
	return table{}
}

func isClear(name string) bool {
	place, ok := rank([]byte(name))
	return ok && place == 0
}

// headingOf returns the table that has the line as its heading.
func headingOf(line []byte) (t table) {
	best := len(headings)
	for _, comma := range []byte(cellCommas) {
		if !bytes.Contains(line, []byte{comma}) {
			continue
		}
		for column := range min(mostCells, bytes.Count(line, []byte{comma})+1) {
			cell := cellOf(line, comma, column)
			if place, ok := rank(cell); ok && place < best {
				best, t = place, table{comma: comma, column: column, name: string(cell)}
			}
		}
	}
	return t
}

// videosIn counts the cells of a column that are videos; all says that no other cell of it has a text, except the
// first.
func videosIn(lines [][]byte, comma byte, column int) (n int, all bool) {
	all = true
	for i, line := range lines {
		cell := cellOf(line, comma, column)
		if len(cell) == 0 {
			continue
		}
		_, why := ParseVideo(string(cell))
		if why == "" && !isWord(cell) {
			n++
		} else if i > 0 {
			all = false
		}
	}
	return n, all
}

func cellOf(line []byte, comma byte, column int) []byte {
	r := row{table: table{comma: comma, column: column}, start: true}
	r.read(line)
	return bytes.TrimSpace(r.cell)
}

// row reads a row of a table, line by line, and keeps the cell of the table's column.
type row struct {
	table
	cell   []byte // shortened
	at     int    // the column
	start  bool   // of a cell
	quoted bool   // the row goes on with the next line
	ended  bool   // a quote has just ended, unless another follows
}

// row returns the row that the line begins; nil if the list is no table and the line has no quoted cell.
func (t table) row(line []byte) *row {
	r := &row{table: t, start: true}
	if t.comma == 0 {
		i := bytes.IndexAny(line, cellCommas)
		if i < 0 || !bytes.Contains(line[i:], []byte{'"'}) {
			return nil
		}
		r.comma = line[i]
	}
	r.read(line)
	return r
}

// read reads the row's next line. Quotes are as in RFC 4180: a cell that begins with one has it twice within.
func (r *row) read(line []byte) {
	if r.quoted {
		r.keep(' ')
	}
	for _, c := range line {
		switch {
		case c == '"' && r.quoted:
			r.quoted, r.ended = false, true
		case c == '"' && (r.start || r.ended):
			if r.ended {
				r.keep(c)
			}
			r.quoted, r.start, r.ended = true, false, false
		case c == r.comma && !r.quoted:
			r.at++
			r.start, r.ended = true, false
		default:
			r.start, r.ended = r.start && c == ' ', false
			r.keep(c)
		}
	}
}

func (r *row) keep(c byte) {
	if r.at == r.column && len(r.cell) < maxShown {
		r.cell = append(r.cell, c)
	}
}

// firstField returns the first column of a table's line, without quotes.
func firstField(line []byte) []byte {
	if id, found := guarded(line); found {
		return id
	}
	if len(line) > 1 && (line[0] == '"' || line[0] == '\'') {
		if end := bytes.IndexByte(line[1:], line[0]); end >= 0 {
			return bytes.TrimSpace(line[1 : 1+end])
		}
	}
	if i := bytes.IndexAny(line, ",;\t"); i >= 0 {
		line = line[:i]
	}
	return bytes.TrimSpace(line)
}

// guarded returns an id after an apostrophe, which an export for spreadsheets puts before one that begins with a minus.
func guarded(line []byte) (id []byte, found bool) {
	id, found = bytes.CutPrefix(line, []byte("'"))
	if i := bytes.IndexAny(id, ",;\t"); i >= 0 {
		id = id[:i]
	}
	id = bytes.TrimSpace(id)
	_, ok := parseVideoID(id)
	return id, found && ok
}
