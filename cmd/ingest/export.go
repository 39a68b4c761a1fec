package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
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
func (a *app) format(given string) (string, error) {
	switch given {
	case "":
		if a.json {
			return formatJSON, nil
		}
		return formatText, nil
	case formatText, formatJSON, formatCSV, formatJSONL:
		if a.json && given != formatJSON {
			return "", usageError{fmt.Errorf("--json and --format %s: give one of them", given)}
		}
		return given, nil
	}
	return "", usageError{fmt.Errorf("--format %q: use text, json, csv or jsonl", given)}
}

// cell is a field of an exported row. A value is a string, an int, a bool, a time, a *int64 or a
// []string; nil, and the zero time, are not known.
type cell struct {
	name  string
	value any
}

// export writes rows, which all have the same fields, as CSV or as JSON lines. columns are the names for
// the head of the CSV, which is there without any row too.
func export(w io.Writer, format string, columns []string, rows [][]cell) error {
	if format == formatCSV {
		return exportCSV(w, columns, rows)
	}
	for _, row := range rows {
		line, err := jsonLine(row)
		if err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// exportCSV is RFC 4180, for spreadsheets: text is cleaned, and none of it is a formula.
func exportCSV(w io.Writer, columns []string, rows [][]cell) error {
	c := csv.NewWriter(w)
	c.UseCRLF = true
	if err := c.Write(columns); err != nil {
		return err
	}
	for _, row := range rows {
		record := make([]string, len(row))
		for i, cell := range row {
			record[i] = csvText(cell.value)
		}
		if err := c.Write(record); err != nil {
			return err
		}
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
		if v == nil {
			return ""
		}
		return fmt.Sprint(*v)
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
