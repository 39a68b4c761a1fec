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
