//go:build unix

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/trendvidstream/ingest/internal/faulty"
	_ "github.com/trendvidstream/ingest/store/pgstore"
)

// newerEnv makes the test's program one whose tables are a version newer.
const newerEnv = "INGEST_TEST_NEWER"

//go:linkname storeSteps github.com/trendvidstream/ingest/store/pgstore.steps
var storeSteps []string

func init() {
	if os.Getenv(newerEnv) != "" {
		storeSteps = append(storeSteps, `SELECT 1`)
	}
}

// Machines are upgraded one after another. Once the first has upgraded the tables, the older members give up their
// slots, say so once and end, and the newer one has all of the work from its first second.
func TestLongOlderMachinesLeaveAllToANewerOne(t *testing.T) {
	t.Parallel()
	f := upgrade(t, self(t))
	for _, m := range f.members[:3] {
		began := time.Now()
		_ = m.cmd.Wait()
		if code := m.cmd.ProcessState.ExitCode(); code != exitConfig || time.Since(began) > 30*time.Second {
			t.Errorf("an older machine ended with %v after %v", m.cmd.ProcessState, time.Since(began))
		}
	}
	f.members = f.members[3:]
	f.finish()
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := strings.Count(f.said.String(), "level=ERROR"); n != 3 || strings.Count(f.said.String(), "a newer program has changed the tables") != 3 {
		t.Errorf("three machines said it in %d errors, want 3 and 3", n)
	}
}

// The same with the program of the commit before, which may not know that it should end: it starves no member.
func TestLongTheProgramOfTheCommitBeforeStarvesNoOther(t *testing.T) {
	t.Parallel()
	f := upgrade(t, programBefore(t))
	f.finish()
}

// programBefore builds the test's program as it was a commit ago, or as of INGEST_TEST_BEFORE.
func programBefore(t *testing.T) string {
	t.Helper()
	commit := os.Getenv("INGEST_TEST_BEFORE")
	if commit == "" {
		commit = "HEAD~1"
	}
	dir := t.TempDir()
	git := exec.Command("git", "archive", commit)
	git.Dir = filepath.Join("..", "..")
	tar := exec.Command("tar", "x", "-C", dir)
	var err error
	if tar.Stdin, err = git.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := tar.Start(); err != nil {
		t.Fatal(err)
	}
	if err := git.Run(); err != nil {
		t.Skip("no commit before this one: ", err)
	}
	if err := tar.Wait(); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "before", "ingest")
	build := exec.Command("go", "test", "-c", "-o", program, "./cmd/ingest")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// upgrade runs three machines with an older program, and starts one with a newer one beside them.
func upgrade(t *testing.T, older string) *fleet {
	t.Helper()
	d := faulty.Postgres(t, "max_connections=200")
	// The older program makes the tables, and the judge watches them from the first tick on.
	o := ticks{Dir: t.TempDir(), Place: d.URL(), From: time.Now().Unix() + 10, Ticks: 30, Jobs: 1}
	f := &fleet{t: t, o: o, program: older}
	f.begin()
	f.judge = newJudge(t, o)
	f.judge.waitUntil("the older machines work", func() bool {
		return f.judge.number("SELECT count(to_regclass('river_leader'))") == 1 && f.judge.number("SELECT count(*) FROM river_leader") == 1 && f.judge.count("state = 'done'") >= 8
	})
	f.program, f.env = self(t), []string{newerEnv + "=1"}
	f.start()
	began, newer := time.Now(), f.members[3].cmd.Process.Pid
	f.judge.waitUntil("the newer machine has upgraded the tables", func() bool {
		return f.judge.number("SELECT count(*) FROM meta WHERE name = 'version' AND value = '2'") == 1
	})
	upgraded := time.Now()
	f.judge.waitUntil("the newer machine makes a call", func() bool {
		data, err := os.ReadFile(o.arrivals())
		return err == nil && strings.Contains("\n"+string(data), fmt.Sprintf("\n%d-", newer))
	})
	t.Logf("the newer machine upgraded the tables %v after its start, and called %v later", upgraded.Sub(began), time.Since(upgraded))
	if since := time.Since(upgraded); since > 20*time.Second {
		t.Errorf("the newer machine made its first call %v after it had upgraded the tables", since)
	}
	return f
}

// finish waits for the end of the schedule, and judges it.
func (f *fleet) finish() {
	f.t.Helper()
	f.judge.settled()
	f.judge.judge()
}
