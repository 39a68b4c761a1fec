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

// A filter that never ends is ended by a signal at once, in one line.
func TestAFilterThatNeverEndsIsEndedByASignal(t *testing.T) {
	query, err := gojq.Parse("def f: f; f")
	if err != nil {
		t.Fatal(err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	time.AfterFunc(50*time.Millisecond, func() { stop(errors.New("a signal")) })
	began := time.Now()
	err = term.PrintQuery(ctx, io.Discard, code, map[string]int{"a": 1})
	if err == nil || !strings.Contains(err.Error(), "a signal") || strings.Contains(err.Error(), "\n") {
		t.Errorf("it ended with %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it ended after %v", took)
	}
}
