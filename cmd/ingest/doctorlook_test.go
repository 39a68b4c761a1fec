package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/config"

	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota/sharedledger"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// One screen of 80 columns where all is well.
func TestTheDoctorFitsOneScreen(t *testing.T) {
	now := at(t, "2026-11-21T10:40:00Z")
	t.Chdir(t.TempDir())
	newWard(t)
	t.Setenv("INGEST_DATA", "data")
	ingestCode(t, exitOK, "run", "--pages", "1")
	t.Setenv("INGEST_NOW", "")
	var out bytes.Buffer
	a := &app{console: console{stdout: &out}}
	d := newDoctor(a, machine{root: t.TempDir(), uid: os.Getuid()})
	defer d.close()
	a.clock.Move(now.Add(150 * time.Second))
	a.clock.Moved = false // as if it were the machine that is off
	seen := d.examine(t.Context(), checks)
	for i, o := range seen {
		switch o.check { // what differs from machine to machine
		case "version":
			seen[i].finding = fine("ingest dev (go1.26, linux/amd64)")
		case "environment":
			seen[i].finding = fine("ingest; a timer or a crontab is not seen from here")
		case "disk":
			seen[i].finding = volume{free: 80 << 30, size: 250 << 30}.judge()
		case "data":
			seen[i].detail = strings.Replace(o.detail, userName(os.Getuid()), "ingest", 1)
		}
		seen[i].detail = timeOfDay.ReplaceAllString(seen[i].detail, "10:42:00Z${1} 02:42")
		seen[i].detail = minutes.ReplaceAllString(seen[i].detail, "42 min ago")
		seen[i].detail = videos.ReplaceAllString(seen[i].detail, "273 videos") // the stand-in's charts are of its own day
	}
	if err := a.printDiagnosis(seen); err != nil {
		t.Error(err)
	}
	golden(t, "doctor.golden", out.String())
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for _, line := range lines {
		if term.Width(line) > term.Screen {
			t.Errorf("more than %d columns: %s", term.Screen, line)
		}
	}
	if len(lines) > 24 {
		t.Errorf("%d lines are more than a screen", len(lines))
	}
}

// What a slow machine shows otherwise.
var (
	timeOfDay = regexp.MustCompile(`10:4\d:\d\dZ(.*) 02:4\d`)
	videos    = regexp.MustCompile(`\d+ videos`)
	minutes   = regexp.MustCompile(`\d+ min ago`)
)

// golden compares with a file in testdata, which UPDATE_GOLDEN=1 writes.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(source, "testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%s (%v):\n%s\nwant\n%s", name, err, got, want)
	}
}

// source is this directory, whichever one the test has gone to.
var source, _ = os.Getwd()

