//go:build !unix

package store

import "os"

// lockAlone does nothing: the system itself refuses to replace a file that somebody has open.
func lockAlone(*os.File) error { return nil }
