//go:build unix

package main_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	program "github.com/trendvidstream/ingest/cmd/ingest"
)

// A stranger replaces each new file of root's command, as soon as it has a name, by a link to a file that root could
// write: no command follows it, and nothing is made outside the stranger's directories.
func TestAStrangerWhoSwapsNewFilesGainsNothing(t *testing.T) { strangerSwaps(t, "a backup") }

func TestLongAStrangerWhoSwapsNewFilesGainsNothing(t *testing.T) { strangerSwaps(t, "") }

// strangerSwaps tries one command, or all.
func strangerSwaps(t *testing.T, only string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: only root can be tricked, and give files to a stranger")
	}
	t.Setenv("INGEST_UPSTREAM_URL", "http://127.0.0.1:1")
	t.Setenv("SUDO_UID", "")
	whole := newWard(t).data
	for name, tt := range map[string]struct {
		missing string // in the data directory
		command []string
	}{
		"a backup":        {"copy.db", []string{"backup", "$/copy.db"}},
		"a new ledger":    {"quota.db", []string{"quota", "take", "videos.list"}},
		"a rebuilt one":   {"quota.db", []string{"quota", "rebuild", "--replace"}},
		"a new store":     {"ingest.db", []string{"run", "--accept-new-store"}},
		"a repaired one":  {"ingest.db-shm", []string{"doctor", "--repair"}},
		"refused lines":   {"ids.rejected", []string{"backfill", "plan", "videos", "$/ids"}},
		"its last backup": {"ingest.db.backed-up", []string{"backup", "$/copy.db"}},
	} {
		if only != "" && name != only {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := &strangersTree{t, filepath.Join(dir, "tree"), filepath.Join(dir, "tree", "data"), filepath.Join(dir, "outside")}
			must(t, os.Mkdir(w.dir, 0o755), os.Mkdir(w.outside, 0o700), os.WriteFile(w.root("empty"), nil, 0o600))
			before, swapped := contents(t, w.outside), 0
			// On a busy machine the command may end before the stranger has swapped a file: it then runs again.
			for round := 0; round < 4 || swapped == 0 && round < 100; round++ {
				must(t, os.RemoveAll(w.data), os.CopyFS(w.data, os.DirFS(whole)), os.WriteFile(w.in("data/ids"), []byte("no id\ndQw4w9WgXcQ\n"), 0o644), os.RemoveAll(w.in("data/"+tt.missing)))
				w.give()
				args := append(strings.Split(strings.ReplaceAll(strings.Join(tt.command, "\x00"), "$", w.data), "\x00"), "--data", w.data)
				looks, stop, n := make(chan struct{}), make(chan struct{}), make(chan int)
				go func() { n <- w.swap(w.data, looks, stop) }()
				<-looks
				program.Run(args, io.Discard, io.Discard, nil)
				close(stop)
				swapped += <-n
				if after := contents(t, w.outside); after != before {
					t.Fatalf("%v: root's files were\n%sand are\n%.600s", args, before, after)
				}
			}
			if swapped == 0 {
				t.Error("0 files were swapped, want at least 1")
			}
		})
	}
}

// swap replaces each file that appears in a directory by a link to nothing, or to an empty file, outside; it returns
// their number. Once it knows the files that are there already, it closes looks.
func (w *strangersTree) swap(dir string, looks chan<- struct{}, stop <-chan struct{}) (n int) {
	seen := map[string]bool{}
	d, err := os.Open(dir)
	if err != nil {
		close(looks)
		return 0
	}
	defer func() { _ = d.Close() }()
	names := func() []string {
		_, _ = d.Seek(0, io.SeekStart)
		all, _ := d.Readdirnames(-1)
		return all
	}
	for _, name := range names() {
		seen[name] = true
	}
	close(looks)
	for {
		select {
		case <-stop:
			return n
		default:
		}
		for _, name := range names() {
			path := filepath.Join(dir, name)
			if seen[name] || strings.HasSuffix(name, ".swapped") || strings.HasSuffix(name, ".link") {
				continue
			}
			seen[name] = true
			target := w.root("new")
			if n%2 == 1 {
				target = w.root("empty")
			}
			if os.Symlink(target, path+".link") == nil && os.Rename(path, path+".swapped") == nil && os.Rename(path+".link", path) == nil {
				n++
			}
		}
	}
}
