package sqlitefile

import (
	"os"

	"golang.org/x/sys/unix"
)

// openNameless opens a new file that has no name in dir, and so leaves dir as it was. Some file systems have no such
// files.
func openNameless(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
}
