//go:build unix

package main_test

import (
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// A server that is frozen, or a network that swallows its answers, keeps nothing from stopping: whatever the program
// waits for, a signal ends it within five seconds.
func TestLongASignalEndsAWaitForAServerThatHangs(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]func(p *programRig){
		"frozen": func(p *programRig) { p.pg.Freeze() },
		"silent": func(p *programRig) { p.proxy.Hang() },
		"COMMIT": func(p *programRig) { p.proxy.Lose(1000, faulty.Swallowed) },
	} {
		for _, command := range []string{"run --force", "serve"} {
			t.Run(name+", "+command, func(t *testing.T) {
				t.Parallel()
				p := newProgram(t, "postgres", 10_000, youtubesim.Options{Latency: 50 * time.Millisecond})
				p.behind("COMMIT")
				cmd, _, stderr := p.command(nil, strings.Fields(command)...)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				for began := time.Now(); len(p.sim.Log()) < 3 && time.Since(began) < waitAtMost; {
					time.Sleep(5 * time.Millisecond) // the test needs a real process
				}
				hang(p)
				time.Sleep(time.Second)
				began := time.Now()
				_ = cmd.Process.Signal(syscall.SIGTERM)
				ended := make(chan struct{})
				go func() { _ = cmd.Wait(); close(ended) }()
				select {
				case <-ended:
				case <-time.After(30 * time.Second):
					_ = cmd.Process.Signal(syscall.SIGQUIT)
					<-ended
				}
				took := time.Since(began)
				if name == "frozen" {
					p.pg.Thaw()
				}
				_ = p.proxy.Pass()
				if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) || took > stopsWithin {
					t.Errorf("%v after %v:\n%s", cmd.ProcessState, took, stderr)
				}
			})
		}
	}
}

// A reading command waits seconds for a server that does not answer, or whose tables another program has locked, and
// names the cause.
func TestLongReadsDoNotWait(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "postgres", 1000, youtubesim.Options{Seed: 5})
	if code := p.force(); code != exitOK {
		t.Fatalf("run --force: exit %d, want %d", code, exitOK)
	}
	// read holds that a command that has to read first gives up within five seconds, beside the time of starting a
	// process here.
	reads := []string{"chart US", "search the", "slots", "history US"}
	silent := "no answer within" // whatever is wrong, on a machine that is too busy to connect
	read := func(trouble, said string, commands ...string) {
		t.Helper()
		var all sync.WaitGroup
		for _, command := range commands {
			all.Go(func() {
				began := time.Now()
				_, _, _ = p.do(nil, "--version")
				start := time.Since(began)
				code, _, errs := p.do(nil, strings.Fields(command)...)
				if took := time.Since(began) - start; code != exitUnavailable || took > 5*time.Second+10*start ||
					!strings.Contains(errs, said) && !strings.Contains(errs, silent) {
					t.Errorf("%s, %s: exit %d after %v, a start takes %v: %s", trouble, command, code, took, start, errs)
				}
			})
		}
		all.Wait()
	}
	holder, err := pgconn.Connect(t.Context(), p.pg.URL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), "BEGIN; LOCK TABLE ingest.slots, ingest.series, ingest.video_facts").ReadAll(); err != nil {
		t.Fatal(err)
	}
	// A gateway that does not know the schedule's need must not begin.
	read("locked", "another program has held it for too long", append(reads, "gateway --listen 127.0.0.1:0")...)
	if err := holder.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.pg.Freeze()
	read("frozen", silent, reads...)
	began := time.Now()
	if code, out, errs := p.do(nil, "quota"); code != exitUnavailable || time.Since(began) > 30*time.Second || !strings.Contains(out, "The store cannot be read") {
		t.Errorf("quota: exit %d after %v: %s%s", code, time.Since(began), out, errs)
	}
	p.pg.Thaw()
	if code, _, errs := p.do(nil, "chart", "US"); code != exitOK {
		t.Errorf("afterwards: exit %d: %s, want %v", code, errs, exitOK)
	}
}
