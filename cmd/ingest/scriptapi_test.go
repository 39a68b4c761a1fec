package main_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// serving has each script's newest serve, as a function that stops it.
var serving sync.Map

// serveScript starts ingest serve with the arguments in the background, in place of the one before, and sets $API to its
// URL. It is stopped with SIGTERM.
func serveScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("serve cannot be negated")
	}
	if stop, ok := serving.Load(ts); ok {
		stop.(func())()
	}
	cmd := exec.Command(lookPath(ts, "ingest"), append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "INGEST_DATA", "INGEST_NOW", "INGEST_UPSTREAM_URL", "WATCHDOG_USEC"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	stop := sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	serving.Store(ts, stop)
	ts.Defer(stop)
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if m := listens.FindStringSubmatch(lines.Text()); m != nil {
			ts.Setenv("API", strings.TrimSuffix(m[1], "/"))
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return
		}
		fmt.Fprintln(&said, lines.Text())
	}
	ts.Fatalf("serve ended:\n%s", said.String())
}

// curl is as much of curl as the documents use: -s, -i, -H and a URL.
func curl() {
	r, err := http.NewRequest(http.MethodGet, os.Args[len(os.Args)-1], nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	head := false
	for i, arg := range os.Args[1 : len(os.Args)-1] {
		switch {
		case arg == "-H":
			name, value, _ := strings.Cut(os.Args[i+2], ": ")
			if r.Header.Set(name, value); name == "Host" {
				r.Host = value
			}
		case arg[0] == '-':
			head = head || strings.Contains(arg, "i")
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(7)
	}
	defer func() { _ = resp.Body.Close() }()
	if head {
		fmt.Println(resp.Proto, resp.Status)
		_ = resp.Header.Write(os.Stdout)
		fmt.Println()
	}
	_, _ = io.Copy(os.Stdout, resp.Body)
}
