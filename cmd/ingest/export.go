package main

import (
	"fmt"
	"io"

	"github.com/trendvidstream/ingest/internal/config"
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
	switch {
	case given == "" && c.json:
		return formatJSON, nil
	case given == "":
		return formatText, nil
	}
	if c.json && given != formatJSON {
		return "", usageError{fmt.Errorf("--json and --format %s: give one of them", given)}
	}
	return given, nil
}

func formatFlag(into *string) *config.FlagValue {
	return config.Choice(into, formatText, formatJSON, formatCSV, formatJSONL)
}

// export writes items as CSV or as JSON lines, by the fields that cells gives of each.
func export[T any](w io.Writer, format string, items []T, cells func(T) []term.Cell) error {
	if format == formatCSV {
		return term.ExportCSV(w, items, cells)
	}
	return term.ExportJSONL(w, items, cells)
}
