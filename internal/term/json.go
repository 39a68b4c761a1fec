package term

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/metrics"
	"time"

	"github.com/itchyny/gojq"
)

// PrintJSON writes a document as one line of JSON that is safe for a terminal.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(JSONEscaper{Writer: w})
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Bounds of a jq filter, since it may never end.
const (
	queryTime   = 10 * time.Second
	queryMemory = 512 << 20 // bytes that the program may grow by
	queryCheck  = 5 * time.Millisecond
)

var (
	errQueryTime   = fmt.Errorf("the filter did not end within %v", queryTime)
	errQueryMemory = fmt.Errorf("the filter took more than %d MiB of memory", queryMemory>>20)
)

// PrintQuery writes the results of a jq filter on a document, one per line: strings as cleaned text, everything else as
// JSON. Whole numbers of the document keep all their digits. A filter that takes too long or too much memory is ended.
func PrintQuery(ctx context.Context, w io.Writer, query *gojq.Code, v any) error {
	var text bytes.Buffer
	if err := PrintJSON(&text, v); err != nil {
		return err
	}
	d := json.NewDecoder(&text)
	d.UseNumber()
	var doc any
	if err := d.Decode(&doc); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go boundQuery(ctx, cancel)
	for results := query.RunWithContext(ctx, doc); ; {
		result, more := results.Next()
		if !more {
			return nil
		}
		var err error
		switch r := result.(type) {
		case error:
			if cause := context.Cause(ctx); cause != nil {
				r = cause
			}
			return fmt.Errorf("--jq: %w", r)
		case string:
			_, err = fmt.Fprintln(w, Clean(r))
		default:
			err = PrintJSON(w, r)
		}
		if err != nil {
			return err
		}
	}
}

// boundQuery ends a filter that exceeds the bounds. It returns when ctx is done.
func boundQuery(ctx context.Context, end context.CancelCauseFunc) {
	heap := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before, late, check := heap(), time.NewTimer(queryTime), time.NewTicker(queryCheck)
	defer late.Stop()
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-late.C:
			end(errQueryTime)
		case <-check.C:
			if heap() > before+queryMemory {
				end(errQueryMemory)
			}
		}
	}
}
