package ownfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/trendvidstream/ingest/internal/ownfile"
)

// A stranger exchanges a directory with a link to a directory of root all the time, and no file is made there.
func TestAStrangerWhoExchangesDirectoriesGainsNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: only root can give a file to another user")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	at := func(name string) string { return filepath.Join(top, name) }
	must(t, os.MkdirAll(at("root/data"), 0o700), os.MkdirAll(at("theirs/data"), 0o755), os.Symlink(at("root"), at("link")))
	for _, name := range []string{"theirs", "theirs/data", "link"} {
		must(t, os.Lchown(at(name), nobody, nobody))
	}
	exchanged, stop := make(chan int), make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				exchanged <- n
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, at("theirs"), unix.AT_FDCWD, at("link"), unix.RENAME_EXCHANGE)
			}
		}
	}()
	made := 0
	for range 5_000 {
		if ownfile.Write(at("theirs/data/file"), nil) == nil {
			made++
		}
	}
	close(stop)
	if n := <-exchanged; n == 0 || made == 0 {
		t.Errorf("%d exchanges, %d files made: nothing was tried", n, made)
	}
	if names, _ := os.ReadDir(at("root/data")); len(names) > 0 {
		t.Errorf("%v was made in root's directory, want none", names)
	}
}