// What one machine cannot be made to be, judged by itself.
func TestTheDoctorJudges(t *testing.T) {
	now := time.Now()
	host := func(name string, regions ...string) sharedledger.Host {
		return sharedledger.Host{ID: name, Name: name, Regions: regions}
	}
	hosts := func(want int, h ...sharedledger.Host) finding {
		return judgeHosts(sharedledger.RemoteState{Generation: 1, Hosts: h}, want)
	}
	root := t.TempDir()
	for name, text := range map[string]string{
		"etc/systemd/system/timers.target.wants/ingest.timer": "", "etc/cron.d/ingest": "# ingest run\n*/5 * * * * ingest ingest run --quiet\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	on := func(m machine) *doctor { return &doctor{app: &app{clock: &config.Clock{}}, machine: m} }
	for _, tt := range []struct {
		name   string
		got    finding
		want   status
		detail string
	}{
		{"room", volume{free: 80 << 30, size: 100 << 30}.judge(), statusOK, "80 GiB free of 100 GiB (80 %)"},
		{"little room", volume{free: 900 << 20, size: 10 << 30}.judge(), statusWarn, "900 MiB free"},
		{"a small part", volume{free: 4 << 30, size: 100 << 30}.judge(), statusWarn, "4,096 MiB free of 100 GiB (4 %)"},
		{"no room", volume{free: 49 << 20, size: 100 << 30}.judge(), statusFail, "49 MiB free"},
		{"a disk", volume{}.place(), statusOK, "a disk"},
		{"a network disk", volume{network: "NFS"}.place(), statusWarn, "on NFS, where SQLite's locks may not hold"},
		{"root", lookEnvironment(t.Context(), on(machine{root: t.TempDir()})), statusWarn, "running as root"},
		{"somebody", lookEnvironment(t.Context(), on(machine{root: t.TempDir(), uid: 4711})), statusOK, "user 4711"},
		{"woken twice", lookEnvironment(t.Context(), on(machine{root: root, uid: 4711})), statusWarn, "woken twice: by systemd's ingest.timer and by crontab"},
		{"clocks agree", judgeGap(time.Second, "redis"), statusOK, "1s ahead of this one"},
		{"clocks differ", judgeGap(-6*time.Second, "redis"), statusWarn, "6s behind this one"},
		{"clocks apart", judgeGap(61*time.Second, "redis"), statusFail, "1m1s ahead of this one: it is not trusted"},
		{"all hosts", hosts(2, host("a:/d", "US"), host("b:/d", "GB")), statusOK, "2 of 2 have delivered: a:/d, b:/d"},
		{"a host that is missing", hosts(3, host("a:/d", "US"), host("b:/d", "GB")), statusWarn, "2 of 3"},
		{"one host too many", hosts(1, host("a:/d", "US"), host("b:/d", "GB")), statusWarn, "2 of 1"},
		{"a region of two hosts", hosts(2, host("a:/d", "US", "DE"), host("b:/d", "DE")), statusWarn, "DE is fetched by a:/d and by b:/d"},
		{"two directories of one machine", hosts(2, host("a:/d", "US"), host("a:/e", "DE")), statusWarn, "a:/d and a:/e are on one machine"},
	} {
		if tt.got.status != tt.want || !strings.Contains(tt.got.detail, tt.detail) || (tt.got.status != statusOK) != (tt.got.advice != "") {
			t.Errorf("%s: %+v, want %s and %q", tt.name, tt.got, tt.want, tt.detail)
		}
	}
	if step := stepped(now, now); step != 0 {
		t.Errorf("a clock that stood still was stepped by %v", step)
	}
	if step := stepped(now.Round(0).Add(-time.Hour), now); step.Abs() > time.Second {
		t.Errorf("without a monotonic reading nothing is known, not %v", step)
	}
}

// Another user's data directory, and files that a run by root left in it.
func TestTheDoctorKnowsOwners(t *testing.T) {
	dir := t.TempDir()
	d := &doctor{app: &app{cfg: &config.Config{Data: dir}}, machine: machine{uid: 4711}}
	if f := lookData(t.Context(), d); f.status != statusFail || f.code != exitConfig || !strings.Contains(f.detail, "belongs to "+userName(os.Getuid())+", this is user 4711") {
		t.Errorf("%+v", f)
	}
	if os.Getuid() != 0 {
		return // only root can give files away
	}
	d.machine.uid = 0
	left := filepath.Join(dir, "quota.db.lock")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(left, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if f := lookData(t.Context(), d); f.status != statusFail || !strings.Contains(f.detail, "but not quota.db.lock") {
		t.Errorf("%+v", f)
	}
}

// A check that panics or hangs costs itself only.
func TestTheDoctorRunsToItsEnd(t *testing.T) {
	d := &doctor{}
	began := time.Now()
	seen := d.examine(t.Context(), []check{
		{name: "panics", look: func(context.Context, *doctor) finding { panic("oops") }},
		{name: "hangs", look: func(context.Context, *doctor) finding { select {} }, within: time.Millisecond},
		{name: "hangs too", look: func(context.Context, *doctor) finding { select {} }, within: time.Millisecond},
		{name: "has nothing", look: func(context.Context, *doctor) finding { return noLine }},
		{name: "is well", look: func(context.Context, *doctor) finding { return fine("well") }},
	})
	var got []string
	for _, o := range seen {
		got = append(got, fmt.Sprintf("%s %s %s", o.check, o.status, o.detail))
	}
	want := "panics fail the check itself broke: oops; hangs fail no answer within 1ms; hangs too fail no answer within 1ms; is well ok well"
	if strings.Join(got, "; ") != want || time.Since(began) > 2*lateness {
		t.Errorf("after %v: %s", time.Since(began), strings.Join(got, "; "))
	}
}

// The code is that of the first class, whatever else failed.
func TestTheDoctorsExitCode(t *testing.T) {
	for _, tt := range []struct{ codes, want []int }{
		{nil, []int{exitOK}},
		{[]int{exitError}, []int{exitError}},
		{[]int{exitError, exitUnavailable}, []int{exitUnavailable}},
		{[]int{exitUnavailable, exitKey, exitError}, []int{exitKey}},
		{[]int{exitKey, exitConfig}, []int{exitConfig}},
		{[]int{exitPartial}, []int{exitError}},
	} {
		a := &app{console: console{stdout: &bytes.Buffer{}}, cfg: &config.Config{}}
		seen := []observation{{"fine", fine("fine")}, {"so so", warn("so so", "")}}
		for _, code := range tt.codes {
			seen = append(seen, observation{"broken", fail(code, "broken", "")})
		}
		if got := exitCode(a.printDiagnosis(seen)); got != tt.want[0] {
			t.Errorf("%v: exit %d, want %d", tt.codes, got, tt.want[0])
		}
	}
}

// One call, taken from the ledger first, said before and after.
func TestTheDoctorAsksOnce(t *testing.T) {
	for _, tt := range []struct {
		name, fault string
		closed      bool // the upstream is not there
		spent       bool // the pool is
		status      status
		exit        int
		detail      string
		units       int64
		said        string
	}{
		{"all is well", "", false, false, statusOK, exitOK, "the clock of the upstream is", 9, "ingest: spent 1 unit"},
		{"a bad key", "badkey", false, false, statusFail, exitKey, "key", 9, "ingest: spent 1 unit"},
		{"the quota is spent", "403quota", false, false, statusWarn, exitOK, "spent", 9, "ingest: spent 1 unit"},
		{"too fast", "429min", false, false, statusWarn, exitOK, "spent 1 unit", 9, "ingest: spent 1 unit"},
		{"a server error", "503", false, false, statusFail, exitUnavailable, "currently unavailable", 9, "ingest: spent 1 unit"},
		{"nobody is there", "", true, false, statusFail, exitUnavailable, "the call never left, its cost was given back", 8, "given back"},
		{"no quota", "", false, true, statusWarn, exitOK, "not asked, nothing was spent", 10000, "asking"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWard(t)
			if tt.fault != "" {
				fault, err := youtubesim.ParseFault(tt.fault)
				if err != nil {
					t.Fatal(err)
				}
				data := w.data
				standIn(t, youtubesim.Options{Faults: []youtubesim.Fault{fault}})
				t.Setenv("INGEST_DATA", data)
			}
			if tt.closed {
				t.Setenv("INGEST_UPSTREAM_URL", "http://127.0.0.1:1/")
			}
			if tt.spent {
				ingestCode(t, exitOK, "quota", "post", "units", "9992")
			}
			out, said := ingestCode(t, tt.exit, "doctor", "--online")
			doc := ingestJSON[quotaDocument](t, exitOK, "quota")
			if got := doc.Pools[1].Windows[0].Used; got != tt.units {
				t.Errorf("%d units are spent, want %d", got, tt.units)
			}
			i := strings.Index(out, "  online  ")
			if i < 0 || !strings.Contains(strings.Join(strings.Fields(out[i:]), " "), tt.detail) || !strings.Contains(out[i-6:i], string(tt.status)) {
				t.Errorf("want %s and %q:\n%s", tt.status, tt.detail, out)
			}
			if !strings.Contains(said, "1 call of videos.list, taken from the ledger as manual") || !strings.Contains(said, tt.said) {
				t.Errorf("it said %q", said)
			}
		})
	}
}

// An upstream that tells its clock is compared with this machine's.
func TestTheDoctorComparesTheUpstreamsClock(t *testing.T) {
	if f := judgeDate(slow{}); f.status != statusFail || !strings.Contains(f.detail, "the clock of the upstream is 2m0s behind this one") {
		t.Errorf("%+v", f)
	}
}

// slow is an upstream whose clock is two minutes behind.
type slow struct{}

func (slow) Date() (upstream, here time.Time) {
	now := time.Now()
	return now.Add(-2 * time.Minute), now
}
