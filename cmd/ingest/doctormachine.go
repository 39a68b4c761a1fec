package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/store"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest/fetch/wire"
)

// The checks of the machine that the program runs on.

func lookVersion(context.Context, *doctor) finding {
	return fine("ingest %s (%s, %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func lookEnvironment(_ context.Context, d *doctor) finding {
	timer, cron := d.machine.timer(), d.machine.crontab()
	switch {
	case timer != "" && cron != "":
		return warn("woken twice: by "+timer+" and by "+cron, "each slot runs once all the same; remove one of them")
	case d.machine.uid == 0:
		return warn("running as root: files that it makes cannot be written by the user of a service",
			"run ingest as the user that owns the data; root is for looking only")
	}
	woken := "a timer or a crontab is not seen from here"
	switch {
	case timer != "":
		woken = "woken by " + timer
	case cron != "":
		woken = "woken by " + cron
	}
	return fine("%s; %s", userName(d.machine.uid), woken)
}

// timer is the systemd timer that is enabled, "" for none.
func (m machine) timer() string {
	for _, dir := range []string{"etc/systemd/system/timers.target.wants", "etc/systemd/user/timers.target.wants"} {
		if path := filepath.Join(m.root, dir, "ingest.timer"); config.FileExists(path) {
			return "systemd's ingest.timer"
		}
	}
	return ""
}

// crontab is the first crontab that runs ingest, of those that can be read.
func (m machine) crontab() string {
	paths := []string{filepath.Join(m.root, "etc/crontab")}
	for _, dir := range []string{"etc/cron.d", "var/spool/cron/crontabs", "var/spool/cron"} {
		entries, err := os.ReadDir(filepath.Join(m.root, dir))
		if err != nil {
			continue
		}
		for _, e := range entries {
			paths = append(paths, filepath.Join(m.root, dir, e.Name()))
		}
	}
	for _, path := range paths {
		if runsIngest(path) {
			return "crontab " + path
		}
	}
	return ""
}

func runsIngest(path string) bool {
	const most = 1 << 20
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") && strings.Contains(line, "ingest run") {
			return true
		}
	}
	return false
}

// earliest is before any build of this program: a clock that says less was never set.
var earliest = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func lookClock(ctx context.Context, d *doctor) finding {
	if d.clockErr != nil {
		return broken(d.clockErr, "unset INGEST_NOW")
	}
	now := d.clock.Now()
	if d.clock.Moved {
		return d.lookMoved(ctx, now)
	}
	if now.Before(earliest) {
		return fail(exitError, "it says "+term.Stamp(now)+", which is long past", "set the clock: timedatectl set-ntp true")
	}
	if step := stepped(d.began, time.Now()); step.Abs() > time.Second {
		return warn(fmt.Sprintf("it was set by %v while this ran", step.Round(time.Second)), "see that one service alone sets it, slowly: windows go by it")
	}
	t, err := d.tariff()
	if err != nil {
		return fine("%s", term.Stamp(now))
	}
	return fine("%s, for the provider %s", term.Stamp(now), now.In(t.Zone).Format("2006-01-02 15:04 MST"))
}

// stepped is how far the wall clock went beyond the time that passed.
func stepped(from, to time.Time) time.Duration {
	return to.Round(0).Sub(from.Round(0)) - to.Sub(from)
}

// lookMoved judges as every other command does that spends.
func (d *doctor) lookMoved(ctx context.Context, now time.Time) finding {
	text := "INGEST_NOW has moved it to " + term.Stamp(now)
	local := loopback(d.cfg.UpstreamURL)
	if s, err := store.Inspect(ctx, d.cfg.Data); err == nil && s.Upstream != "" {
		local = wire.IsLoopback(s.Upstream)
	}
	if d.cfg.Ledger != "sqlite" || !local {
		return fail(exitConfig, text+", where quota that counts is spent", "unset INGEST_NOW: it goes with a stand-in upstream and --ledger sqlite only")
	}
	return warn(text, "unset INGEST_NOW when the trial is over")
}
