package term

import (
	"io"
	"os"
	"strconv"
)

// Screen is the width in columns that all output is laid out for. Sentences keep to it; tables use what there is.
const Screen = 80

// Columns is how wide the tables are that are written to w: what COLUMNS says, else what the terminal does, within
// 60..240, and otherwise Screen.
func Columns(w io.Writer) int {
	n, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil && IsTerminal(w) {
		n, _ = terminalSize(file(w))
	}
	if n <= 0 {
		return Screen
	}
	return min(max(n, 60), 240)
}

// Share widens two cells, of a line that is laid out for Screen, to what the tables of w have: two thirds of it go to
// the first one. On a narrower screen it takes from them in the same way.
func Share(w io.Writer, first, second int) (int, int) {
	more := Columns(w) - Screen
	return first + more - more/3, second + more/3
}
