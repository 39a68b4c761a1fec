package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/trendvidstream/ingest/internal/term"
)

// BackupDocument is a backup that was made.
type BackupDocument struct {
	File       string `json:"file"`
	Bytes      int64  `json:"bytes"`
	Videos     int64  `json:"videos"`
	Placements int64  `json:"placements"`
	Slots      int64  `json:"slots"`
}

// Print says it in a line.
func (d BackupDocument) Print(w io.Writer) error {
	text := fmt.Sprintf("%s: %s, %s, %s, %s; examined, and sound", d.File, term.Plural(int(d.Videos), "video"),
		term.Plural(int(d.Placements), "placement"), term.Plural(int(d.Slots), "slot"), term.Bytes(d.Bytes))
	_, err := fmt.Fprintln(w, term.Wrap(text, term.Screen, "  "))
	return err
}

// ExpiredDocument lists the backups that were too old, deleted or not.
type ExpiredDocument struct {
	Deleted []string `json:"deleted"`
	Days    int      `json:"days"` // older than that
}

// Print lists the deleted backups.
func (d ExpiredDocument) Print(w io.Writer) error {
	text := term.Plural(len(d.Deleted), "backup") + fmt.Sprintf(" older than %d days deleted", d.Days)
	if len(d.Deleted) > 0 {
		text += ": " + strings.Join(d.Deleted, ", ")
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
