package main_test

import (
	program "github.com/trendvidstream/ingest/cmd/ingest"

	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestUnwritableOutputIsAnError(t *testing.T) {
	standIn(t, youtubesim.Options{})
	ingestCode(t, exitOK, "run", "--region", "US", "--pages", "1")
	for _, args := range []string{
		"version", "run --region GB --pages 1", "run", "quota", "quota take videos.list", "search a", "chart US", "chart US --format csv", "chart US --json",
		"slots", "config check", "doctor", "help", "completion bash",
	} {
		var stderr bytes.Buffer
		if code := program.Run(strings.Fields(args), full{}, &stderr, nil); code != exitError ||
			!strings.Contains(stderr.String(), "standard output: no space left") {
			t.Errorf("ingest %s: exit %d, %q, want %v and \"standard output: no space left\" in it", args, code, stderr.String(), exitError)
		}
	}
}
