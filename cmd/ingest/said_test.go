package main_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/report"
)

// TestLongTomorrowsPredictionsComeTrue lets the program live for days under cron, in processes.
func TestLongTomorrowsPredictionsComeTrue(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/long",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("INGEST_DATA", e.WorkDir+"/data")
			e.Values[lifeKey{}] = &life{charts: map[string][]time.Time{}}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"simulate": simulate, "live": live, "comestrue": comesTrue},
	})
}

type lifeKey struct{}

// life records the runs and the answers of the commands between them.
type life struct {
	charts  map[string][]time.Time // when the charts of each region were fetched
	runs    []lifeRun
	sayings []lifeSaying
}

type lifeRun struct {
	at   time.Time
	code int
	left bool // something due was left for want of units
}

type lifeSaying struct {
	at     time.Time
	series []report.SeriesDocument
	next   []report.SlotDocument
	quota  report.QuotaDocument
}

// live runs "ingest run" every five minutes from $INGEST_NOW on, for a time, and asks once an hour for the next slots.
func live(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: live DURATION")
	}
	long, err := time.ParseDuration(args[0])
	ts.Check(err)
	from, err := time.Parse(time.RFC3339, ts.Getenv("INGEST_NOW"))
	ts.Check(err)
	l := ts.Value(lifeKey{}).(*life)
	ask := func(now time.Time, doc any, args ...string) (code int) {
		ts.Setenv("INGEST_NOW", now.Format(time.RFC3339))
		var out bytes.Buffer
		code = runProcess(ts, &out, append(args, "--json"))
		ts.Check(json.Unmarshal(out.Bytes(), doc))
		return code
	}
	for i := 0; time.Duration(i)*5*time.Minute < long; i++ {
		now := from.Add(time.Duration(i) * 5 * time.Minute)
		var run report.RunDocument
		code := ask(now, &run, "run")
		l.runs = append(l.runs, lifeRun{now, code, run.RetryAt != nil})
		for _, slot := range run.Regions {
			if slot.Outcome == "done" {
				l.charts[slot.Region] = append(l.charts[slot.Region], *slot.FetchedAt)
			}
		}
		if i%12 == 6 {
			now := now.Add(2 * time.Minute)
			var region, next report.SlotsDocument
			said := lifeSaying{at: now}
			ask(now, &region, "slots", "--region", "IN", "--limit", "1")
			ask(now, &next, "slots", "--next", "8")
			ask(now, &said.quota, "quota")
			said.series, said.next = region.Series, next.Slots
			l.sayings = append(l.sayings, said)
		}
	}
}

// runProcess runs the program as cron does: each start is a process of its own, which knows only its files.
func runProcess(ts *testscript.TestScript, out io.Writer, args []string) (code int) {
	cmd := exec.Command("ingest", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), out, ts.Stderr()
	for _, name := range scriptVariables() {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	if err := cmd.Run(); cmd.ProcessState == nil {
		ts.Check(err)
	}
	return cmd.ProcessState.ExitCode()
}

// comesTrue compares a command's forecasts with the later runs: comestrue region|next|quota|exit PERCENT.
func comesTrue(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: comestrue region|next|quota|exit PERCENT")
	}
	l := ts.Value(lifeKey{}).(*life)
	all, kept := 0, 0
	count := func(ok bool, format string, args ...any) {
		if all++; ok {
			kept++
		} else {
			ts.Logf(format, args...)
		}
	}
	for _, s := range l.sayings {
		switch args[0] {
		case "region":
			for _, d := range s.series {
				if came, ok := l.after(s.at, d.Region); ok && d.NextAt != nil {
					count(timely(s.at, *d.NextAt, came), "%v: %s is said to be due at %v, and came at %v", s.at, d.Region, d.NextAt, came)
				}
			}
		case "next":
			seen := map[string]bool{"": true} // a refresh is not looked at
			for _, slot := range s.next {
				if came, ok := l.after(s.at, slot.Region); ok && !seen[slot.Region] {
					count(timely(s.at, slot.DueAt, came), "%v: %s is said to be due at %v, and came at %v", s.at, slot.Region, slot.DueAt, came)
				}
				seen[slot.Region] = true
			}
		case "quota":
			if came, ok := l.after(s.at, ""); ok {
				count(l.lasts(s, came), "%v: %+v, and the next chart came at %v", s.at, s.quota.Forecast, came)
			}
		}
	}
	for _, r := range l.runs {
		if args[0] == "exit" {
			count(r.code == 0 || r.code == 75 && r.left, "%v: exit %d", r.at, r.code)
		}
	}
	percent, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Logf("%s: %d of %d came true", args[0], kept, all)
	if all < 50 || kept*100 < percent*all {
		ts.Fatalf("%s: %d of %d came true, want %d %%", args[0], kept, all, percent)
	}
}

// after returns when the next chart of a region came after t; "": of any.
func (l *life) after(t time.Time, region string) (came time.Time, ok bool) {
	for name, charts := range l.charts {
		if i := slices.IndexFunc(charts, t.Before); i >= 0 && (region == "" || name == region) && (!ok || charts[i].Before(came)) {
			came, ok = charts[i], true
		}
	}
	return came, ok
}

// lasts reports whether the forecast's state came true: while the quota lasts, as configured or at a slower pace, no
// run is stopped before the next chart; if it is used up, that comes when units come back; and they come back after
// they run out.
func (l *life) lasts(s lifeSaying, came time.Time) bool {
	f := s.quota.Forecast
	stopped := slices.ContainsFunc(l.runs, func(r lifeRun) bool { return r.code == 75 && r.at.After(s.at) && r.at.Before(came) })
	switch f.State {
	case budget.Lasts, budget.Slower:
		return !stopped
	case budget.UsedUp:
		return timely(s.at, f.BackAt, came)
	case budget.RunsOut:
		i := slices.IndexFunc(l.runs, func(r lifeRun) bool { return r.code == 75 && r.at.After(s.at) })
		return f.BackAt.After(f.RunsOutAt) && i >= 0 && timely(s.at, f.RunsOutAt, l.runs[i].at)
	}
	return false
}

// timely reports whether a time predicted at now is within 10 %, or 15 minutes, of the time of the fetch. The next run
// fetches a slot that was predicted to be due already.
func timely(now, said, came time.Time) bool {
	if said.Before(now) {
		said = now
	}
	return said.Sub(came).Abs() <= max(15*time.Minute, came.Sub(now)/10)
}
