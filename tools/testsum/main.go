// Command testsum runs go test and says what came of it: a line per package, failures in full, every
// skip with its reason, and last, alone on a line, "N passed, N failed, N skipped".
//
//	testsum [-allow FILE] -- [go test arguments] [-- go test arguments]...
//
// Several lists of arguments, each after a "--", are as many go tests that run side by side, and have one
// summary. No package may be in two of them.
//
// Tests and subtests are each counted, as "go test -v" prints them. A package that fails without a
// failing test (it does not build, its TestMain says no) counts as one failure.
//
// With -allow, a skip whose reason matches no line of FILE is a failure too. A line of FILE is a name
// and a regular expression: "docker ^docker: ".
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

// goTests runs a go test for each list of arguments, side by side. The error is one that the summary does not
// explain: a go test could not be run, or failed although nothing in its output had.
func goTests(args []string, stdout, stderr io.Writer) (*summary, error) {
	// An interrupt goes to go test as well, which then ends; what it still says is worth reading.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)

	var lists [][]string
	for more := true; more; {
		end := slices.Index(args, "--")
		if more = end >= 0; !more {
			end = len(args)
		}
		lists = append(lists, args[:end])
		args = args[min(end+1, len(args)):]
	}
	sum := newSummary()
	errs := make([]error, len(lists))
	var all sync.WaitGroup
	for i, list := range lists {
		all.Go(func() { errs[i] = goTest(sum, list, stdout, stderr) })
	}
	all.Wait()
	sum.printBuilds(stdout)
	return sum, errors.Join(errs...)
}

// goTest runs go test -json and reads its events as they come.
func goTest(sum *summary, args []string, stdout, stderr io.Writer) error {
	cmd := exec.CommandContext(context.Background(), "go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("running go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("running go test: %w", err)
	}
	failed, readErr := sum.read(events, stdout)
	_, _ = io.Copy(io.Discard, events) // a reader that gave up must not block go test
	waitErr := cmd.Wait()
	if failed {
		waitErr = nil // told already
	}
	return errors.Join(readErr, waitErr)
}
