//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// skewEnv moves the clock of the program of movedProgram: "1h0m0s@30s-90s" puts it an hour ahead from 30 to 90 seconds after
// the start.
const skewEnv = "INGEST_TEST_SKEW"

// movedNow is time.Now of that program, and reads the variable.
const movedNow = `func Now() Time {
	sec, nsec, mono := runtimeNow()
	if since := mono - startNano; since >= skewFrom && since < skewTo {
		sec += skew
	}
`

const movedInit = `
var skew, skewFrom, skewTo = readSkew()

func readSkew() (sec, from, to int64) {
	text, _ := syscall.Getenv("` + skewEnv + `")
	var parts [3]Duration
	for i, end := range []string{"@", "-", ""} {
		part := text
		for j := 0; end != "" && j < len(text); j++ {
			if j > 0 && text[j:j+1] == end {
				part, text = text[:j], text[j+1:]
				break
			}
		}
		d, err := ParseDuration(part)
		if err != nil {
			return 0, 0, 0
		}
		parts[i] = d
	}
	return int64(parts[0] / Second), int64(parts[1]), int64(parts[2])
}
`

// movedProgram builds the program with a time.Now that skewEnv moves.
var movedProgram = sync.OnceValues(func() (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	began := "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	text := strings.Replace(string(source), began, movedNow, 1)
	if text == string(source) {
		return "", fmt.Errorf("time.Now of %s begins otherwise", runtime.Version())
	}
	if !strings.Contains(text, "\"syscall\"") {
		text = strings.Replace(text, "import (\n", "import (\n\t\"syscall\"\n", 1)
	}
	dir, err := os.MkdirTemp("", "moved")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "time.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: file}})
	if err == nil {
		err = os.WriteFile(file, []byte(text+movedInit), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600)
	}
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "ingest")
	if out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

// startMoved starts a machine whose clock is apart by the given amount, from a while after its start to another.
func (s *scale) startMoved(name string, skew, from, to time.Duration) *served {
	s.Helper()
	program, err := movedProgram()
	if err != nil {
		s.Fatal(err)
	}
	cmd, _, _ := s.command([]string{skewEnv + "=" + fmt.Sprintf("%v@%v-%v", skew, from, to)}, "serve", "--listen", "127.0.0.1:0", "--workers", "1", "--data", filepath.Join(s.dir, name))
	cmd.Path, cmd.Args[0] = program, program
	s.machines[name] = startCommand(s.T, cmd)
	return s.machines[name]
}

// TestLongFaultClocks has one of two machines on one PostgreSQL with a clock that is wrong, from its start or while it
// leads. The other goes on: none of its slots is skipped, none is fetched before it is due. The first says once that it
// does not work, the other says so too, and once its clock is right it works again. Of twelve rows it tests two, and all
// of them as often as INGEST_TEST_RUNS says.
func TestLongFaultClocks(t *testing.T) {
	t.Parallel()
	runs, err := strconv.Atoi(os.Getenv(queueRunsEnv))
	all := err == nil
	few := make(chan struct{}, 4) // rows at once: each is a server and two machines, which must keep their minutes
	for i, skew := range []time.Duration{20 * time.Minute, -time.Hour, 24 * time.Hour, -20 * time.Minute, time.Hour, -24 * time.Hour} {
		for _, leads := range []bool{true, false} {
			if !all && (i%2 == 0) != leads || !all && i >= 2 {
				continue
			}
			for run := range max(runs, 1) {
				role := map[bool]string{true: "leader", false: "follower"}[leads]
				t.Run(fmt.Sprintf("%s %v", role, skew), func(t *testing.T) {
					t.Parallel()
					few <- struct{}{}
					defer func() { <-few }()
					wrongClock(t, skew, leads, fmt.Sprintf("postgres, two machines: the clock of the %s is apart by %v, run %d", role, skew, run+1))
				})
			}
		}
	}
}

func wrongClock(t *testing.T, skew time.Duration, leads bool, row string) {
	t.Helper()
	const wrongFor = 100 * time.Second
	s := newScale(t)
	s.realTime = true
	var moved *served
	from := time.Duration(0)
	if leads {
		from = 40 * time.Second
		moved = s.startMoved("moved", skew, from, from+wrongFor)
		s.wait("it leads and works", func() bool { return s.leads() == "moved" && s.done() >= 2 })
	} else {
		s.startMoved("healthy", 0, 0, 0)
		s.wait("it leads and works", func() bool { return s.leads() == "healthy" && s.done() >= 2 })
		moved = s.startMoved("moved", skew, from, from+wrongFor)
	}
	if leads {
		s.startMoved("healthy", 0, 0, 0)
	}
	const idle = "this machine does not work"
	moved.until("it says that it does not work", func() bool { return moved.stderr.count(idle) == 1 })
	healthy := s.machines["healthy"]
	healthy.until("the other leads", func() bool { return s.leads() == "healthy" })
	began := time.Now()
	healthy.until("the other says so", func() bool {
		time.Sleep(time.Second) // the test waits for a real machine
		m := listens.FindStringSubmatch(healthy.stderr.String())
		if m == nil {
			return false
		}
		healthy.url = m[1]
		return strings.Contains(healthy.check("workers").Detail, "does not work: its clock is")
	})
	healthy.until("ingest slots says so", func() bool { // asked again where the server is too busy to answer
		_, _, said := s.do(nil, "slots")
		return strings.Contains(said, "does not work: its clock is")
	})
	moved.url = listens.FindStringSubmatch(moved.stderr.String())[1]
	if c := moved.check("workers"); c.OK || !strings.Contains(c.Detail, "its clock is") {
		t.Errorf("its own /readyz: %+v", c)
	}
	moved.until("it works again", func() bool { return moved.stderr.count("this machine works again") == 1 })
	ended := time.Now()
	time.Sleep(time.Until(ended.Add(20 * time.Second))) // slots due at the end are worked on
	for _, name := range []string{"moved", "healthy"} {
		s.machines[name].end(syscall.SIGTERM)
	}
	count := func(condition string) int64 {
		return s.number("SELECT coalesce(sum(count), 0) FROM ingest.slots WHERE due_at BETWEEN %d AND %d AND %s", began.Unix(), ended.Unix(), condition)
	}
	early := s.number("SELECT count(*) FROM ingest.slots WHERE fetched_at < 1000 * due_at OR due_at > %d", time.Now().Unix())
	skipped, done := count("state IN ('skipped', 'missed', 'failed')"), count("state = 'done'")
	s.want(skipped == 0 && done >= 16, "%d slots were skipped, %d done in %v", skipped, done, ended.Sub(began))
	s.want(early == 0, "%d slots were fetched early, or are in the future", early)
	if n := moved.stderr.count("level=ERROR"); n != 1 {
		t.Errorf("it logged %d errors, want one:\n%s", n, moved.stderr.String())
	}
	s.inDoubt++
	s.judge(fmt.Sprintf("%s: %d of %d slots skipped (bound 0)", row, skipped, skipped+done))
}
