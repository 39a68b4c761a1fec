// Package term lays out what the program prints: text made safe and cut to columns, tables, numbers, times, exported
// rows, and standard output that remembers a failed write.
package term

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Screen is the width in columns that all output is laid out for.
const Screen = 80

// Table aligns the tab-separated lines that write prints.
func Table(w io.Writer, write func(io.Writer)) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	write(t)
	return t.Flush()
}

// FitTable aligns rows, which all have the same number of cells, within the screen's width. Where a row would be
// wider, the cells of the column give are cut; that column keeps at least 8 columns.
func FitTable(w io.Writer, rows [][]string, give int) error {
	left := Screen
	for column := range rows[0] {
		widest := 0
		for _, row := range rows {
			row[column] = Clean(row[column])
			widest = max(widest, Width(row[column]))
		}
		if column != give {
			left -= widest
		}
		if column > 0 {
			left -= 2
		}
	}
	return Table(w, func(w io.Writer) {
		for _, row := range rows {
			row[give] = Fit(row[give], max(left, 8))
			fmt.Fprintln(w, strings.Join(row, "\t"))
		}
	})
}
