package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/config"
)

// A password in the config is as private as one in .pgpass, and a config that others write could send the key elsewhere.
func TestAConfigThatOthersCanReadOrWriteIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows: there are no modes")
	}
	for _, tt := range []struct {
		text, want string
		mode       os.FileMode
	}{
		{"ledger: redis://:canary@127.0.0.1/0\n", "chmod o-r", 0o644},
		{"store: postgres://u:canary@127.0.0.1/d\n", "chmod o-r", 0o604},
		{"ledger: redis://:canary@127.0.0.1/0\n", "", 0o640},
		{"ledger: redis://127.0.0.1/0\n", "", 0o644},
		{"hosts: 1\n", "chmod o-w", 0o666},
	} {
		file := filepath.Join(t.TempDir(), "ingest.yaml")
		if err := errors.Join(os.WriteFile(file, []byte(tt.text), 0o600), os.Chmod(file, tt.mode)); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(config.Flags{Config: file, Set: func(name string) bool { return name == "config" }}, map[string]config.JobLimits{"youtube": {Pages: 4, UsualPages: 4}})
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want+" "+file) || strings.Contains(err.Error(), "canary")) {
			t.Errorf("%s of mode %o: %v, want %q", tt.text, tt.mode, err, tt.want)
		}
	}
}

// Wherever ingest is started, a config names the same files: each directory with a ledger of its own would have the
// whole quota.
func TestARelativePathCountsFromTheConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ingest.yaml")
	if err := os.WriteFile(file, []byte("data: data\ncosts: ../costs.yaml\nkey_file: /etc/key\nbackups: [old]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("INGEST_DATA", "")
	t.Chdir(t.TempDir())
	c, err := config.Load(config.Flags{Config: file, Set: func(name string) bool { return name == "config" }}, map[string]config.JobLimits{"youtube": {Pages: 4, UsualPages: 4}})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(file)
	if c.Data != filepath.Join(dir, "data") || c.Costs != filepath.Join(filepath.Dir(dir), "costs.yaml") ||
		c.KeyFile != "/etc/key" || c.Backups[0] != filepath.Join(dir, "old") {
		t.Errorf("data %s, costs %s, key_file %s, backups %v", c.Data, c.Costs, c.KeyFile, c.Backups)
	}
}
