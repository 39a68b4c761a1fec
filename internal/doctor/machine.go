package doctor

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/trendvidstream/ingest/internal/config"
)

// The checks of the program and of what starts it.

func lookVersion(_ context.Context, d *Doctor) Finding {
	return fine("ingest %s (%s, %s/%s)", d.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func lookEnvironment(_ context.Context, d *Doctor) Finding {
	timer, crontab := timerIn(d.Root), crontabIn(d.Root)
	switch {
	case timer != "" && crontab != "":
		return warn("started twice: by "+timer+" and by "+crontab, "each slot runs once anyway; remove one of them")
	case d.UID == 0:
		return warn("running as root: the user of a service cannot write to files that it makes",
			"run ingest as the user that owns the data; root is for looking only")
	}
	started := "a timer or a crontab is not seen from here"
	switch {
	case timer != "":
		started = "started by " + timer
	case crontab != "":
		started = "started by " + crontab
	}
	return fine("%s; %s", userName(d.UID), started)
}

// timerIn is the systemd timer that is enabled, "" for none.
func timerIn(root string) string {
	for _, dir := range []string{"etc/systemd/system/timers.target.wants", "etc/systemd/user/timers.target.wants"} {
		if config.FileExists(filepath.Join(root, dir, "ingest.timer")) {
			return "systemd's ingest.timer"
		}
	}
	return ""
}

// crontabIn is the first crontab that runs ingest, of those that can be read.
func crontabIn(root string) string {
	paths := []string{filepath.Join(root, "etc/crontab")}
	for _, dir := range []string{"etc/cron.d", "var/spool/cron/crontabs", "var/spool/cron"} {
		entries, err := os.ReadDir(filepath.Join(root, dir))
		if err != nil {
			continue
		}
		for _, e := range entries {
			paths = append(paths, filepath.Join(root, dir, e.Name()))
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
	const largest = 1 << 20
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > largest {
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
