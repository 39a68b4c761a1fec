package doctor

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// The checks of what ran and what did not.

func checkFreshness(ctx context.Context, d *Doctor) Finding {
	schedule, err := d.Schedule()
	if err != nil {
		return noFinding // config reports it
	}
	now := d.now()
	slots, err := d.inspectSlots(ctx, now, now)
	if err != nil {
		return noFinding // store reports it
	}
	var stale []string
	paced := sync.OnceValue(func() regions.Schedule { return d.paced(ctx, schedule, slots.Series) })
	after := cmp.Or(d.Config.StaleAfter, regions.DefaultStaleAfter)
	said := map[string]bool{}
	all, oldest, of := schedule.Series(), time.Duration(0), ""
	for _, series := range all {
		known := slots.Series[series]
		if !schedule.Stale(series, known.DoneDue, now, after) || !paced().Stale(series, known.DoneDue, now, after) {
			if age := now.Sub(known.DoneDue); age > oldest {
				oldest, of = age, seriesName(series)
			}
			continue
		}
		line := seriesName(series) + ": never done"
		if !known.DoneDue.IsZero() {
			line = fmt.Sprintf("%s: last done %s, %s ago", seriesName(series), term.Stamp(known.DoneDue), term.Ago(now.Sub(known.DoneDue)))
		}
		reason := strings.TrimSpace(string(known.State) + " " + oneLine(known.Reason)) // as it was recorded then
		if known.State != ingest.Done && reason != "" && !said[reason] {
			line += ", " + reason
			said[reason] = true
		}
		stale = append(stale, line)
	}
	fresh := len(all) - len(stale)
	if len(stale) > 0 {
		listed := shortenList(8, stale, "more")
		if len(slots.Waiting) > 0 {
			at := slots.Waiting[len(slots.Waiting)-1] // the oldest
			listed = append([]string{fmt.Sprintf("the last run ended at %s: %s", seriesName(at.Series()), oneLine(at.Reason))}, listed...)
		}
		return warn(fmt.Sprintf("%d stale, %d fresh; %s", len(stale), fresh, strings.Join(listed, "; ")),
			"ingest slots --region R says why; is a timer, cron or serve running?")
	}
	return okf("%d of %d fresh, the oldest is %s, due %s ago", fresh, fresh, of, term.Ago(oldest))
}

// checkUpstream says whether the upstream answers the calls of runs; it asks nothing.
func checkUpstream(ctx context.Context, d *Doctor) Finding {
	about, err := d.inspectStore(ctx)
	if err != nil || about.Contact.AskedAt.IsZero() {
		return noFinding // store reports it, or nothing was asked
	}
	u := report.NewUpstreamDocument(d.Provider, about.Contact, d.now(), 0)
	if u.Unreachable {
		return fail(Unavailable, u.Name+" "+u.String(), "see the network: DNS, firewall, proxy; ingest doctor --online asks once more, ingest slots says what the calls met")
	}
	return okf("%s %s", u.Name, u.String())
}

// paced returns the schedule at its current pace, or as configured if the ledger cannot say what that is.
func (d *Doctor) paced(ctx context.Context, schedule regions.Schedule, series map[ingest.Series]store.SeriesSummary) regions.Schedule {
	if d.Config.Pacing {
		schedule, err := d.PricedSchedule()
		report, reportErr := ledgerReport(ctx, d)
		if err == nil && reportErr == nil {
			done := map[ingest.Series]time.Time{}
			for of, s := range series {
				done[of] = s.DoneDue
			}
			return schedule.Pace(report, done, d.now()).Schedule
		}
	}
	return schedule
}

// shortenList cuts a list that is longer than n, and counts what is left out.
func shortenList(n int, lines []string, what string) []string {
	if len(lines) <= n {
		return lines
	}
	return append(lines[:n:n], fmt.Sprintf("and %d %s", len(lines)-n, what))
}

// oneLine keeps the parts of a reason in one line of a finding.
func oneLine(reason string) string { return strings.ReplaceAll(reason, "; ", ", ") }

// seriesName returns the job, and the region if it has any.
func seriesName(s ingest.Series) string { return strings.TrimSpace(s.Job + " " + s.Key) }

func checkSlots(ctx context.Context, d *Doctor) Finding {
	const lately = 24 * time.Hour
	now := d.now()
	slots, err := d.inspectSlots(ctx, now.Add(-lately), now)
	if err != nil {
		return noFinding // store reports it
	}
	if ahead := slots.Ahead; d.OpenStore == nil && len(ahead) > 0 {
		return warn(fmt.Sprintf("%d are due in the future, the last at %s: they were added while this machine's clock was ahead, and count for nothing", len(ahead), term.Stamp(ahead[0].DueAt)),
			"if the clock is right now, ingest doctor --repair removes them")
	}
	var stuck, failed []string
	for _, s := range slots.Claimed {
		if !s.Lease.After(now) {
			stuck = append(stuck, fmt.Sprintf("%s of %s: claimed by %s, its lease has been over for %s",
				seriesName(s.Series()), term.Stamp(s.DueAt), s.Owner, term.Ago(now.Sub(s.Lease))))
		}
	}
	for _, s := range slots.Failed {
		failed = append(failed, fmt.Sprintf("%s of %s: %s", seriesName(s.Series()), term.Stamp(s.DueAt), oneLine(s.Reason)))
	}
	listed := append(shortenList(3, stuck, "more stuck"), shortenList(3, failed, "more failed")...)
	switch {
	case len(stuck) > 0:
		return warn(strings.Join(listed, "; "), "the next ingest run takes it over; if it stays, nothing runs: see the timer, cron or serve")
	case len(failed) > 0:
		return warn(fmt.Sprintf("%d failed in the last day; %s", len(failed), strings.Join(listed, "; ")), "ingest slots --outcome failed shows them all")
	}
	if len(slots.Lacking) > 0 {
		var lacking []string
		for _, s := range slots.Lacking {
			lacking = append(lacking, seriesName(s.Series())+": "+oneLine(s.Reason))
		}
		return warn(strings.Join(shortenList(3, lacking, "more incomplete"), "; "),
			"ingest backfill status ID says all that a backfill lacks; planned with --again it is listed once more")
	}
	var ended []report.SlotDocument
	for _, s := range slots.Ended {
		ended = append(ended, report.NewSlotDocument(s))
	}
	if lost := report.LostTicks(ended, len(slots.Series)); lost != "" {
		return warn(lost, "ingest slots --outcome skipped, and missed, say which; see whether each machine runs, works, and runs as often as the schedule wants")
	}
	return okf("no claim is stuck, none failed in the last day")
}
