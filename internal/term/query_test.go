package term_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/itchyny/gojq"

	"github.com/trendvidstream/ingest/internal/term"
)

// A filter that never ends is ended: by a signal at once, else by its bound of memory or time, in one line.
func TestAFilterThatNeverEndsIsEnded(t *testing.T) {
	signal := errors.New("a signal")
	for filter, want := range map[string]string{
		"def f: f; f":  "a signal",
		"[range(1e9)]": "the filter ", // took too much memory or, on a slow machine, too long
	} {
		query, err := gojq.Parse(filter)
		if err != nil {
			t.Fatal(err)
		}
		code, err := gojq.Compile(query)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancelCause(t.Context())
		if want == signal.Error() {
			time.AfterFunc(50*time.Millisecond, func() { stop(signal) })
		}
		began := time.Now()
		err = term.PrintQuery(ctx, io.Discard, code, map[string]int{"a": 1})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", filter, err, want)
		}
		if took := time.Since(began); want == signal.Error() && took > 5*time.Second {
			t.Errorf("%s: ended after %v", filter, took)
		}
		stop(nil)
	}
}
