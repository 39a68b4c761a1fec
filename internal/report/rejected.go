package report

import (
	"fmt"

	"github.com/trendvidstream/ingest/internal/ownfile"
	"github.com/trendvidstream/ingest/internal/term"
)

// RejectedLine is a rejected line of a list of ids. Its text is safe for a terminal.
type RejectedLine struct {
	Line int    `json:"line"`
	Text string `json:"text"`
	Why  string `json:"why"`
}

// RejectedLines writes the rejected lines of a list of ids to a file, each with its number and the reason, and shows
// the first few.
type RejectedLines struct {
	Path  string // "": there is no file
	Say   func(format string, args ...any)
	First []RejectedLine

	file  *ownfile.Draft
	count int
}

// saidLines is how many of the rejected lines are shown.
const saidLines = 5

// Add adds a line. It shows the first few even if the file cannot be written.
func (r *RejectedLines) Add(line int, text, why string) (err error) {
	if r.count++; r.count <= saidLines {
		shown := RejectedLine{Line: line, Text: term.Fit(text, 40), Why: why}
		r.First = append(r.First, shown)
		r.Say("ingest: line %d is left out: %s: %s", shown.Line, shown.Text, shown.Why)
	}
	if r.Path == "" {
		return nil
	}
	if r.file == nil {
		if r.file, err = ownfile.Create(r.Path); err != nil {
			r.Say("ingest: cannot write the list of the lines left out: %v", err)
			r.Path = ""
			return nil
		}
	}
	_, err = fmt.Fprintf(r.file, "# line %d: %s\n%s\n", line, why, text)
	return err
}

// Close closes the file and says where it is.
func (r *RejectedLines) Close() error {
	switch {
	case r.file != nil:
		r.Say("ingest: %s left out: %s lists them", term.Plural(r.count, "line"), r.Path)
		return r.file.Replace()
	case r.count > saidLines:
		r.Say("ingest: and %s more such lines", term.Thousands(int64(r.count-saidLines)))
	}
	return nil
}

// Where says how many lines were rejected, and which file lists them.
func (r *RejectedLines) Where() string {
	text := term.Plural(r.count, "line") + " left out"
	if r.Path != "" {
		text += ": " + r.Path + " lists them"
	}
	return text
}
