package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// defaultData returns the default directory of the store and the ledger: systemd's for the unit, else the machine's,
// else the user's.
func defaultData() (string, error) {
	if dir := os.Getenv("STATE_DIRECTORY"); dir != "" {
		first, _, _ := strings.Cut(dir, ":")
		return first, nil
	}
	const system = "/var/lib/ingest"
	switch f, err := os.Open(system); {
	case err == nil:
		_ = f.Close()
		return system, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s is there but cannot be read: %w: run as its owner, or give --data", system, err)
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "ingest"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no place for the data: %w: give --data", err)
	}
	return filepath.Join(home, ".local", "state", "ingest"), nil
}

// CheckData refuses a data directory that every user of the machine can write to, and a file in it that is a link:
// others could replace our ledger, or have it written elsewhere. A path that does not exist is accepted.
func CheckData(dir, file string) error {
	const byOthers = 0o002
	info, err := os.Stat(dir)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&byOthers != 0 {
		return fmt.Errorf("every user of this machine can write to the data directory %s: chmod o-w %s, or give another --data", dir, dir)
	}
	path := filepath.Join(dir, file)
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a symbolic link, which is not followed: put the file itself there, or give the directory it is in as --data", path)
	}
	return nil
}
