package doctor

import (
	"cmp"
	"fmt"
	"io"
	"slices"
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

// NewDocument returns the findings as a document, without the passwords in the URLs, and the largest code of a failure.
func NewDocument(urls []string, found []Finding) (doc Document, exit int) {
	doc = Document{Checks: []Finding{}, Worst: OK}
	for _, f := range found {
		f.Detail, f.brief, f.Advice = scrub(urls, f.Detail), scrub(urls, f.brief), scrub(urls, f.Advice)
		doc.Checks = append(doc.Checks, f)
		if f.Status == Fail || f.Status == Warn && doc.Worst == OK {
			doc.Worst = f.Status
		}
		exit = max(exit, f.Exit)
	}
	return doc, exit
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

const (
	margin  = 6 + 13 // status and check
	aGlance = 12     // lines of the screen when a check fails
)

// Shown says how much of a document a screen shows.
type Shown int

// The screens.
const (
	Usual Shown = iota // all checks; if one fails, the failures in at most a dozen lines
	Quiet              // the failures
	All                // all checks, whole
)

// Print prints the checks, failures first.
func (d Document) Print(w io.Writer, shown Shown) error {
	var lines []string
	switch {
	case shown == Quiet && d.Worst == OK:
		return nil
	case shown == Usual && d.Worst == Fail:
		lines = d.badDay(w)
	default:
		for _, c := range d.worstFirst() {
			if shown != Quiet || c.Status != OK {
				lines = append(lines, c.lines(w, strings.Split(cmp.Or(c.brief, c.Detail), "; "))...)
			}
		}
		lines = append(lines, d.tally())
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// badDay returns a headline and the failures, the worst first, as many as a glance takes. The first failure is always
// among it.
func (d Document) badDay(w io.Writer) []string {
	lines, left := []string{d.tally()}, len(d.Checks)
	for _, c := range d.worstFirst() {
		seen := strings.Split(cmp.Or(c.brief, c.Detail), "; ")
		more := c.lines(w, seen)
		if len(lines)+len(more) >= aGlance {
			more = c.lines(w, seen[:1])
		}
		if c.Status == OK || len(lines) > 1 && len(lines)+len(more) >= aGlance {
			break
		}
		lines, left = append(lines, more...), left-1
	}
	return append(lines, fmt.Sprintf("%s more: ingest doctor --all", term.Plural(left, "check")))
}

// worstFirst returns the checks, failures before warnings, and these before the others.
func (d Document) worstFirst() []Finding {
	rank := map[Status]int{Fail: 0, Warn: 1, OK: 2}
	return slices.SortedStableFunc(slices.Values(d.Checks),
		func(a, b Finding) int { return rank[a.Status] - rank[b.Status] })
}

func (d Document) tally() string {
	tally := map[Status]int{}
	for _, c := range d.Checks {
		tally[c.Status]++
	}
	return fmt.Sprintf("%d ok, %d warn, %d fail", tally[OK], tally[Warn], tally[Fail])
}

// lines returns the rows of a check on a screen: its finding, in parts, and the advice.
func (f Finding) lines(w io.Writer, seen []string) (lines []string) {
	head := term.PaintPad(w, string(f.Status), 6) + term.Pad(f.Check, 13)
	put := func(text, indent string) {
		for line := range strings.SplitSeq(term.Wrap(text, term.Screen-margin, indent), "\n") {
			lines = append(lines, head+line)
			head = strings.Repeat(" ", margin)
		}
	}
	for _, part := range seen {
		put(part, "  ")
	}
	if f.Advice != "" {
		put("-> "+f.Advice, "   ")
	}
	return lines
}
