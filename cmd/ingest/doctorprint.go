package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

type doctorDocument struct {
	Checks []doctor.Finding `json:"checks"`
	Worst  doctor.Status    `json:"worst"`
}

// printFindings prints what was found, and returns the failure that the exit code tells of: of several the one that
// keeps the others from being judged.
func printFindings(c *console, ledger string, found []doctor.Finding) error {
	doc := doctorDocument{Checks: []doctor.Finding{}, Worst: doctor.OK}
	class := doctor.NoFailure
	for _, f := range found {
		f.Detail, f.Advice = scrub(ledger, f.Detail), scrub(ledger, f.Advice)
		doc.Checks = append(doc.Checks, f)
		if f.Status == doctor.Fail || f.Status == doctor.Warn && doc.Worst == doctor.OK {
			doc.Worst = f.Status
		}
		class = max(class, f.Class)
	}
	var err error
	if c.json {
		err = c.printJSON(doc)
	} else {
		err = doc.print(c.stdout, c.quiet)
	}
	if err == nil && class != doctor.NoFailure {
		err = codeError{exitOf[class], nil} // it was said above
	}
	return err
}

const margin = 6 + 13 // status and check

// print shows a line a check, with quiet only those that are not well.
func (d doctorDocument) print(w io.Writer, quiet bool) error {
	tally := map[doctor.Status]int{}
	for _, c := range d.Checks {
		tally[c.Status]++
		if quiet && c.Status == doctor.OK {
			continue
		}
		head := term.Pad(string(c.Status), 6) + term.Pad(c.Check, 13)
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
	if quiet && d.Worst == doctor.OK {
		return nil
	}
	_, err := fmt.Fprintf(w, "%d ok, %d warn, %d fail\n", tally[doctor.OK], tally[doctor.Warn], tally[doctor.Fail])
	return err
}

// scrub makes a text fit for a terminal, and takes the ledger's passwords out of it, should a server have sent them
// back. The key is a Secret and is in none, unless a person has put it elsewhere.
func scrub(ledger, s string) string {
	if t, err := redisledger.Parse(ledger); err == nil {
		for _, secret := range []string{t.Password, t.SentinelPassword} {
			if secret != "" {
				s = strings.ReplaceAll(s, secret, "***")
			}
		}
	}
	return config.RedactKeys(term.Clean(s))
}
