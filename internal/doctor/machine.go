package doctor

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/trendvidstream/ingest/fetch/wire"
	"github.com/trendvidstream/ingest/internal/ownfile"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// The checks of the program, the user that runs it, and its clock.

func checkVersion(_ context.Context, d *Doctor) Finding {
	return okf("ingest %s (%s, %s/%s)", d.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func checkEnvironment(_ context.Context, d *Doctor) Finding {
	if d.UID == 0 {
		return warn("running as root: the user of a service cannot write to files that it makes",
			"run ingest as the user that owns the data; as root, run only commands that write nothing")
	}
	return okf("%s", ownfile.UserName(d.UID))
}

// firstBuild is before any build of this program: a clock that shows an earlier time was never set.
var firstBuild = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func checkClock(ctx context.Context, d *Doctor) Finding {
	if d.ClockErr != nil {
		return failWith(d.ClockErr, "unset INGEST_NOW")
	}
	now := d.now()
	if d.Clock.Moved {
		return checkMovedClock(ctx, d)
	}
	if now.Before(firstBuild) {
		return fail(Other, "it says "+term.Stamp(now)+", which is long past", "set the clock: timedatectl set-ntp true")
	}
	t, err := d.Tariff()
	if err != nil {
		return okf("%s", term.Stamp(now))
	}
	return okf("%s, for the provider %s", term.Stamp(now), now.In(t.Zone).Format("2006-01-02 15:04 MST"))
}

// checkMovedClock judges INGEST_NOW as every command that spends does.
func checkMovedClock(ctx context.Context, d *Doctor) Finding {
	text := "INGEST_NOW has moved it to " + term.Stamp(d.now())
	local := d.StandIn
	if s, err := storeSummary(ctx, d); err == nil && s.Upstream != "" {
		local = wire.IsLoopback(s.Upstream)
	}
	if d.OpenRemote != nil || !local {
		return fail(BadConfig, text+", and this configuration spends real quota",
			"unset INGEST_NOW: it goes with a stand-in upstream and --ledger sqlite only")
	}
	return warn(text, "unset INGEST_NOW when the trial is over")
}

const notableGap = 5 * time.Second // between two clocks

// judgeClock judges how far another clock is ahead of this machine's clock.
func (d *Doctor) judgeClock(gap time.Duration, whose string) Finding {
	if t, err := d.Tariff(); err == nil {
		return judgeClockGap(gap, t.Gap(), whose, noLedger)
	}
	return judgeClockGap(gap, quota.MaxClockGap, whose, noLedger)
}

const noLedger = "it is not trusted, and nothing but the emergency budget is spent" // while a ledger's clock is apart

// judgeClockGap judges a gap; beyond names the consequence of one beyond the trusted gap.
func judgeClockGap(gap, trusted time.Duration, whose, beyond string) Finding {
	side := "ahead of"
	if gap < 0 {
		side = "behind"
	}
	text := fmt.Sprintf("the clock of %s is %v %s this one", whose, gap.Abs().Round(100*time.Millisecond), side)
	const advice = "set both clocks by NTP: timedatectl set-ntp true"
	switch {
	case gap.Abs() > trusted:
		return fail(Unavailable, text+": "+beyond, advice)
	case gap.Abs() > notableGap:
		return warn(text, advice)
	}
	return okf("%s", text)
}
