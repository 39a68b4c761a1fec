package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// encoded is a document in a format other than JSON.
type encoded struct {
	kind string // its media type
	name string // of the file that a browser saves it as; "": it shows it
	body []byte
}

// encode returns a document as it is, or as JSON.
func encode(doc any) (encoded, error) {
	if e, ok := doc.(encoded); ok {
		return e, nil
	}
	var b bytes.Buffer
	err := json.NewEncoder(&b).Encode(doc)
	return encoded{kind: "application/json", body: b.Bytes()}, err
}

// formatOf returns the format that is asked for, one of known or "json".
func formatOf(params url.Values, known ...string) (string, error) {
	format := params.Get("format")
	if format == "" || format == "json" || slices.Contains(known, format) {
		return format, nil
	}
	return "", fmt.Errorf("%w: format %q: use json or %s", report.ErrBadRequest, term.Fit(format, 20),
		term.Enumerate(known, len(known)))
}

// csvOf returns rows for spreadsheets.
func csvOf[T any](name string, items []T, cells func(T) []term.Cell) (any, error) {
	var b bytes.Buffer
	err := term.ExportCSV(&b, items, cells)
	return encoded{"text/csv; charset=utf-8", name + ".csv", b.Bytes()}, err
}

// chartCSV returns a chart or a comparison, with the videos' courses if the request asks for them.
func chartCSV(doc report.MovesDocument, course bool) (any, error) {
	name := string(doc.Region) + "-" + doc.Slot.UTC().Format("20060102T1504Z")
	with := func(row []term.Cell, c report.CourseDocument) []term.Cell {
		if course {
			row = append(row, term.Cell{Name: "charted_since", Value: c.Since}, term.Cell{Name: "peak", Value: c.Peak})
		}
		return row
	}
	if !doc.Compared() {
		return csvOf(name, doc.ChartDocument.Items,
			func(v report.ChartItem) []term.Cell { return with(doc.ChartCells(v), v.CourseDocument) })
	}
	return csvOf(name+"-moves", slices.Concat(doc.Items, doc.Gone),
		func(v report.MoveItem) []term.Cell { return with(doc.MoveCells(v), v.CourseDocument) })
}

const atomXML = "application/atom+xml"
