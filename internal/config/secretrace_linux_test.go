package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/trendvidstream/ingest/internal/config"
)

// The key is read from the checked file, even if another file takes its name meanwhile.
func TestTheKeyIsReadFromTheFileThatWasJudged(t *testing.T) {
	dir := t.TempDir()
	private, open := filepath.Join(dir, "private"), filepath.Join(dir, "open")
	for path, mode := range map[string]os.FileMode{private: 0o600, open: 0o644} {
		if err := os.WriteFile(path, []byte(filepath.Base(path)+"-0123456789"), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	t.Setenv("INGEST_KEY_FILE", private)
	stop, exchanged := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(exchanged)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, private, unix.AT_FDCWD, open, unix.RENAME_EXCHANGE)
			}
		}
	}()
	read := 0
	for range 5_000 {
		key, err := (&config.Config{}).Key()
		if err == nil {
			read++
		}
		if key.Reveal() == "open-0123456789" {
			t.Error("the key is from a file that everybody can read")
			break
		}
	}
	close(stop)
	<-exchanged
	if read == 0 {
		t.Error("no key was read")
	}
}
