package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/trendvidstream/ingest/internal/config"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest/quota/redisledger"
)

// status is how a check ended; "" is one that had nothing to look at.
type status string

const (
	statusOK   status = "ok"
	statusWarn status = "warn"
	statusFail status = "fail"
)

// finding is what a check found. Detail is what it looked at, its parts separated by "; "; advice is
// what to do next.
type finding struct {
	status         status
	detail, advice string
	code           int // exit code of a failure
}

// observation is a finding with the name of its check.
type observation struct {
	check string
	finding
}

func fine(format string, args ...any) finding {
	return finding{status: statusOK, detail: fmt.Sprintf(format, args...)}
}

func warn(detail, advice string) finding {
	return finding{status: statusWarn, detail: detail, advice: advice}
}

func fail(code int, detail, advice string) finding {
	return finding{status: statusFail, detail: detail, advice: advice, code: code}
}

// broken is a failure with the exit code that the error has everywhere else.
func broken(err error, advice string) finding { return fail(exitCode(err), err.Error(), advice) }

// noLine is a check that has nothing to look at.
var noLine = finding{}

type doctorDocument struct {
	Checks []doctorCheck `json:"checks"`
	Worst  status        `json:"worst"`
}

type doctorCheck struct {
	Check  string `json:"check"`
	Status status `json:"status"`
	Detail string `json:"detail"`
	Advice string `json:"advice"`
}

// printDiagnosis prints what was seen, and returns the failure that the exit code tells of: of several
// the one that keeps the others from being judged.
func (a *app) printDiagnosis(seen []observation) error {
	doc := doctorDocument{Checks: []doctorCheck{}, Worst: statusOK}
	code := exitOK
	for _, o := range seen {
		c := doctorCheck{o.check, o.status, a.scrub(o.detail), a.scrub(o.advice)}
		doc.Checks = append(doc.Checks, c)
		switch {
		case o.status == statusFail:
			doc.Worst, code = statusFail, firstClass(code, o.code)
		case o.status == statusWarn && doc.Worst == statusOK:
			doc.Worst = statusWarn
		}
	}
	var err error
	if a.json {
		err = a.printJSON(doc)
	} else {
		err = doc.print(a.stdout, a.quiet)
	}
	if err == nil && code != exitOK {
		err = codeError{code, nil} // it was said above
	}
	return err
}

// firstClass is the code that goes first: config, key, ledger, the rest.
func firstClass(a, b int) int {
	for _, code := range []int{exitConfig, exitKey, exitUnavailable, exitError} {
		if a == code || b == code {
			return code
		}
	}
	return exitError
}

const margin = 6 + 13 // status and check

// print shows a line a check, with quiet only those that are not well.
func (d doctorDocument) print(w io.Writer, quiet bool) error {
	tally := map[status]int{}
	for _, c := range d.Checks {
		tally[c.Status]++
		if quiet && c.Status == statusOK {
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
	if quiet && d.Worst == statusOK {
		return nil
	}
	_, err := fmt.Fprintf(w, "%d ok, %d warn, %d fail\n", tally[statusOK], tally[statusWarn], tally[statusFail])
	return err
}

// scrub makes a text fit for a terminal, and takes the ledger's passwords out of it, should a server
// have sent them back. The key is a Secret and is in none, unless a person has put it elsewhere.
func (a *app) scrub(s string) string {
	if t, err := redisledger.Parse(a.cfg.Ledger); err == nil {
		for _, secret := range []string{t.Password, t.SentinelPassword} {
			if secret != "" {
				s = strings.ReplaceAll(s, secret, "***")
			}
		}
	}
	return config.RedactKeys(term.Clean(s))
}
