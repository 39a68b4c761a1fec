package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/config"
)

func TestADataDirectoryThatOthersCanWriteIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows: there are no modes")
	}
	dir := t.TempDir()
	if err := config.CheckData(filepath.Join(dir, "none"), "quota.db"); err != nil {
		t.Error(err)
	}
	if err := config.CheckData(dir, "quota.db"); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil { // which is what is tested
		t.Fatal(err)
	}
	if err := config.CheckData(dir, "quota.db"); err == nil || !strings.Contains(err.Error(), "chmod o-w") {
		t.Error(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(t.TempDir(), "other.db"), filepath.Join(dir, "quota.db")); err != nil {
		t.Fatal(err)
	}
	if err := config.CheckData(dir, "quota.db"); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Error(err)
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
	if c.Data != filepath.Join(dir, "data") || c.Costs != filepath.Join(filepath.Dir(dir), "costs.yaml") || c.KeyFile != "/etc/key" || c.Backups[0] != filepath.Join(dir, "old") {
		t.Errorf("data %s, costs %s, key_file %s, backups %v", c.Data, c.Costs, c.KeyFile, c.Backups)
	}
}
