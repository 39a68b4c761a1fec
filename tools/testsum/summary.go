package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// event is one line of go test -json; see "go doc test2json".
type event struct {
	Action      string
	Package     string
	ImportPath  string // for build-output, instead of Package
	Test        string
	Output      string
	Elapsed     float64 // seconds
	FailedBuild string  // the ImportPath whose build-output says why the package failed
}

type testID struct{ pkg, test string }

type skip struct {
	testID
	reason string
}

type summary struct {
	passed, failed int
	skips          []skip

	counts map[string]*counts // by package
	output map[testID][]string
	done   map[testID]bool // tests with a result; others are only in output
	builds map[string][]string
}

type counts struct{ passed, failed, skipped int }

func newSummary() *summary {
	return &summary{
		counts: map[string]*counts{},
		output: map[testID][]string{},
		done:   map[testID]bool{},
		builds: map[string][]string{},
	}
}

// add adds the results of another go test.
func (s *summary) add(other *summary) {
	s.passed += other.passed
	s.failed += other.failed
	s.skips = append(s.skips, other.skips...)
}

// read reads events until the end of r and writes the lines that a reader wants to see at once, each event's in one
// Write.
func (s *summary) read(r io.Reader, w io.Writer) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var said bytes.Buffer
			s.line(line, &said)
			_, _ = w.Write(said.Bytes())
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading go test -json: %w", err)
		}
	}
	for path := range s.builds { // from builds that did not fail, such as a linker's warning
		s.printBuild(path, w)
	}
	return nil
}

func (s *summary) line(line string, w io.Writer) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		fmt.Fprint(w, line) // not from go test: pass it on
		return
	}
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "output":
		s.output[id] = append(s.output[id], e.Output)
	case "build-output":
		s.builds[e.ImportPath] = append(s.builds[e.ImportPath], e.Output)
	case "run":
		s.output[id] = append(s.output[id], "")
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.packageDone(e, w)
		} else {
			s.testDone(id, e.Action, w)
		}
	}
}

func (s *summary) testDone(id testID, action string, w io.Writer) {
	c := s.of(id.pkg)
	s.done[id] = true
	switch action {
	case "pass":
		c.passed++
		s.passed++
		return // keep the output: it may be the only explanation of the package's failure
	case "fail":
		c.failed++
		s.failed++
		printOutput(w, s.output[id])
	case "skip":
		c.skipped++
		s.skips = append(s.skips, skip{id, skipReason(s.output[id])})
	}
	delete(s.output, id)
}

func (s *summary) packageDone(e event, w io.Writer) {
	c := s.of(e.Package)
	if e.Action == "fail" {
		s.explain(e, c, w)
	}
	switch {
	case e.Action == "fail":
		fmt.Fprintf(w, "FAIL  %s  %.1fs\n", e.Package, e.Elapsed)
	case c.passed+c.skipped == 0:
		fmt.Fprintf(w, "?     %s  [no tests]\n", e.Package)
	case c.skipped > 0:
		fmt.Fprintf(w, "ok    %s  %.1fs  %d passed, %d skipped\n", e.Package, e.Elapsed, c.passed, c.skipped)
	default:
		fmt.Fprintf(w, "ok    %s  %.1fs  %d passed\n", e.Package, e.Elapsed, c.passed)
	}
	for id := range s.output {
		if id.pkg == e.Package {
			delete(s.output, id)
		}
	}
}

// explain prints the output of a failed package besides its failed tests, and counts the tests that never ended (a
// panic, a timeout) as failed. It always counts at least one failure.
func (s *summary) explain(e event, c *counts, w io.Writer) {
	s.printBuild(e.FailedBuild, w)
	for _, id := range s.testsOf(e.Package) {
		if !s.done[id] {
			c.failed++
			s.failed++
			printOutput(w, s.output[id])
			fmt.Fprintf(w, "--- FAIL: %s (never ended)\n", id.test)
		}
	}
	if c.failed == 0 {
		c.failed++
		s.failed++
		for _, id := range s.testsOf(e.Package) { // a race report may be in the output of a passed test
			printOutput(w, trouble(s.output[id]))
		}
	}
	printOutput(w, s.output[testID{e.Package, ""}])
}

// testsOf returns the tests whose output is still held, in order.
func (s *summary) testsOf(pkg string) []testID {
	var ids []testID
	for id := range s.output {
		if id.pkg == pkg && id.test != "" {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b testID) int { return strings.Compare(a.test, b.test) })
	return ids
}

func (s *summary) of(pkg string) *counts {
	c := s.counts[pkg]
	if c == nil {
		c = &counts{}
		s.counts[pkg] = c
	}
	return c
}

func (s *summary) printBuild(path string, w io.Writer) {
	printOutput(w, s.builds[path])
	delete(s.builds, path)
}

// report writes the skips and the closing line, and reports whether all is well.
func (s *summary) report(w io.Writer, allow *allowList) bool {
	ok := s.failed == 0
	if len(s.skips) > 0 {
		fmt.Fprintln(w, "\nskipped:")
	}
	for _, k := range s.skips {
		mark := ""
		if allow != nil && !allow.match(k.reason) {
			mark = "  <- not allowed by " + allow.file
			ok = false
		}
		fmt.Fprintf(w, "  %s %s: %s%s\n", k.pkg, k.test, k.reason, mark)
	}
	if s.passed+s.failed == 0 {
		fmt.Fprintln(w, "not one test was run")
		ok = false
	}
	fmt.Fprintf(w, "\n%d passed, %d failed, %d skipped\n", s.passed, s.failed, len(s.skips))
	return ok
}

// printOutput writes the output without the marks for machines.
func printOutput(w io.Writer, output []string) {
	for _, line := range output {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(w, line)
		}
	}
}

// trouble returns output if it holds more than a passing test's own marks and logs.
func trouble(output []string) []string {
	all := strings.Join(output, "")
	if strings.Contains(all, "WARNING: DATA RACE") || strings.Contains(all, "panic: ") {
		return output
	}
	return nil
}

var logLine = regexp.MustCompile(`^ +[^ ]+\.go:\d+: (.*)`)

// skipReason returns, on one line, the last output of the test, which is its argument to t.Skip.
func skipReason(output []string) string {
	reason := ""
	for _, line := range output {
		if strings.HasPrefix(line, "=== ") || strings.HasPrefix(strings.TrimLeft(line, " "), "--- SKIP") {
			continue
		}
		if m := logLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			reason = m[1]
		} else if text := strings.TrimSpace(line); reason != "" && text != "" {
			reason += " " + text
		}
	}
	if reason == "" {
		return "no reason given"
	}
	return reason
}
