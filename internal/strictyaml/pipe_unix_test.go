//go:build unix

package strictyaml_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/strictyaml"
)

// A config may come from a shell's <(COMMAND); a pipe without a writer, or whose writer does not end, is refused.
func TestAPipeIsReadButNotWaitedFor(t *testing.T) {
	strictyaml.WaitForPipes(t, 50*time.Millisecond)
	for _, c := range []struct {
		name, write string
		open, held  bool
		want        string
	}{
		{"no writer", "", false, false, "a pipe without a writer"},
		{"a writer that ended", "version: 1\n", true, false, ""},
		{"a writer that does not end", "version: 1\n", true, true, "did not end within"},
	} {
		path := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if c.open {
			w, err := os.OpenFile(path, os.O_RDWR, 0)
			if err == nil {
				_, err = w.WriteString(c.write)
			}
			if err != nil {
				t.Fatal(err)
			}
			r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // as a shell, it keeps the written bytes
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = r.Close() }()
			if c.held {
				defer func() { _ = w.Close() }()
			} else if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error, 1)
		var data []byte
		go func() {
			read, err := strictyaml.ReadFile(path)
			data = read
			done <- err
		}()
		select {
		case err := <-done:
			if c.want == "" && (err != nil || string(data) != c.write) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %q, %v, want %q or error %q", c.name, data, err, c.write, c.want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: it waits", c.name)
		}
	}
}
