package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/audit"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// source returns the source of the metrics and the status page: the ledger and the store, as the commands show them.
func (a *app) source(l *ledger, s *store.Store) *web.Source {
	source := a.storeSource(s, nil)
	source.Quota = func(ctx context.Context,
		store func() standing.Facts) (doc report.QuotaDocument, _ standing.Facts, err error) {
		left, ledgerErr := l.report(ctx)
		f := store()
		f.Report, f.LedgerErr = left, ledgerErr
		st, err := a.standBy(ctx, f, s)
		if err == nil {
			doc, err = a.quotaDocument(ctx, l, s, st)
		}
		return doc, st.Facts, err
	}
	source.Spent = func(ctx context.Context, since time.Time, every time.Duration) ([]quota.Spent, error) {
		return l.Spent(ctx, l.Account, since, every)
	}
	source.Ledger = func(ctx context.Context) (report.LedgerDocument, error) { return a.ledgerDocument(ctx, l, s) }
	source.Cost = l.Tariff.Cost
	source.Emergency = func(ctx context.Context, since time.Time) (quota.Cost, error) {
		return l.journal.Emergencies(ctx, l.Account, since)
	}
	return source
}

// storeSource is the part of source that needs no ledger; why returns why the ledger cannot be opened.
func (a *app) storeSource(s *store.Store, why func() error) *web.Source {
	return &web.Source{
		Quota: func(context.Context, func() standing.Facts) (report.QuotaDocument, standing.Facts, error) {
			return report.QuotaDocument{}, standing.Facts{}, why()
		},
		Slots: func(ctx context.Context, since time.Time) ([]report.SlotDocument, error) {
			slots, err := s.ListSlots(ctx, store.SlotFilter{Since: since})
			return report.NewSlotsDocument(slots, nil).Slots, err
		},
		DayPrice: a.dayPrice, Backup: s.LastBackup, Kept: s.Kept,
		Backfills: func(ctx context.Context) (docs []report.BackfillDocument, err error) {
			list, err := s.Backfills(ctx)
			for _, b := range list {
				l := newBackfillLine(b)
				docs = append(docs, report.BackfillDocument{ID: l.ID, What: l.What, Outcome: l.Outcome,
					Ended: l.Pieces["total"] - b.Open(), Pieces: l.Pieces["total"], Units: l.Charges["units"], Charges: l.Charges})
			}
			return docs, err
		},
		Tops: func(ctx context.Context) (map[string]string, error) { return s.TopTitles(ctx, a.cfg.RegionCodes()) },
	}
}

// dayPrice returns the price of a day of the schedule or, if every is set, of a day with each chart fetched that often.
func (a *app) dayPrice(every time.Duration) (map[string]int64, error) {
	schedule, err := a.scheduleOf(budget.ChartsEvery(a.cfg.Jobs, every))
	if err != nil {
		return nil, err
	}
	price, err := schedule.DayPrice(a.clock.Now())
	return price.Total, err
}

// ledgerDocument returns the ledger's state, and whether it has every spend of the store's slots.
func (a *app) ledgerDocument(ctx context.Context, l *ledger, s *store.Store) (report.LedgerDocument, error) {
	doc := report.LedgerDocument{ProvenAt: term.Second(a.clock.Now())}
	state, err := l.journal.State(ctx, l.Account)
	if err != nil {
		return doc, err
	}
	if state.Generation != 0 {
		doc.Generation = fmt.Sprintf("%x", uint64(state.Generation))
	}
	if b := state.Breaker; b.Until.After(doc.ProvenAt) {
		doc.RetryAt, doc.Why = term.FromOrNull(b.Until), b.Why
	}
	account := l.audit()
	slots, err := s.SpentSlots(ctx, account.MissingSince())
	if err != nil {
		return doc, err
	}
	missing, err := account.Missing(ctx, slots)
	doc.Missing = audit.Units(missing)
	return doc, err
}

func (a *app) metricsCommand() *cobra.Command {
	return command("metrics", "Print the figures once, in the text format of Prometheus",
		noArgs, func(ctx context.Context, _ []string) error {
			read := false
			err := a.withReadOnlyLedger(ctx, func(ctx context.Context, l *ledger) error {
				read = true
				return a.printMetrics(ctx, func(s *store.Store) *web.Source { return a.source(l, s) })
			})
			if read || exitCode(err) != exitUnavailable {
				return err
			}
			return a.printMetrics(ctx, func(s *store.Store) *web.Source { return a.storeSource(s, func() error { return err }) })
		})
}

// printMetrics prints the figures of that source. Figures that cannot be read are left out, and source_readable says
// so; a store that cannot be read is an error as well.
func (a *app) printMetrics(ctx context.Context, source func(*store.Store) *web.Source) error {
	s, storeErr := a.readStore(ctx)
	from := source(s)
	if storeErr != nil {
		from.Slots = func(context.Context, time.Time) ([]report.SlotDocument, error) { return nil, storeErr }
	} else {
		defer func() { _ = s.Close() }()
	}
	status := web.Status{
		Now: a.clock.Now, Version: version, Source: func() (*web.Source, error) { return from, nil },
		Facts: func(ctx context.Context) standing.Facts { return a.facts(ctx, s, storeErr) },
	}
	return status.WriteMetrics(ctx, a.stdout)
}
