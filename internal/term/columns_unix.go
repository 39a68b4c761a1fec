//go:build linux || darwin

package term

import (
	"io"

	"golang.org/x/sys/unix"
)

// terminalSize returns the size of a terminal; 0 if it is not known.
func terminalSize(w io.Writer) (columns, rows int) {
	f, _ := destination(w)
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}
