//go:build unix

package ownfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/ownfile"
)

const nobody = 65534

// must fails the test if a step of its preparation fails.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// A file is opened only if it is a plain file that no stranger put there or may write, and no name makes it wait.
func TestOnlyOwnPlainFilesAreOpened(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		plant      func(path string) error
		root       bool // only root can plant it
	}{
		{"a file of ours", "", func(path string) error { return os.WriteFile(path, nil, 0o644) }, false},
		{"a link to a file of ours", "symbolic link", func(path string) error { return os.Symlink("/etc/passwd", path) }, false},
		{"a link to nothing", "symbolic link", func(path string) error { return os.Symlink(path+".none", path) }, false},
		{"a pipe", "no regular file", func(path string) error { return syscall.Mkfifo(path, 0o600) }, false},
		{"a directory", "no regular file", func(path string) error { return os.Mkdir(path, 0o700) }, false},
		{"a file that all may write", "chmod o-w", func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o666)) }, false},
		{"another user's file", "belongs to another user", func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, nobody, nobody))
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root && os.Geteuid() != 0 {
				t.Skip("root: only root can give a file to another user")
			}
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			must(t, tt.plant(path))
			for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE} {
				done := make(chan error, 1)
				go func() {
					f, err := ownfile.Open(path, flag)
					if err == nil {
						err = f.Close()
					}
					done <- err
				}()
				select {
				case err := <-done:
					judge(t, err, tt.want)
				case <-time.After(10 * time.Second):
					t.Fatal("the open: got no end within 10 s, want an error at once")
				}
			}
			judge(t, ownfile.Check(path), tt.want)
			if made, _ := os.ReadDir(dir); len(made) != 1 {
				t.Errorf("%v was made, want one", made)
			}
		})
	}
}

func judge(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (!errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), want)) {
		t.Errorf("%v, want %q", err, want)
	}
}

// A directory is safe if no stranger may write into it, nor put another in its place.
func TestADirectoryThatOthersCanReplaceIsRefused(t *testing.T) {
	for _, tt := range []struct {
		parent, dir       os.FileMode
		owner             int
		wantData, wantNew string
	}{
		{0o755, 0o700, -1, "", ""},
		{0o755, 0o777, -1, "chmod o-w", "chmod o-w"},
		{0o755, 0o777 | os.ModeSticky, -1, "chmod o-w", ""},
		{0o777, 0o700, -1, "chmod o-w", "chmod o-w"},
		{0o777 | os.ModeSticky, 0o700, -1, "", ""},
		{0o777 | os.ModeSticky, 0o700, nobody, "another user made", "belongs to another user"},
		{0o755, 0o700, nobody, "", "belongs to another user"}, // root looks into a service's data
	} {
		if tt.owner >= 0 && os.Geteuid() != 0 {
			t.Log("root: only root can give a directory to another user")
			continue
		}
		parent := filepath.Join(t.TempDir(), "parent")
		dir := filepath.Join(parent, "dir")
		must(t, os.MkdirAll(dir, 0o700), os.Chmod(parent, tt.parent), os.Chmod(dir, tt.dir), os.Chown(dir, tt.owner, -1))
		judge(t, ownfile.CheckDir(dir), tt.wantData)
		judge(t, ownfile.CheckTarget(dir, parent), tt.wantNew)
		if tt.wantData == "" {
			judge(t, ownfile.CheckTarget(dir, dir), "")
		}
	}
	judge(t, ownfile.CheckDir(filepath.Join(t.TempDir(), "none", "yet")), "")
}

// Replace takes the place of a link or of another's file, and leaves the target of a link as it was.
func TestReplacingAFileFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	precious, path := filepath.Join(dir, "precious"), filepath.Join(dir, "file")
	must(t, os.WriteFile(precious, []byte("precious"), 0o600), os.Symlink(precious, path))
	must(t, ownfile.Write(path, []byte("new")))
	old, err1 := os.ReadFile(precious)
	text, err2 := os.ReadFile(path)
	info, err3 := os.Lstat(path)
	must(t, err1, err2, err3)
	if string(old) != "precious" || string(text) != "new" || info.Mode() != 0o600 {
		t.Errorf("%q, %q, %v, want \"precious\", \"new\" and 0o600", old, text, info.Mode())
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("%v is left, want none", left)
	}
}

// A link in the name of a directory is followed if its owner is root, this user, or the owner of its target.
func TestALinkOfAStrangerIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: only root can give a file to another user")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err, os.MkdirAll(filepath.Join(dir, "root", "data"), 0o755), os.MkdirAll(filepath.Join(dir, "theirs", "data"), 0o755), os.Chown(filepath.Join(dir, "theirs", "data"), nobody, nobody))
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, to := range map[string]string{
		"ours": "root/data", "to-theirs": at("theirs/data"), "theirs-to-root": "root", "theirs-to-their": "theirs/data",
		"over-theirs": "theirs-to-root/data", "to-nothing": "none", "loop": "loop",
	} {
		must(t, os.Symlink(to, at(name)))
		if strings.HasPrefix(name, "theirs-") {
			must(t, os.Lchown(at(name), nobody, nobody))
		}
	}
	for name, want := range map[string]string{
		"root/data": "root/data", "ours": "root/data", "to-theirs": "theirs/data", "theirs-to-their": "theirs/data", "theirs-to-root/data": "", "over-theirs": "",
		"to-nothing": "none", "none/at/all": "none/at/all", "loop": "",
	} {
		got, err := ownfile.Resolve(at(name))
		if want != "" && (err != nil || got != at(want)) || want == "" && err == nil {
			t.Errorf("%s: %s, %v; want %q", name, got, err, want)
		}
		if refused := ownfile.CheckDir(at(name)); want == "" && name != "loop" && !errors.As(refused, new(*ownfile.Error)) {
			t.Errorf("%s is accepted: %v", name, refused)
		}
	}
}

// No file is made in root's directory through a link that a stranger puts in the place of one of the stranger's own,
// whenever that happens.
func TestAFileIsMadeInNoDirectoryOfRootsThroughAStrangersLink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: only root can give a file to another user")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	at := func(name string) string { return filepath.Join(top, name) }
	must(t, os.MkdirAll(at("root/data"), 0o700), os.MkdirAll(at("theirs/data"), 0o755), os.Chown(at("theirs"), nobody, nobody), os.Chown(at("theirs/data"), nobody, nobody))
	swap := func(name, target string) func() {
		return func() {
			link := at("link") // root's only while it has this name
			must(t, os.Symlink(target, link), os.Lchown(link, nobody, nobody), os.Rename(at(name), at(name)+".away"), os.Rename(link, at(name)))
		}
	}
	back := func(name string) { must(t, os.Remove(at(name)), os.Rename(at(name)+".away", at(name))) }
	for name, target := range map[string]string{"theirs/data": at("root/data"), "theirs": at("root")} {
		before, within := swap(name, target), swap(name, target)
		before()
		if err := ownfile.Write(at("theirs/data/file"), nil); err == nil {
			t.Errorf("a file was made with %s a link, want an error", name)
		}
		back(name)
		d, err := ownfile.Create(at("theirs/data/file"))
		must(t, err)
		within()
		must(t, d.Replace())
		back(name)
		if _, err := os.Lstat(at("theirs/data/file")); err != nil {
			t.Errorf("%s was a link meanwhile: %v", name, err)
		}
		must(t, os.Remove(at("theirs/data/file")))
	}
}
