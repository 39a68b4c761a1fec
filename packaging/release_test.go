package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAReleaseIsTaggedCleanAndGreen: make release in a repository of its own, whose tests and packing are stand-ins.
func TestAReleaseIsTaggedCleanAndGreen(t *testing.T) {
	const (
		green    = "echo tested"
		red      = "echo FAIL; exit 1"
		released = "## [0.1.0] - 2026-11-24\n"
	)
	git := func(t *testing.T, dir string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "tag.gpgsign=false", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	tag := func(t *testing.T, dir string) { git(t, dir, "tag", "-a", "v0.1.0", "-m", "v0.1.0") }
	for _, tt := range []struct {
		name, version, changes, tests string
		prepare                       func(t *testing.T, dir string)
		want                          string // in its output; "": it is released
	}{
		{"all is well", "v0.1.0", released, green, tag, ""},
		{"no version", "0.1.0", released, green, tag, "'0.1.0' is no version"},
		{"what git describes", "v0.1.0-3-gabcdef", released, green, tag, "is no version"},
		{"without a date", "v0.1.0", "## [0.1.0] - unreleased\n", green, tag, "CHANGELOG.md has no line"},
		{"not tagged", "v0.1.0", released, green, func(*testing.T, string) {}, "there is no tag v0.1.0"},
		{"a light tag", "v0.1.0", released, green, func(t *testing.T, dir string) { git(t, dir, "tag", "v0.1.0") }, "without a name and a date"},
		{"another commit", "v0.1.0", released, green, func(t *testing.T, dir string) {
			tag(t, dir)
			git(t, dir, "commit", "-q", "--allow-empty", "-m", "later")
		}, "v0.1.0 is another commit"},
		{"changed", "v0.1.0", released, green, func(t *testing.T, dir string) {
			tag(t, dir)
			put(t, filepath.Join(dir, "CHANGELOG.md"), released+"more\n")
		}, "not committed:  M CHANGELOG.md"},
		{"a new file", "v0.1.0", released, green, func(t *testing.T, dir string) {
			tag(t, dir)
			put(t, filepath.Join(dir, "new"), "")
		}, "not committed: ?? new"},
		{"red", "v0.1.0", released, red, tag, "not green"},
		{"tests that leave files", "v0.1.0", released, "touch left", tag, "the tests have changed the tree: ?? left"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"Makefile": read(t, "../Makefile"), "tools/release.sh": read(t, "../tools/release.sh"), "CHANGELOG.md": tt.changes, ".gitignore": "dist\n",
				".ci/run": tt.tests + "\n", "tools/dist.sh": "mkdir -p dist; echo $1 >dist/packed\n",
			} {
				put(t, filepath.Join(dir, name), text)
			}
			git(t, dir, "init", "-q", "-b", "main")
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-q", "-m", "first")
			tt.prepare(t, dir)
			cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "release", "VERSION="+tt.version)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			packed, _ := os.ReadFile(filepath.Join(dir, "dist/packed"))
			if tt.want == "" {
				if err != nil || string(packed) != "v0.1.0\n" {
					t.Errorf("not released: %v\n%s", err, out)
				}
			} else if err == nil || len(packed) > 0 || !strings.Contains(string(out), tt.want) {
				t.Errorf("%v, packed %q, want %q in:\n%s", err, packed, tt.want, out)
			}
		})
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
