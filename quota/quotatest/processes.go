package quotatest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// environment carries a Load to a worker process.
const environment = "QUOTATEST_WORKER"

// Load is the work of each of several processes on one store.
type Load struct {
	Address string // of the Store
	Account string
	Limit   int64         // over 24 hours
	Amount  int64         // of each take
	For     time.Duration // how long to go on, also after a refusal; 0: until the first
	Report  bool          // report every charged take before the next; see Process.Took
}

// Work counts one process's work.
type Work struct {
	Admitted int64 // units
	Takes    int
	Errors   int
	Error    string // the first
	P99      time.Duration
	Longest  time.Duration
}

// Worker turns the test binary into one of the processes that Processes starts, if it was started for that: it then
// does not return. A backend with an Address calls it first in TestMain.
func Worker(open func(ctx context.Context, address string) (quota.Ledger, error)) {
	text := os.Getenv(environment)
	if text == "" {
		return
	}
	if err := work(text, open, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func work(text string, open func(context.Context, string) (quota.Ledger, error), stdin io.Reader,
	stdout io.Writer) error {
	var load Load
	if err := json.Unmarshal([]byte(text), &load); err != nil {
		return fmt.Errorf("read the load: %w", err)
	}
	ctx := context.Background()
	ledger, err := open(ctx, load.Address)
	if err != nil {
		return fmt.Errorf("open the ledger: %w", err)
	}
	if _, err := fmt.Fprintln(stdout, "ready"); err != nil {
		return fmt.Errorf("say ready: %w", err)
	}
	if _, err := bufio.NewReader(stdin).ReadString('\n'); err != nil {
		return fmt.Errorf("wait for the start: %w", err)
	}
	done := load.run(ctx, ledger, stdout)
	if err := ledger.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return json.NewEncoder(stdout).Encode(done)
}

func (load Load) run(ctx context.Context, ledger quota.Ledger, report io.Writer) Work {
	var done Work
	var waits []time.Duration
	bound := per(24*time.Hour, load.Limit)
	for began := time.Now(); load.For == 0 || time.Since(began) < load.For; {
		now := time.Now()
		d, err := ledger.Take(ctx, quota.Ask{Account: load.Account, Horizon: quota.MinHorizon, Now: now,
			Who: quota.Who{Purpose: quota.Manual}, Charges: []quota.Charge{charge("units", load.Amount, bound)}})
		waits = append(waits, time.Since(now))
		done.Takes++
		if err != nil {
			if done.Errors++; done.Errors == 1 {
				done.Error = err.Error()
			}
			if load.For == 0 {
				break
			}
			continue
		}
		if !d.Allowed && load.For == 0 {
			break
		}
		if d.Allowed {
			done.Admitted += load.Amount
			if load.Report {
				_, _ = fmt.Fprintln(report, "took") // the parent may be gone
			}
		}
	}
	slices.Sort(waits)
	done.P99, done.Longest = waits[len(waits)*99/100], waits[len(waits)-1]
	return done
}

// Processes starts n processes of the test binary, lets them begin together, and returns each one's result. TestMain
// must call Worker.
func Processes(t testing.TB, n int, load Load) []Work {
	t.Helper()
	all := make([]*Process, n)
	for i := range all {
		all[i] = Start(t, load)
	}
	for _, p := range all {
		p.Go()
	}
	out := make([]Work, n)
	for i, p := range all {
		for p.Took() {
		}
		if err := json.Unmarshal(p.out.Bytes(), &out[i]); err != nil {
			t.Fatalf("process %d ended with %q: %v", i, p.out.Bytes(), err)
		}
		if err := p.cmd.Wait(); err != nil {
			t.Fatalf("process %d: %v", i, err)
		}
	}
	return out
}

// Process is one worker process, which Start started. A test can kill it in the middle of its Load.
type Process struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// Start starts a worker process and waits until it has opened the store.
func Start(t testing.TB, load Load) *Process {
	t.Helper()
	text, err := json.Marshal(load)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), environment+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &Process{t, cmd, in, bufio.NewScanner(out)}
	if !p.out.Scan() || p.out.Text() != "ready" {
		t.Fatalf("the worker process said %q: does TestMain call quotatest.Worker?", p.out.Text())
	}
	return p
}

// Go lets the process begin.
func (p *Process) Go() {
	p.t.Helper()
	if _, err := io.WriteString(p.in, "go\n"); err != nil {
		p.t.Fatal(err)
	}
}

// Took waits until the process reports one more charged take; false: there are no more.
func (p *Process) Took() bool { return p.out.Scan() && p.out.Text() == "took" }

// Kill ends the process as kill -9 does, and returns how many more takes it had reported.
func (p *Process) Kill() int {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	n := 0
	for p.Took() {
		n++
	}
	_ = p.cmd.Wait() // "signal: killed"
	return n
}

// manyProcesses is four processes that together get exactly the limit.
func manyProcesses(r *rig) {
	const limit = 300
	sum := int64(0)
	for i, w := range Processes(r, 4, Load{Address: r.store.Address, Account: "processes", Limit: limit, Amount: 1}) {
		if w.Errors > 0 {
			r.Errorf("process %d: %d errors, first %s, want none", i, w.Errors, w.Error)
		}
		sum += w.Admitted
	}
	if sum != limit {
		r.Errorf("four processes drew %d of %d", sum, limit)
	}
}
