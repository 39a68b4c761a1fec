package doctor

import (
	"cmp"
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
	if by := cmp.Or(timer, crontab); by != "" {
		return fine("%s; started by %s", userName(d.UID), by)
	}
	return fine("%s; a timer or a crontab is not seen from here", userName(d.UID))
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
	for _, dir := range []string{"etc", "etc/cron.d", "var/spool/cron/crontabs", "var/spool/cron"} {
		entries, _ := os.ReadDir(filepath.Join(root, dir)) // what cannot be read is not seen
		for _, e := range entries {
			path := filepath.Join(root, dir, e.Name())
			if (dir != "etc" || e.Name() == "crontab") && runsIngest(path) {
				return "crontab " + path
			}
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
