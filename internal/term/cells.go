package term

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Cell is a field of an exported row. nil, a nil pointer and the zero time mean that the value is not known.
type Cell struct {
	Name  string
	Value any
}

// CellsOf returns the fields of a document, named as in JSON, without empty fields that JSON leaves out.
func CellsOf(doc any) (row []Cell) {
	for field, value := range reflect.ValueOf(doc).Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			row = append(row, CellsOf(value.Interface())...)
		case options == "":
			row = append(row, Cell{name, value.Interface()})
		}
	}
	return row
}

// SetCell replaces the value of one cell.
func SetCell(row []Cell, name string, value any) {
	i := slices.IndexFunc(row, func(c Cell) bool { return c.Name == name })
	row[i].Value = value
}

// ExportJSONL writes items as JSON lines, with the fields that cells returns for each.
func ExportJSONL[T any](w io.Writer, items []T, cells func(T) []Cell) error {
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

// ExportCSV writes items in the format of RFC 4180, for spreadsheets: text is cleaned, and none of it is a formula. The
// header is written even if there are no rows.
func ExportCSV[T any](w io.Writer, items []T, cells func(T) []Cell) error {
	c := csv.NewWriter(w)
	c.UseCRLF = true
	_ = c.Write(Texts(cells(*new(T)), func(c Cell) string { return c.Name })) // c.Error reports failures
	for _, item := range items {
		_ = c.Write(Texts(cells(item), func(c Cell) string { return csvText(c.Value) }))
	}
	c.Flush()
	return c.Error()
}

func csvText(value any) string {
	if p := reflect.ValueOf(value); p.Kind() == reflect.Pointer {
		if p.IsNil() {
			return ""
		}
		value = p.Elem().Interface()
	}
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return defuseFormula(v)
	case []string:
		return defuseFormula(strings.Join(v, ", "))
	case time.Time:
		return RFC3339(v)
	}
	return fmt.Sprint(value)
}

// defuseFormula cleans a text, and puts an apostrophe before it if a spreadsheet would take it for a formula: if it
// begins with = + - @, in full width or after invisible characters too, or with a tab or a line break.
// https://owasp.org/www-community/attacks/CSV_Injection
func defuseFormula(s string) string {
	text := Clean(s)
	seen := strings.TrimLeftFunc(text, unicode.IsSpace)
	if s != "" && strings.Contains("\t\r\n", s[:1]) || seen != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(seen)[0]) {
		return "'" + text
	}
	return text
}

// jsonLine returns a row as one line of JSON, its fields in order. The text is exactly the upstream's once decoded.
func jsonLine(row []Cell) ([]byte, error) {
	var line bytes.Buffer
	for i, c := range row {
		if t, ok := c.Value.(time.Time); ok {
			c.Value = TimeOrNull(t)
		}
		if tags, ok := c.Value.([]string); ok && tags == nil {
			c.Value = []string{}
		}
		line.WriteByte("{,"[min(i, 1)])
		fmt.Fprintf(&line, "%q:", c.Name)
		if err := PrintJSON(&line, c.Value); err != nil {
			return nil, fmt.Errorf("write %s: %w", c.Name, err)
		}
		line.Truncate(line.Len() - 1) // the line break
	}
	line.WriteString("}\n")
	return line.Bytes(), nil
}
