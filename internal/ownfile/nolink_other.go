//go:build !linux

package ownfile

import (
	"io/fs"
	"os"
)

// statNoLink describes the directory of a name, whose last part is no link.
func statNoLink(dir string) (fs.FileInfo, error) { return os.Lstat(dir) }
