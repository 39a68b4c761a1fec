package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

// The checks of done and missing slots.

// JudgeFreshness says which series are late, and why.
func JudgeFreshness(_ *Doctor, st standing.Standing) Finding {
	if st.StoreErr != nil {
		return noFinding // the check "store" reports it
	}
	check := report.ChartsCheck(st)
	trouble, _ := st.Trouble()
	overdue := slices.ContainsFunc(st.Series, func(s standing.Series) bool { return !s.OverdueSince.IsZero() })
	lacking := slices.Contains([]standing.SeriesState{standing.Absent, standing.Empty, standing.Shrunk}, trouble)
	if check.Mood == report.Good || check.Mood == report.Warn && len(st.StaleSeries()) == 0 && !overdue && !lacking {
		return okf("%s, %s", check.Says, check.Detail)
	}
	lines, advice := []string{check.Says}, "ingest slots --region R says why; is a timer, cron or serve running?"
	switch {
	case check.Mood == report.Idle:
		advice = "ingest run fetches the due slots"
	case trouble == standing.Empty || trouble == standing.Shrunk:
		advice = st.Charts.Cure().Advice
	case trouble == standing.Absent:
		advice = "wait until the provider has such a chart, or take its region out of regions: in the config"
	}
	if at := st.GivenBack(); at.Reason != "" {
		lines = append(lines, fmt.Sprintf("the last run ended at %s: %s", at.Series().String(), oneLine(at.Reason)))
	}
	return warn(strings.Join(append(lines, shortenList(8, lateLines(st), "more")...), "; "), advice)
}

// lateLines describes the series that are late, or whose newest fetch failed, with each reason once.
func lateLines(st standing.Standing) (lines []string) {
	said := map[string]bool{}
	for _, series := range report.NewFreshness(st).Series {
		if series.Is.Mood() < report.Warn {
			continue
		}
		line := series.String()
		if reason := series.Reason; reason != "" && !said[reason] { // the reason that was recorded when the slot ended
			line, said[reason] = series.WithReason(), true
		}
		lines = append(lines, oneLine(line))
	}
	return lines
}

// JudgeContact says whether the upstream answered the calls of runs.
func JudgeContact(d *Doctor, st standing.Standing) Finding {
	if st.Contact == nil || st.Contact.AskedAt.IsZero() {
		return noFinding // the check "store" reports it, or no call was made
	}
	says := d.Provider + " " + report.UpstreamText(st)
	if st.Upstream.Cause == standing.KeyRefused {
		return fail(BadKey, says+", and nothing has been fetched since",
			"give a key that the provider accepts; ingest doctor --online asks again and says why it is refused")
	}
	if st.Upstream.Cause == standing.UpstreamSilent {
		return fail(Unavailable, says, "ingest slots shows the calls' outcomes: the provider's errors pass "+
			"by themselves; otherwise check the network (DNS, firewall, proxy); ingest doctor --online asks once more")
	}
	return okf("%s", says)
}

// judgeAnswers says how many answers had too few videos to be believed, if the newest of them is of the last day.
func judgeAnswers(d *Doctor, about store.Summary) Finding {
	c := about.Contact
	if c.Suspects == 0 || d.now().Sub(c.SuspectAt) >= 24*time.Hour {
		return noFinding
	}
	return warn(fmt.Sprintf("%s lacked too many of the videos that were asked for, the newest %s",
		term.Plural(int(c.Suspects), "answer"), term.Stamp(c.SuspectAt)),
		fmt.Sprintf("no video was deleted because of that; %s will be requested again; ingest slots names the slots",
			term.Plural(int(about.InDoubt), "video")))
}

// shortenList cuts a list that is longer than n, and counts the rest.
func shortenList(n int, lines []string, what string) []string {
	if len(lines) <= n {
		return lines
	}
	return append(lines[:n:n], fmt.Sprintf("and %d %s", len(lines)-n, what))
}

// oneLine keeps the parts of a reason in one line of a finding.
func oneLine(reason string) string { return strings.ReplaceAll(reason, "; ", ", ") }

func lastDay(ctx context.Context, d *Doctor) (*store.SlotSummary, error) {
	slots, err := d.inspectSlots(ctx, d.now().Add(-24*time.Hour))
	return &slots, err
}

func judgeSlots(d *Doctor, slots store.SlotSummary) Finding {
	now := d.now()
	if ahead := slots.Ahead; d.OpenStore == nil && len(ahead) > 0 {
		return warn(fmt.Sprintf("%d are due in the future, the last at %s: they were added "+
			"while this machine's clock was ahead, and do not count", len(ahead), term.Stamp(ahead[0].DueAt)),
			"if the clock is right now, ingest doctor --repair removes them")
	}
	var stuck []string
	for _, s := range slots.Claimed {
		if !s.Lease.After(now) {
			stuck = append(stuck, fmt.Sprintf("%s of %s: claimed by %s, its lease has been over for %s",
				s.Series().String(), term.Stamp(s.DueAt), s.Owner, term.Ago(now.Sub(s.Lease))))
		}
	}
	failed := term.Texts(slots.Failed, func(s ingest.Slot) string {
		return fmt.Sprintf("%s of %s: %s", s.Series().String(), term.Stamp(s.DueAt), oneLine(s.Reason))
	})
	listed := append(shortenList(3, stuck, "more stuck"), shortenList(3, failed, "more failed")...)
	switch {
	case len(stuck) > 0:
		return warn(strings.Join(listed, "; "),
			"the next ingest run takes such a slot over; if it stays stuck, nothing runs: see the timer, cron or serve")
	case len(failed) > 0:
		return warn(fmt.Sprintf("%d failed in the last day; %s", len(failed), strings.Join(listed, "; ")),
			"ingest slots --outcome failed shows them all")
	}
	if len(slots.Lacking) > 0 {
		lacking := term.Texts(slots.Lacking,
			func(s ingest.Slot) string { return s.Series().String() + ": " + oneLine(s.Reason) })
		return warn(strings.Join(shortenList(3, lacking, "more incomplete"), "; "),
			"ingest backfill status ID shows all that a backfill lacks; to list it once more, plan it with --again")
	}
	if lost := report.LostTicks(report.NewSlotsDocument(slots.Ended, nil).Slots, len(slots.Latest.Known())); lost != "" {
		return warn(lost, "ingest slots --outcome skipped (or missed) shows them; "+
			"check that each machine is up, and that ingest works there and runs as often as the schedule wants")
	}
	return okf("no slot is stuck, and none failed in the last day")
}

// checkHooks says whether the hooks can receive events, and did.
func checkHooks(ctx context.Context, d *Doctor) Finding {
	if len(d.Config.Hooks) == 0 {
		return noFinding
	}
	if err := d.Config.CheckHooks(); err != nil {
		return warn(err.Error(), "the hook's events are kept for three days, and sent when this is corrected")
	}
	st, err := stand(ctx, d)
	if err != nil || st.StoreErr != nil {
		return noFinding // another check says why
	}
	if c := st.Hooks; c.State != standing.Good {
		return warn(fmt.Sprintf("%s, since %s", oneLine(c.Err.Error()), term.Stamp(c.Since)),
			"correct that; the hook is tried again at "+term.Stamp(c.RetryAt))
	}
	return okf("%d received all events", len(d.Config.Hooks))
}
