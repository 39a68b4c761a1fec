// Command testsum runs go test and summarizes it: a line per package, failures in full, every skip with its reason, and
// last, alone on a line, "N passed, N failed, N skipped".
//
//	testsum [-allow FILE] -- [go test arguments] [-- go test arguments]...
//
// More than one go test run at once, and are summed up as one: a package whose tests mostly wait for each other has its
// own, or two, beside all else.
//
// Tests and subtests are each counted, as "go test -v" prints them. A package that fails without a failing test (it
// does not build, or its TestMain fails) counts as one failure.
//
// With -allow, a skip whose reason matches no line of FILE is a failure too. A line of FILE is a name and a regular
// expression: "docker ^docker: ".
//
// Exit: 0 all passed; 1 a failure, a skip that is not allowed, or not one test run; 2 usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("testsum", flag.ContinueOnError)
	flags.SetOutput(stderr)
	allowFile := flags.String("allow", "", "fail on a skip whose reason matches no line of this `FILE`")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	var allow *allowList
	if *allowFile != "" {
		var err error
		if allow, err = readAllowList(*allowFile); err != nil {
			fmt.Fprintf(stderr, "testsum: %v\n", err)
			return 2
		}
	}
	sum, err := goTests(flags.Args(), stdout, stderr)
	ok := sum.report(stdout, allow)
	if err != nil {
		fmt.Fprintf(stderr, "testsum: %v\n", err)
		return 1
	}
	if !ok {
		return 1
	}
	return 0
}

// goTests runs a go test for each of the lists of arguments that "--" separates, all at once, and adds them up.
func goTests(args []string, stdout, stderr io.Writer) (*summary, error) {
	var runs sync.WaitGroup
	var lists [][]string
	for rest, more := args, true; more; {
		var list []string
		list, rest, more = cutArgs(rest)
		lists = append(lists, list)
	}
	sums, errs := make([]*summary, len(lists)), make([]error, len(lists))
	stdout, stderr = &lockedWriter{w: stdout}, &lockedWriter{w: stderr}
	for i, list := range lists {
		runs.Go(func() { sums[i], errs[i] = goTest(list, stdout, stderr) })
	}
	runs.Wait()
	all := newSummary()
	for _, sum := range sums {
		all.add(sum)
	}
	return all, errors.Join(errs...)
}

// cutArgs is strings.Cut for arguments, at the first "--".
func cutArgs(args []string) (before, after []string, found bool) {
	i := slices.Index(args, "--")
	if i < 0 {
		return args, nil, false
	}
	return args[:i], args[i+1:], true
}

// lockedWriter keeps each write's bytes together.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// goTest runs go test -json and reads its events as they come. It returns only errors that the summary does not
// explain: go test could not be run, or failed without a failure in its output.
func goTest(args []string, stdout, stderr io.Writer) (*summary, error) {
	// An interrupt also reaches go test, which then ends; its remaining output is worth reading.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)

	cmd := exec.CommandContext(context.Background(), "go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = stderr
	sum := newSummary()
	events, err := cmd.StdoutPipe()
	if err != nil {
		return sum, fmt.Errorf("running go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return sum, fmt.Errorf("running go test: %w", err)
	}
	readErr := sum.read(events, stdout)
	_, _ = io.Copy(io.Discard, events) // a reader that gave up must not block go test
	waitErr := cmd.Wait()
	if sum.failed > 0 {
		waitErr = nil // reported already
	}
	return sum, errors.Join(readErr, waitErr)
}
