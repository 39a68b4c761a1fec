package doctor

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota/pgledger"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

// Document is all that was found, as ingest doctor prints it.
type Document struct {
	Checks []Finding `json:"checks"`
	Worst  Status    `json:"worst"`
}

// NewDocument returns the findings as a document, without the passwords in the URLs, and the largest class of failure.
func NewDocument(urls []string, found []Finding) (doc Document, class Class) {
	doc = Document{Checks: []Finding{}, Worst: OK}
	for _, f := range found {
		f.Detail, f.brief, f.Advice = scrub(urls, f.Detail), scrub(urls, f.brief), scrub(urls, f.Advice)
		doc.Checks = append(doc.Checks, f)
		if f.Status == Fail || f.Status == Warn && doc.Worst == OK {
			doc.Worst = f.Status
		}
		class = max(class, f.Class)
	}
	return doc, class
}

// scrub makes a text fit for a terminal, and removes the passwords of the ledger and the store in case a server has
// sent them back. The key is a Secret and is in no text, unless someone has put it elsewhere.
func scrub(urls []string, s string) string {
	var secrets []string
	for _, url := range urls {
		if t, err := redisledger.Parse(url); err == nil {
			secrets = append(secrets, t.Password, t.SentinelPassword)
		} else if t, err := pgledger.Parse(url); err == nil {
			secrets = append(secrets, t.ConnConfig.Password)
		}
	}
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "***")
		}
	}
	return config.RedactKeys(term.Clean(s))
}

const margin = 6 + 13 // status and check

// Print prints the checks; if quiet, only those that are not ok.
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
		for part := range strings.SplitSeq(cmp.Or(c.brief, c.Detail), "; ") {
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
