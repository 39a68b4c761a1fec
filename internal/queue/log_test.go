package queue

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRiversErrorsAreOneLineAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		log := onlyWarnings(slog.New(slog.NewTextHandler(&said, nil)))
		for range 10 * 60 * 3 { // three minutes
			log.Error("producer: Error fetching jobs", slog.String("err", "connection refused"))
			time.Sleep(100 * time.Millisecond)
		}
		if n := strings.Count(said.String(), "\n"); n != 3 || strings.Count(said.String(), "left_out=599") != 2 {
			t.Errorf("%d lines in three minutes: %s, want 3 and 2", n, &said)
		}
	})
}

func TestACancelledJobIsNoErrorInTheLog(t *testing.T) {
	var said bytes.Buffer
	log := onlyWarnings(slog.New(slog.NewTextHandler(&said, nil)))
	log.Error("producer: Error fetching queue settings", slog.String("err", "context canceled"))
	log.Error("job executor: Error completing job", slog.String("err", "tx commit: context canceled"))
	log.Info("a job is done")
	if said.Len() > 0 {
		t.Errorf("the log of a cancelled job: got %s, want nothing", &said)
	}
	log.Error("producer: Error fetching jobs", slog.String("err", "connection refused"))
	if strings.Count(said.String(), "\n") != 1 {
		t.Errorf("the log of a server that is gone: got %q, want one line", &said)
	}
	for range 78 {
		log.With("service", "producer").Error("producer: Error fetching jobs", slog.String("err", "connection refused"))
	}
	if strings.Count(said.String(), "\n") != 1 {
		t.Errorf("the log of a server that stays away: got %q, want one line still", &said)
	}
}
