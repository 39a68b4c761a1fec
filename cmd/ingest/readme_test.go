package main_test

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// freePort sets $PORT to a port without a listener.
func freePort(ts *testscript.TestScript, _ bool, _ []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	ts.Check(l.Close())
	ts.Setenv("PORT", port)
}

// readmeScript pastes the shell blocks of a section of a document into a shell that stops at the first failing command:
// readme FILE SECTION [OLD=>NEW...]. OLD must occur: ports and places that a test cannot have.
func readmeScript(ts *testscript.TestScript, neg bool, args []string) {
	blocks := blocksOf(ts, neg, args)
	// Processes that a block leaves in the background end with the shell.
	ts.Check(ts.Exec("sh", "-e", "-c", "trap '[ -z \"$!\" ] || { kill $!; wait; }' EXIT\n"+blocks))
}

// answersScript asks the questions of a document's table: answers FILE [sampled]. Each is answered, in at most eight
// lines; sampled: as in the table's third column, where … is any text, except for the digits.
func answersScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: answers FILE [sampled]")
	}
	text, err := os.ReadFile(filepath.Join(here, "../..", args[0]))
	ts.Check(err)
	asked := questionsIn(string(text))
	for _, q := range asked {
		ts.Check(ts.Exec("sh", "-c", q.command))
		out := ts.ReadFile("stdout")
		if out == "" {
			out = ts.ReadFile("stderr")
		}
		if n := strings.Count(out, "\n"); n < 1 || n > 8 {
			ts.Fatalf("%s is answered in %d lines, want at least 1 and at most 8", q.text, n)
		}
		begins, ends, _ := strings.Cut(shape(q.sample), "…")
		_, after, found := strings.Cut(shape(out), begins)
		if len(args) > 1 && (!found || !strings.Contains(after, ends)) {
			ts.Fatalf("%s is answered with\n%s\nand %s gives %q", q.text, out, args[0], q.sample)
		}
	}
	if len(asked) != 10 {
		ts.Fatalf("%d questions, want 10", len(asked))
	}
}

// question is a row of README's table.
type question struct{ text, command, sample string }

var questionRow = regexp.MustCompile("(?m)^\\| ([^|]+) \\| `(ingest (?:[^|]|\\\\\\|)+)` \\| `([^|]+)` \\|$")

func questionsIn(text string) (all []question) {
	for _, m := range questionRow.FindAllStringSubmatch(text, -1) {
		all = append(all, question{m[1], strings.ReplaceAll(m[2], `\|`, "|"), m[3]})
	}
	return all
}

// shape replaces the digits of a text, and its spaces by single ones.
func shape(text string) string {
	return regexp.MustCompile(`[0-9]`).ReplaceAllString(strings.Join(strings.Fields(text), " "), "0")
}

// blocksOf returns the commands of a section.
func blocksOf(ts *testscript.TestScript, neg bool, args []string) string {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: readme FILE SECTION [OLD=>NEW...]")
	}
	text, err := os.ReadFile(filepath.Join(here, "../..", args[0]))
	ts.Check(err)
	_, section, found := strings.Cut("\n"+string(text), "\n## "+args[1]+"\n")
	if !found {
		ts.Fatalf("%s has no section %q", args[0], args[1])
	}
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := ""
	for i, part := range strings.Split(section, "```sh\n") {
		if block, _, ok := strings.Cut(part, "```"); ok && i > 0 {
			blocks += block
		}
	}
	for _, replace := range args[2:] {
		old, with, _ := strings.Cut(replace, "=>")
		if !strings.Contains(blocks, old) {
			ts.Fatalf("no block of %q has %q", args[1], old)
		}
		blocks = strings.ReplaceAll(blocks, old, with)
	}
	return blocks
}
