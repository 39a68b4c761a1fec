package main_test

import (
	program "github.com/trendvidstream/ingest/cmd/ingest"

	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/quota"
)

// One screen of 80 columns if all is well.
func TestTheDoctorFitsOneScreen(t *testing.T) {
	now := at(t, "2026-11-21T10:40:00Z")
	t.Chdir(t.TempDir())
	newWard(t)
	t.Setenv("INGEST_DATA", "data")
	ingestCode(t, exitOK, "run", "--pages", "1")
	t.Setenv("INGEST_NOW", "")
	var out bytes.Buffer
	d := program.NewDoctor(t.TempDir(), os.Getuid(), now.Add(150*time.Second)) // as if the machine's clock were off
	defer d.Close()
	seen := d.Examine(t.Context())
	for i, o := range seen {
		switch o.Check { // the parts that differ from machine to machine
		case "version":
			seen[i].Detail = "ingest dev (go1.26, linux/amd64)"
		case "environment":
			seen[i].Status, seen[i].Advice = doctor.OK, ""
			seen[i].Detail = "ingest"
		case "disk":
			seen[i].Status, seen[i].Advice = doctor.OK, ""
			seen[i].Detail = "80 GiB free of 250 GiB (32 %)"
		case "data":
			seen[i].Detail = ownerOf.ReplaceAllString(o.Detail, "owner ingest,")
		}
		seen[i].Detail = timeOfDay.ReplaceAllString(seen[i].Detail, "10:42:00Z${1} 02:42")
		seen[i].Detail = answered.ReplaceAllString(seen[i].Detail, "10:40:00Z") // the run takes seconds
		seen[i].Detail = minutes.ReplaceAllString(seen[i].Detail, "42 min ago")
		seen[i].Detail = videos.ReplaceAllString(seen[i].Detail, "273 videos") // the stand-in's charts are of its own day
	}
	if err := program.PrintFindings(&out, seen); err != nil {
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
		t.Errorf("%d lines are more than a screen, want at most 24", len(lines))
	}
}

// Output that differs on a slow machine.
var (
	ownerOf   = regexp.MustCompile(`owner [^,]+,`)
	timeOfDay = regexp.MustCompile(`10:4\d:\d\dZ(.*) 02:4\d`)
	videos    = regexp.MustCompile(`\d+ videos`)
	answered  = regexp.MustCompile(`10:40:\d\dZ`)
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

// source is this directory, even after the test has changed to another one.
var source, _ = os.Getwd()

// The exit code is the code of the first class, with any other failures.
func TestTheDoctorsExitCode(t *testing.T) {
	for _, tt := range []struct {
		classes []int
		want    int
	}{
		{nil, exitOK},
		{[]int{doctor.Other}, exitError},
		{[]int{doctor.Other, doctor.Unavailable}, exitUnavailable},
		{[]int{doctor.Unavailable, doctor.BadKey, doctor.Other}, exitKey},
		{[]int{doctor.BadKey, doctor.BadConfig}, exitConfig},
	} {
		seen := []doctor.Finding{{Check: "fine", Status: doctor.OK}, {Check: "so so", Status: doctor.Warn}}
		for _, class := range tt.classes {
			seen = append(seen, doctor.Finding{Check: "broken", Status: doctor.Fail, Exit: class})
		}
		if got := program.ExitCode(program.PrintFindings(&bytes.Buffer{}, seen)); got != tt.want {
			t.Errorf("%v: exit %d, want %d", tt.classes, got, tt.want)
		}
	}
	for err, want := range map[error]int{
		config.Invalid(errors.New("wrong")): exitConfig, config.ErrNoKey: exitKey, quota.ErrClosed: exitUnavailable,
		errors.New("broken"): exitError, program.ErrPartial: exitError,
	} {
		if got := standing.ExitOf(err); got != want {
			t.Errorf("%v is of exit code %d, want %d", err, got, want)
		}
	}
}

// One call, taken from the ledger first, and announced before and after.
func TestLongTheDoctorAsksOnce(t *testing.T) {
	well := newWard(t)
	for _, tt := range []struct {
		name, fault string
		closed      bool // the upstream is not there
		spent       bool // the pool is
		status      doctor.Status
		exit        int
		detail      string
		units       int64
		said        string
	}{
		{"all is well", "", false, false, doctor.OK, exitOK, "the clock of the upstream is", 9, "ingest: spent 1 unit"},
		{"a bad key", "badkey", false, false, doctor.Fail, exitKey, "key", 9, "ingest: spent 1 unit"},
		{"the quota is spent", "403quota", false, false, doctor.Warn, exitOK, "spent", 9, "ingest: spent 1 unit"},
		{"too fast", "429min", false, false, doctor.Warn, exitOK, "spent 1 unit", 9, "ingest: spent 1 unit"},
		{"a server error", "503", false, false, doctor.Fail, exitUnavailable, "currently unavailable", 9, "ingest: spent 1 unit"},
		{"nobody is there", "", true, false, doctor.Fail, exitUnavailable, "the call never left, its cost was given back", 8, "given back"},
		{"no quota", "", false, true, doctor.Warn, exitOK, "not asked, nothing was spent", 10000, "asking"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := well.another(t)
			if tt.fault != "" {
				data := w.data
				standIn(t, youtubesim.Options{Faults: faultsOf(t, tt.fault)})
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
			if got := doc.Pools[2].Windows[0].Used; got != tt.units {
				t.Errorf("%d units are spent, want %d", got, tt.units)
			}
			i := strings.Index(out, "  online  ")
			if i < 0 || !strings.Contains(strings.Join(strings.Fields(out[i:]), " "), tt.detail) || !strings.Contains(out[i-6:i], string(tt.status)) {
				t.Errorf("want %s and %q:\n%s", tt.status, tt.detail, out)
			}
			if !strings.Contains(said, "1 call of videos.list, taken from the ledger as manual") || !strings.Contains(said, tt.said) {
				t.Errorf("it said %q, want \"1 call of videos.list, taken from the ledger as manual\" in it and %v in it", said, tt.said)
			}
		})
	}
}
