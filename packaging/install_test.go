package packaging_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestInstallNeedsNoGoAndIsUndone: root, whose PATH has no Go, installs another user's build; uninstall leaves
// nothing behind but directories.
func TestInstallNeedsNoGoAndIsUndone(t *testing.T) {
	tree, root, tools := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range []string{"make", "sh", "install", "rm", "git", "awk"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name, text string) {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("Makefile", read(t, "../Makefile"))
	put("bin/ingest", "built before")
	want := []string{"usr/bin/ingest"}
	units, err := filepath.Glob("systemd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, unit := range units {
		put("packaging/"+unit, read(t, unit))
		want = append(want, "usr/lib/systemd/system/"+filepath.Base(unit))
	}
	run := func(target string) (files []string) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(tools, "make"), target, "DESTDIR="+root, "PREFIX=/usr")
		cmd.Dir, cmd.Env = tree, []string{"PATH=" + tools}
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "go build") {
			t.Fatalf("make %s: %v\n%s", target, err, out)
		}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				name, _ := filepath.Rel(root, path)
				files = append(files, filepath.ToSlash(name))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	slices.Sort(want)
	if got := run("install"); !slices.Equal(got, want) {
		t.Errorf("installed %q, want %q", got, want)
	}
	if left := run("uninstall"); left != nil {
		t.Errorf("uninstall leaves %q", left)
	}
}
