package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/trendvidstream/ingest/internal/term"
)

// Document is all that was found, as ingest doctor prints it.
type Document struct {
	Checks []Finding `json:"checks"`
	Worst  Status    `json:"worst"`
}

const margin = 6 + 13 // status and check

// Print shows a line a check, with quiet only those that are not well.
func (d Document) Print(w io.Writer, quiet bool) error {
	tally := map[Status]int{}
	for _, c := range d.Checks {
		tally[c.Status]++
		if quiet && c.Status == OK {
			continue
		}
		head := term.PaintPad(w, string(c.Status), 6) + term.Pad(c.Check, 13)
		put := func(text, indent string) {
			for line := range strings.SplitSeq(term.Wrap(text, term.Screen-margin, indent), "\n") {
				fmt.Fprintf(w, "%s%s\n", head, line)
				head = strings.Repeat(" ", margin)
			}
		}
		for part := range strings.SplitSeq(c.Detail, "; ") {
			put(part, "  ")
		}
		if c.Advice != "" {
			put("-> "+c.Advice, "   ")
		}
	}
	if quiet && d.Worst == OK {
		return nil
	}
	_, err := fmt.Fprintf(w, "%d ok, %d warn, %d fail\n", tally[OK], tally[Warn], tally[Fail])
	return err
}
