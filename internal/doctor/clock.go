package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/fetch/wire"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// firstBuild is before any build of this program: a clock that shows an earlier time was never set.
var firstBuild = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func lookClock(ctx context.Context, d *Doctor) Finding {
	if d.ClockErr != nil {
		return broken(d.ClockErr, "unset INGEST_NOW")
	}
	now := d.now()
	if d.Clock.Moved {
		return lookMovedClock(ctx, d)
	}
	if now.Before(firstBuild) {
		return fail(Other, "it says "+term.Stamp(now)+", which is long past", "set the clock: timedatectl set-ntp true")
	}
	t, err := d.Tariff()
	if err != nil {
		return fine("%s", term.Stamp(now))
	}
	return fine("%s, for the provider %s", term.Stamp(now), now.In(t.Zone).Format("2006-01-02 15:04 MST"))
}

// lookMovedClock judges INGEST_NOW as every command does that spends.
func lookMovedClock(ctx context.Context, d *Doctor) Finding {
	text := "INGEST_NOW has moved it to " + term.Stamp(d.now())
	local := d.StandIn
	if s, err := store.Inspect(ctx, d.Config.Data); err == nil && s.Upstream != "" {
		local = wire.IsLoopback(s.Upstream)
	}
	if d.OpenRemote != nil || !local {
		return fail(BadConfig, text+", where quota that counts is spent", "unset INGEST_NOW: it goes with a stand-in upstream and --ledger sqlite only")
	}
	return warn(text, "unset INGEST_NOW when the trial is over")
}

const worthAWord = 5 * time.Second // between two clocks

// judgeClockGap judges how far another clock is ahead of this machine's.
func judgeClockGap(gap time.Duration, whose string) Finding {
	side := "ahead of"
	if gap < 0 {
		side = "behind"
	}
	text := fmt.Sprintf("the clock of %s is %v %s this one", whose, gap.Abs().Round(100*time.Millisecond), side)
	const advice = "set both clocks by NTP: timedatectl set-ntp true"
	switch {
	case gap.Abs() > quota.MaxClockGap:
		return fail(Unavailable, text+": it is not trusted, and nothing but the emergency budget is spent", advice)
	case gap.Abs() > worthAWord:
		return warn(text, advice)
	}
	return fine("%s", text)
}
