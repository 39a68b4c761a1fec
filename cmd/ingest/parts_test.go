package main_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// parts divide the tests into parts that take about as long as each other: the tests to run, and those to leave out.
var parts = [][2]string{{"^TestScripts$", ""}, {"^Test[A-M]", ""}, {"", "^Test[A-M]|^TestScripts$"}}

// runParts runs all tests of the package in a process for each part, since most tests change the state of their
// process, such as its variables: within a process they run one after the other, and mostly wait. With any flag that
// names tests or measures them, this process runs them itself.
func runParts(m *testing.M) int {
	flag.Parse()
	whole := true
	flag.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "test.paniconexit0", "test.testlogfile", "test.timeout", "test.skip", "test.v", "test.parallel", "test.shuffle", "test.short":
		default:
			whole = false
		}
	})
	if !whole {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "parts")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	outputs, errs := make([]bytes.Buffer, len(parts)), make([]error, len(parts))
	var running sync.WaitGroup
	for i, part := range parts {
		running.Go(func() {
			skip := strings.Trim(flag.Lookup("test.skip").Value.String()+"|"+part[1], "|")
			cmd := exec.Command(os.Args[0], append(os.Args[1:], "-test.run="+part[0], "-test.skip="+skip, "-test.testlogfile="+partLog(dir, i))...)
			cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
			errs[i] = cmd.Run()
		})
	}
	running.Wait()
	code := 0
	for i := range parts {
		_, _ = os.Stdout.Write(outputs[i].Bytes())
		if errs[i] != nil {
			code = failed(errs[i])
		}
	}
	if err := joinLogs(flag.Lookup("test.testlogfile").Value.String(), dir); err != nil {
		return failed(err)
	}
	return code
}

func partLog(dir string, part int) string { return filepath.Join(dir, strconv.Itoa(part)) }

// joinLogs writes to a file the files and variables that the parts have read, which go compares before it takes the
// result from its cache.
func joinLogs(file, dir string) error {
	if file == "" {
		return nil
	}
	const heading = "# test log\n"
	all := bytes.NewBufferString(heading)
	for i := range parts {
		log, err := os.ReadFile(partLog(dir, i))
		if err != nil {
			return err
		}
		fmt.Fprintf(all, "chdir %s\n%s", here, bytes.TrimPrefix(log, []byte(heading)))
	}
	return os.WriteFile(file, all.Bytes(), 0o600)
}

// failed prints why a part of the tests failed, and returns the exit code.
func failed(err error) int {
	fmt.Fprintln(os.Stderr, "parts:", err)
	return 1
}
