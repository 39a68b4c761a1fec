//go:build linux || darwin

package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalColumns is the width of a terminal; 0: it does not say.
func terminalColumns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
