package term

import (
	"fmt"
	"io"
	"time"
)

// RowProgress shows how many rows of a table are done: on a terminal every drawEvery, elsewhere as a line every
// tellEvery, and never if silent. wipe erases the last drawing.
func RowProgress(w io.Writer, silent bool, drawEvery, tellEvery time.Duration) (draw func(table string, done, of int), wipe func()) {
	every, begin, end := tellEvery, "ingest: ", "\n"
	if IsTerminal(w) {
		every, begin, end = drawEvery, "\r\x1b[K", ""
	}
	last := time.Now()
	return func(table string, done, of int) {
			if !silent && time.Since(last) >= every {
				last = time.Now()
				fmt.Fprintf(w, "%s%s: %s of %s%s", begin, table, Thousands(int64(done)), Plural(of, "row"), end)
			}
		}, func() {
			if end == "" && !silent {
				fmt.Fprint(w, begin)
			}
		}
}
