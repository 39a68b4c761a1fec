package report

import (
	"fmt"
	"io"
	"time"

	"github.com/trendvidstream/ingest/internal/term"
)

// Copied is the result of copying a store: every row of the copy was read again and is as the source has it.
type Copied struct {
	From          string        `json:"from"`
	To            string        `json:"to"`
	Outcome       string        `json:"outcome"`        // copied, or there: everything was there already, and nothing was written
	At            time.Time     `json:"at"`             // when the source was copied
	SourceWritten bool          `json:"source_written"` // during the copy, which lacks what was written then
	RowsChanged   int           `json:"rows_changed"`   // in which a text had bytes that the target cannot keep
	Rows          int           `json:"rows"`
	Tables        []CopiedTable `json:"tables"`
}

// CopiedTable is one table of a copy.
type CopiedTable struct {
	Table string `json:"table"`
	Rows  int    `json:"rows"`
	Hash  string `json:"hash"` // of all rows, the same in both stores
}

// Print writes the result for a person.
func (c Copied) Print(w io.Writer) error {
	did := map[string]string{"copied": "copied", "there": "there already"}[c.Outcome]
	text := fmt.Sprintf("%s to %s: %s, %s in %s, as of %s; each table was read again, and is the same",
		c.From, c.To, did, term.Thousands(int64(c.Rows))+" rows", term.Plural(len(c.Tables), "table"), term.Stamp(c.At))
	if c.RowsChanged > 0 {
		text += fmt.Sprintf("; in %s a text had bytes that are not kept there, as 0 is not", term.Plural(c.RowsChanged, "row"))
	}
	_, err := fmt.Fprintln(w, term.Wrap(text, term.Screen, "  "))
	return err
}
