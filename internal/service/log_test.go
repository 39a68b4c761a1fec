package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/service"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// TestAWarningIsWrittenOnceInEitherFormat: a success is written every time, and each line of JSON is an object.
func TestAWarningIsWrittenOnceInEitherFormat(t *testing.T) {
	for _, f := range []service.LogFormat{{}, {Format: "json"}} {
		var text strings.Builder
		log, warnings := service.NewLogs(&text, false, f)
		for range 3 {
			log.Info("slot done", "region", "US")
			log.Warn("the ledger cannot answer", "error", errors.New("refused"))
			warnings.Info("left out")
		}
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		if len(lines) != 4 {
			t.Errorf("%+v: %d lines, want three and a warning:\n%s", f, len(lines), text.String())
		}
		for _, line := range lines {
			if json.Valid([]byte(line)) != (f.Format == "json") {
				t.Errorf("%+v: %s, want JSON if and only if that is the format", f, line)
			}
		}
	}
}

// A trouble that stops all fetching is logged again every ten minutes for as long as it lasts, a warning every hour.
func TestAnErrorThatLastsIsRepeatedEveryTenMinutes(t *testing.T) {
	for _, f := range []service.LogFormat{{}, {Format: "json"}} {
		synctest.Test(t, func(t *testing.T) {
			var text strings.Builder
			log, _ := service.NewLogs(&text, false, f)
			for range 2 * 60 { // heartbeats of an hour
				log.Error("nothing can be fetched now; trying again", "error", errors.New("connection refused"))
				log.Warn("the ledger cannot answer")
				time.Sleep(30 * time.Second)
			}
			if errs, warnings := strings.Count(text.String(), "refused"), strings.Count(text.String(), "ledger"); errs != 6 || warnings != 1 {
				t.Errorf("%+v: %d errors and %d warnings in an hour, want 6 and 1", f, errs, warnings)
			}
		})
	}
}

// TestTimesOfAnEventEqualTheDocuments: in whole seconds, never too early, and durations with their unit.
func TestTimesOfAnEventEqualTheDocuments(t *testing.T) {
	for format, want := range map[string]string{"text": "retry_at=2026-02-15T09:40:31Z took=2ms\n", "json": `"retry_at":"2026-02-15T09:40:31Z","took":"2ms"}` + "\n"} {
		var text strings.Builder
		log, _ := service.NewLogs(&text, false, service.LogFormat{Format: format})
		log.Info("slot", "retry_at", time.Date(2026, 2, 15, 9, 40, 30, 78000, time.UTC), "took", 2*time.Millisecond)
		if got := text.String(); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want it to end with %q", format, got, want)
		}
	}
}

func TestALevelHidesLowerOnes(t *testing.T) {
	for level, want := range map[string]int{"debug": 3, "": 2, "warn": 1, "error": 0} {
		var text strings.Builder
		log, _ := service.NewLogs(&text, false, service.LogFormat{Level: level})
		log.Debug("one")
		log.Info("two")
		log.Warn("three")
		if got := strings.Count(text.String(), "\n"); got != want {
			t.Errorf("level %q: %d lines, want %d", level, got, want)
		}
	}
}

// A trouble that keeps a service from fetching is logged with its cause and cure, as docs/faq.md has them.
func TestTheLogSaysTheCauseAndTheCure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		schedule, err := regions.NewSchedule([]ingest.Job{{Name: "chart", Kind: ingest.KindChart, Regions: []ingest.Region{"US"}, Every: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		s := service.New(service.Options{
			Schedule: schedule, Workers: 1, StaleAfter: 3, Stderr: &log, Now: time.Now,
			Open:      func(context.Context) (*service.Runtime, error) { return nil, fmt.Errorf("open: %w", quota.ErrMissing) },
			Temporary: func(error) bool { return true },
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := s.Run(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if want := `cause="ledger missing" cure="Put it back, or rebuild it from the store: ingest quota rebuild"`; strings.Count(log.String(), want) != 1 {
			t.Errorf("not once in the log: %s\n%s", want, log.String())
		}
	})
}
