package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/trendvidstream/ingest/internal/term"
)

// The formats that --format takes.
const (
	formatText  = "text"
	formatJSON  = "json"
	formatCSV   = "csv"
	formatJSONL = "jsonl"
)

// format is the format to print in; --json is one of them.
func (c *console) format(given string) (string, error) {
	switch given {
	case "":
		if c.json {
			return formatJSON, nil
		}
		return formatText, nil
	case formatText, formatJSON, formatCSV, formatJSONL:
		if c.json && given != formatJSON {
			return "", usageError{fmt.Errorf("--json and --format %s: give one of them", given)}
		}
		return given, nil
	}
	return "", usageError{fmt.Errorf("--format %q: use text, json, csv or jsonl", given)}
}

// cell is a field of an exported row. nil, a nil pointer and the zero time are not known.
type cell struct {
	name  string
	value any
}

// cellsOf are the fields of a document, named as in JSON.
func cellsOf(doc any) (row []cell) {
	for field, value := range reflect.ValueOf(doc).Fields() {
		row = append(row, cell{field.Tag.Get("json"), value.Interface()})
	}
	return row
}

// setCell replaces the value of one cell.
func setCell(row []cell, name string, value any) {
	i := slices.IndexFunc(row, func(c cell) bool { return c.name == name })
	row[i].value = value
}

// export writes items as CSV or as JSON lines, by the fields that cells gives of each.
func export[T any](w io.Writer, format string, items []T, cells func(T) []cell) error {
	if format == formatCSV {
		return exportCSV(w, items, cells)
	}
	for _, item := range items {
		line, err := jsonLine(cells(item))
		if err == nil {
			_, err = w.Write(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exportCSV is RFC 4180, for spreadsheets: text is cleaned, and none of it is a formula. The head is there without any
// row too.
func exportCSV[T any](w io.Writer, items []T, cells func(T) []cell) error {
	c := csv.NewWriter(w)
	c.UseCRLF = true
	var none T
	var head []string
	for _, cell := range cells(none) {
		head = append(head, cell.name)
	}
	_ = c.Write(head) // c.Error has what failed
	for _, item := range items {
		var record []string
		for _, cell := range cells(item) {
			record = append(record, csvText(cell.value))
		}
		_ = c.Write(record)
	}
	c.Flush()
	return c.Error()
}

func csvText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return defuse(v)
	case []string:
		return defuse(strings.Join(v, ", "))
	case *int64:
		if v != nil {
			return fmt.Sprint(*v)
		}
		return ""
	case time.Time:
		return rfc3339(v)
	}
	return fmt.Sprint(value)
}

// defuse cleans a text and puts an apostrophe before what a spreadsheet would take for a formula: what
// begins with = + - @, in full width too, or with a tab or a line break, also behind what is not seen.
// https://owasp.org/www-community/attacks/CSV_Injection
func defuse(s string) string {
	text := term.Clean(s)
	seen := strings.TrimLeftFunc(text, unicode.IsSpace)
	if strings.HasPrefix(s, "\t") || strings.HasPrefix(s, "\r") || strings.HasPrefix(s, "\n") ||
		seen != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(seen)[0]) {
		return "'" + text
	}
	return text
}

// jsonLine is a row as one line of JSON, its fields in order. Text is as the upstream gave it, in value.
func jsonLine(row []cell) ([]byte, error) {
	var line bytes.Buffer
	for i, c := range row {
		if t, ok := c.value.(time.Time); ok {
			c.value = timeOrNull(t)
		}
		if tags, ok := c.value.([]string); ok && tags == nil {
			c.value = []string{}
		}
		line.WriteByte("{,"[min(i, 1)])
		fmt.Fprintf(&line, "%q:", c.name)
		e := json.NewEncoder(term.JSONEscaper{Writer: &line})
		e.SetEscapeHTML(false)
		if err := e.Encode(c.value); err != nil {
			return nil, fmt.Errorf("write %s: %w", c.name, err)
		}
		line.Truncate(line.Len() - 1) // the line break
	}
	line.WriteString("}\n")
	return line.Bytes(), nil
}
