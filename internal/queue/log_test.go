package queue

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestWhatTheEndCancelsIsNoErrorInTheLog(t *testing.T) {
	var said bytes.Buffer
	log := onlyWarnings(slog.New(slog.NewTextHandler(&said, nil)))
	log.Error("producer: Error fetching queue settings", slog.String("err", "context canceled"))
	log.Error("job executor: Error completing job", slog.String("err", "tx commit: context canceled"))
	log.Info("a job is done")
	if said.Len() > 0 {
		t.Errorf("the log has %s", &said)
	}
	log.Error("producer: Error fetching jobs", slog.String("err", "connection refused"))
	if strings.Count(said.String(), "\n") != 1 {
		t.Errorf("of a server that is gone the log has %q", &said)
	}
}
