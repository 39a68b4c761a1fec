package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// defaultData returns the default directory of the store and the ledger: $STATE_DIRECTORY (systemd sets it), else
// /var/lib/ingest if it exists, else $XDG_STATE_HOME/ingest or ~/.local/state/ingest.
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
		return "", fmt.Errorf("%s exists but cannot be read: %w: "+
			"under systemd only root and the service may read it: use sudo, or give --data", system, err)
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
