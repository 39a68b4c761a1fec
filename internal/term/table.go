// Package term lays out the program's output: text made safe and cut to columns, tables, numbers, times, exported rows,
// and standard output that remembers a failed write.
package term

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Table aligns the tab-separated lines that write prints to its writer, which is styled if w is.
func Table(w io.Writer, write func(io.Writer)) {
	t := Frame{to: w}
	write(&t)
	var rows [][]string
	var widths []int
	for line := range strings.Lines(t.text.String()) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for i, cell := range row[:len(row)-1] { // the last cell needs no alignment
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], styledWidth(cell))
		}
		rows = append(rows, row)
	}
	var out bytes.Buffer
	for _, row := range rows {
		last := len(row) - 1
		for i, cell := range row[:last] {
			out.WriteString(cell + strings.Repeat(" ", widths[i]+2-styledWidth(cell)))
		}
		out.WriteString(row[last] + "\n")
	}
	_, _ = w.Write(out.Bytes()) // a CheckedWriter keeps the error
}

// FitTable aligns rows, which all have the same number of cells, within the columns of w. If a row would be wider, the
// cells of column give are cut, to no less than 8 columns. Outcomes are coloured.
func FitTable(w io.Writer, rows [][]string, give int) {
	left := Columns(w)
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
	Table(w, func(t io.Writer) {
		for _, row := range rows {
			row[give] = Fit(row[give], max(left, 8))
			for i, cell := range row {
				row[i] = Paint(w, cell)
			}
			fmt.Fprintln(t, strings.Join(row, "\t"))
		}
	})
}
