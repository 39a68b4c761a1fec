package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// TakeDocument is one decision of the ledger, as ingest quota take prints it.
type TakeDocument struct {
	Allowed      bool             `json:"allowed"`
	Method       string           `json:"method"`
	Purpose      quota.Purpose    `json:"purpose"`
	Charges      map[string]int64 `json:"charges"`   // the call's cost
	Remaining    map[string]int64 `json:"remaining"` // for this purpose
	RetryAfterMS int64            `json:"retry_after_ms"`
	RetryAt      *time.Time       `json:"retry_at"` // after a refusal: when the same call will be admitted
	RefusedBy    *quota.Refusal   `json:"refused_by"`
	Degraded     bool             `json:"degraded"`
}

// NewTakeDocument returns the document of a decision on a call of that cost.
func NewTakeDocument(d quota.Decision, cost quota.Cost) TakeDocument {
	doc := TakeDocument{
		Allowed: d.Allowed, Method: d.Who.Method, Purpose: d.Who.Purpose, Charges: cost,
		Remaining: map[string]int64{}, RetryAfterMS: d.RetryAfter.Milliseconds(), RefusedBy: d.Refusal, Degraded: d.Degraded,
	}
	for _, p := range d.Pools {
		if !d.Degraded { // otherwise the rest is not known
			doc.Remaining[p.Pool] = p.Remaining
		}
	}
	if d.Refusal != nil {
		doc.RetryAt = term.FromOrNull(d.RetryAt)
	}
	return doc
}

// BackupDocument describes a backup that was made, as ingest backup prints it.
type BackupDocument struct{ ingest.Backup }

// Print prints it in one line.
func (d BackupDocument) Print(w io.Writer) {
	text := fmt.Sprintf("%s: %s, %s, %s, %s; examined, and sound", d.Path, term.Plural(int(d.Videos), "video"),
		term.Plural(int(d.Placements), "placement"), term.Plural(int(d.Slots), "slot"), term.Bytes(d.Bytes))
	term.Paragraph(w, text)
}

// ExpiredDocument lists the backups that were too old, deleted or not, as ingest backup --expire prints it.
type ExpiredDocument struct {
	Deleted []string `json:"deleted"`
	Days    int      `json:"days"` // their greatest age
}

// Print lists the deleted backups.
func (d ExpiredDocument) Print(w io.Writer) {
	text := term.Plural(len(d.Deleted), "backup") + fmt.Sprintf(" older than %d days deleted", d.Days)
	if len(d.Deleted) > 0 {
		text += ": " + strings.Join(d.Deleted, ", ")
	}
	fmt.Fprintln(w, text)
}

// Copied is the result of copying a store. Every row of the copy was read again and matches the source.
type Copied struct {
	From string `json:"from"`
	To   string `json:"to"`
	// copied, or there: everything was there already, and nothing was written
	Outcome       string               `json:"outcome"`
	At            time.Time            `json:"at"`             // when the source was copied
	SourceWritten bool                 `json:"source_written"` // during the copy, which lacks the writes made then
	RowsChanged   int                  `json:"rows_changed"`   // rows with a text whose bytes the target cannot store
	Rows          int                  `json:"rows"`
	Tables        []ingest.CopiedTable `json:"tables"`
}

// Print writes the result for a person.
func (c Copied) Print(w io.Writer) {
	did := map[string]string{"copied": "copied", "there": "there already"}[c.Outcome]
	text := fmt.Sprintf("%s to %s: %s, %s in %s, as of %s; each table was read again, and is the same",
		c.From, c.To, did, term.Plural(c.Rows, "row"), term.Plural(len(c.Tables), "table"), term.Stamp(c.At))
	if c.RowsChanged > 0 {
		text += fmt.Sprintf("; in %s a text had bytes that cannot be stored there, such as 0",
			term.Plural(c.RowsChanged, "row"))
	}
	term.Paragraph(w, text)
}

// VersionDocument identifies the program, as ingest version prints it.
type VersionDocument struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// Print prints it in one line.
func (d VersionDocument) Print(w io.Writer) {
	fmt.Fprintf(w, "ingest %s (%s, %s/%s)\n", d.Version, d.Go, d.OS, d.Arch)
}
