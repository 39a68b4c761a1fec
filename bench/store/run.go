package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/trendvidstream/ingest/bench/report"
)

const (
	answerTakes = 100 * time.Millisecond
	runWithin   = 1100 * time.Millisecond
)

// aRun times ingest run over eight charts of four pages, from its start to its end, and a loop that requests the same
// pages one after the other and stores nothing.
func (b *bench) aRun(ctx context.Context) error {
	program, err := b.program(ctx)
	if err != nil {
		return err
	}
	upstream := exec.CommandContext(ctx, program, "simulate", "--listen", "127.0.0.1:0", "--latency", answerTakes.String())
	url, err := started(upstream, regexp.MustCompile(`(http://127\.0\.0\.1:\d+/)`))
	if err != nil {
		return fmt.Errorf("ingest simulate: %w", err)
	}
	defer func() { _ = upstream.Process.Kill(); _ = upstream.Wait() }()
	var ours, loop []float64
	calls := 0
	for i := range b.repeats {
		data := filepath.Join(b.dir, fmt.Sprint("run", i))
		cmd := exec.CommandContext(ctx, program, "run", "--quiet", "--data", data, "--upstream-url", url)
		cmd.Env = append(os.Environ(), "INGEST_CONFIG=", "INGEST_KEY_FILE=", "INGEST_KEY=")
		took, err := timed(func() error {
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("ingest run: %w\n%s", err, out)
			}
			return nil
		})
		if err != nil {
			return err
		}
		ours = append(ours, took)
		took, err = timed(func() (err error) { calls, err = pagesInTurn(ctx, url); return err })
		if err != nil {
			return err
		}
		loop = append(loop, took)
	}
	m := report.Median(ours)
	b.report.Section("A run", fmt.Sprintf("Eight charts, %d calls of %v, into an empty directory; medians of %d turns. The loop asks for the same pages one after the other, and keeps nothing.", calls, answerTakes, b.repeats))
	b.report.Table([]string{"", "ms"}, [][]string{{"`ingest run`, start to end", ms(m)}, {"a naive loop", ms(report.Median(loop))}})
	b.report.Goal(fmt.Sprintf("`ingest run`: %d calls of %v", calls, answerTakes), fmt.Sprintf("<= %d ms", runWithin.Milliseconds()), ms(m)+" ms", m <= float64(runWithin.Milliseconds()))
	return nil
}

// pagesInTurn requests all pages of eight charts, and returns how many there were.
func pagesInTurn(ctx context.Context, url string) (calls int, err error) {
	for _, region := range eight {
		for token := ""; ; {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%syoutube/v3/videos?part=snippet,statistics,contentDetails&chart=mostPopular&maxResults=50&regionCode=%s&pageToken=%s", url, region, token), nil)
			if err != nil {
				return calls, err
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return calls, err
			}
			var page struct{ NextPageToken string }
			err = json.NewDecoder(resp.Body).Decode(&page)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK {
				return calls, fmt.Errorf("a page of %s: %s, %w", region, resp.Status, err)
			}
			calls++
			if token = page.NextPageToken; token == "" {
				break
			}
		}
	}
	return calls, nil
}
