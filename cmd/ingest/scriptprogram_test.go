package main_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	program "github.com/trendvidstream/ingest/cmd/ingest"
)

// TestMain is the program where it has the program's name: see self.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "ingest" {
		os.Exit(program.Run(os.Args[1:], os.Stdout, os.Stderr, failpoint()))
	}
	testscript.Main(withProgram{m}, map[string]func(){"curl": curl})
}

// withProgram puts the program beside curl, which testscript puts on the path. As a command of testscript's it could not
// be a function: see ingestHere.
type withProgram struct{ *testing.M }

func (m withProgram) Run() int {
	curl, err := exec.LookPath("curl")
	if err != nil {
		panic(err)
	}
	tests, err := os.Executable()
	if err == nil {
		err = os.Symlink(tests, filepath.Join(filepath.Dir(curl), "ingest"))
	}
	if err != nil {
		panic(err)
	}
	return runParts(m.M)
}

// ingestHere is the program in a script, without a process of its own, which would cost more than most commands do. A
// script that needs one runs it by exec ingest: a signal, a terminal, a standard input, others beside it.
func ingestHere(ts *testscript.TestScript, neg bool, args []string) {
	if code := runHere(ts, args); (code != exitOK) != neg {
		ts.Fatalf("ingest %s: exit %d, want %v", strings.Join(args, " "), code, neg)
	}
}

// here is the directory of the tests, for helpers that must find it while the process is in another script's
// directory: with runHere, only one script at a time has the parts that a process has once.
var (
	here, _   = os.Getwd()
	ofProcess sync.Mutex
)

// runHere runs the program in the directory and with the variables of the script.
func runHere(ts *testscript.TestScript, args []string) (code int) {
	return runInto(ts, ts.Stdout(), args)
}

// runInto is runHere with its output elsewhere: a script sees the output of a command once that has ended.
func runInto(ts *testscript.TestScript, out io.Writer, args []string) (code int) {
	errs, dir := ts.Stderr(), ts.MkAbs(".")
	ofProcess.Lock()
	defer ofProcess.Unlock()
	before := os.Environ()
	defer func() { setEnviron(before) }()
	var own []string
	for _, name := range scriptVariables() {
		own = append(own, name+"="+ts.Getenv(name))
	}
	setEnviron(own)
	ts.Check(os.Chdir(dir))
	defer func() { ts.Check(os.Chdir(here)) }()
	return program.Run(args, out, errs, nil)
}

// setEnviron makes these the variables that are set and not empty. Each that stays is there at every moment: other
// scripts begin by looking at some. It asks for none by name: go would run the tests again when such a variable, such as
// the shell's OLDPWD, changes.
func setEnviron(all []string) {
	is, want := variables(os.Environ()), variables(all)
	for name := range is {
		if want[name] == "" {
			_ = os.Unsetenv(name)
		}
	}
	for name, value := range want {
		if value != "" && is[name] != value {
			_ = os.Setenv(name, value)
		}
	}
}

func variables(all []string) map[string]string {
	values := map[string]string{}
	for _, v := range all {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	return values
}

// scriptVariables are the variables that scripts have and set. A script's own cannot be listed.
var scriptVariables = sync.OnceValue(func() []string {
	names := []string{"HOME", "PATH", "TMPDIR", "INGEST_DATA"}
	files, _ := filepath.Glob(filepath.Join(here, "testdata", "*", "*.txtar"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		for _, set := range regexp.MustCompile(`(?m)^env (\w+)=`).FindAllStringSubmatch(string(text), -1) {
			names = append(names, set[1])
		}
	}
	return names
})
