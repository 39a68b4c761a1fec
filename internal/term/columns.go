package term

import (
	"io"
	"os"
	"strconv"
)

// Screen is the width in columns that all output is laid out for. Sentences keep to it; tables use the whole terminal.
const Screen = 80

// Columns returns how wide tables written to w are: what COLUMNS says, else the width of the terminal, within 60..240,
// and otherwise Screen.
func Columns(w io.Writer) int {
	n, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil && IsTerminal(w) {
		n, _ = terminalSize(fileOf(w))
	}
	if n <= 0 {
		return Screen
	}
	return min(max(n, 60), 240)
}

// Share widens two cells, of a line that is laid out for Screen, to the columns of w: the first one gets two thirds of
// the extra columns. On a narrower screen both shrink in the same ratio.
func Share(w io.Writer, first, second int) (int, int) {
	more := Columns(w) - Screen
	return first + more - more/3, second + more/3
}
