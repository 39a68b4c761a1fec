package term

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/itchyny/gojq"
)

// PrintJSON writes a document as one line of JSON that is safe for a terminal.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(JSONEscaper{Writer: w})
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// PrintQuery writes the results of a jq filter on a document, one a line: text cleaned, all else as JSON. Whole
// numbers of the document keep all their digits. A filter that never ends goes on until ctx is done.
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
