package main

import (
	"fmt"

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

// format returns the output format, which --json may choose too.
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

// printAs prints an answer in a format: as one document, as a screen, or item by item with the fields that cells
// returns.
func printAs[T any](c *console, format string, document screen, items []T, cells func(T) []term.Cell) error {
	switch format {
	case formatJSON:
		return c.printJSON(document)
	case formatCSV:
		return term.ExportCSV(c.stdout, items, cells)
	case formatJSONL:
		return term.ExportJSONL(c.stdout, items, cells)
	}
	document.Print(c.stdout)
	return nil
}
