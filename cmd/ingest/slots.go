package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/documents"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

func (a *app) slotsCommand() *cobra.Command {
	f, next := store.SlotFilter{Limit: 50, Lacking: true}, 0
	var region ingest.Region
	var since config.Since
	cmd := command("slots", "Done and missing slots with the reasons, and the next ones", noArgs,
		func(ctx context.Context, _ []string) error {
			if f.Key = string(region); next > 0 {
				return printNext(ctx, a, next, f.Key)
			}
			f.Since = since.At(a.clock.Now())
			return a.withStore(ctx, func(ctx context.Context, s *store.Store) error {
				slots, err := s.ListSlots(ctx, f)
				if err != nil {
					return err
				}
				a.warnOfStore(ctx, s)
				series, err := seriesOf(ctx, a, f.Key)
				if err != nil {
					return err
				}
				ran := slices.IndexFunc(series, func(s report.SeriesDocument) bool { return s.LastRunAt != nil })
				if f.State == ingest.Missed && ran >= 0 {
					a.say("nothing has run since %s: the next run records the slots missed since", term.Stamp(*series[ran].LastRunAt))
				}
				idle, err := a.idleMachines(ctx, s)
				if err != nil {
					return err
				}
				return printSlots(&a.console, slots, series, idle, a.clock.Now(), !since.IsZero() ||
					f.State+ingest.State(f.Key) != "")
			})
		})
	cmd.Flags().Var(config.Count(&next, 1, 0), "next", "show the next `N` slots instead")
	cmd.Flags().Var(config.Count(&f.Limit, 1, 0), "limit", "at most `N` slots, newest first")
	documents.AddSlotFlags(cmd.Flags(), &f.State, &region, &since)
	return a.watchable(cmd)
}

// printNext shows the next slots of the schedule: the waiting slots, stored or not, and the coming ones.
func printNext(ctx context.Context, a *app, n int, region string) error {
	st, err := a.openStanding(ctx)
	if err = cmp.Or(err, st.StoreErr); err != nil {
		return err
	}
	a.sayClosed(st)
	if text := st.Pace.String(); text != "" && !a.json {
		term.Paragraph(a.stdout, text)
	}
	slots := report.NextSlots(st, n, region, a.json)
	return printSlots(&a.console, slots, nil, nil, st.Now, region != "")
}

// sayClosed describes the runs' fetching while the ledger cannot answer.
func (a *app) sayClosed(st standing.Standing) {
	if text := report.ClosedText(st); text != "" {
		a.say("ingest: %s", text)
	}
}

// seriesOf returns the known facts about every series of the schedule, or about the series of one key.
func seriesOf(ctx context.Context, a *app, key string) ([]report.SeriesDocument, error) {
	st, err := a.openStanding(ctx)
	if err != nil {
		return nil, err
	}
	a.sayClosed(st)
	return report.NewSeriesDocuments(st, key), nil
}

// idleMachines returns the machines that share the store and do not work.
func (a *app) idleMachines(ctx context.Context, s *store.Store) ([]ingest.IdleMachine, error) {
	now, err := s.Clock(ctx)
	if err != nil || now.IsZero() {
		return nil, err
	}
	return s.IdleMachines(ctx, now, "")
}

// printSlots prints slots, which may be filtered, the machines that do not work, and if only one series was asked for,
// how fresh it is.
func printSlots(out *console, slots []ingest.Slot, series []report.SeriesDocument, idle []ingest.IdleMachine,
	now time.Time, filtered bool) error {
	if !out.json {
		for _, m := range idle {
			out.say("ingest: %s", m)
		}
	}
	switch {
	case out.json:
		doc := report.NewSlotsDocument(slots, series)
		doc.Idle = idle
		return out.printJSON(doc)
	case len(slots) == 0 && filtered:
		out.say("no such slots: leave out --since, --outcome or --region to see others")
		return nil
	case len(slots) == 0:
		out.say("no slots: has ingest run been here yet?")
		return nil
	case len(series) == 1:
		fmt.Fprintf(out.stdout, "%s\n\n", term.Wrap(series[0].Line(now), term.Screen, "  "))
	}
	report.PrintSlots(out.stdout, slots, now)
	return nil
}
