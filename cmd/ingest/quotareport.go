package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// withLedger opens the ledger for a command that fetches nothing.
func (a *app) withLedger(ctx context.Context, do func(context.Context, *ledger) error) error {
	l, err := a.openCheckedLedger(ctx, a.spentSlots)
	if err != nil {
		return err
	}
	defer l.close()
	l.Reserve = a.scheduleNeeds(l)
	return do(ctx, l)
}

// scheduleNeeds returns the amounts that calls of backfills and clients must leave for the schedule, for a command
// that fetches nothing. It opens the store on the first call. Slots of a store that cannot be read count as still
// needed.
func (a *app) scheduleNeeds(l *ledger) func(context.Context) quota.Reserve {
	compute := func(ctx context.Context) (quota.Reserve, error) {
		schedule, err := a.schedule()
		if err != nil {
			return quota.Reserve{}, err
		}
		var r quota.Reserve
		s, err := a.store(ctx)
		if err == nil {
			defer func() { _ = s.Close() }()
			r, err = schedule.Reserve(ctx, s, a.clock.Now())
		}
		if err != nil {
			r, err = schedule.Reserve(ctx, budget.NoSlots{}, a.clock.Now())
		}
		if err == nil {
			r.Used, _ = l.ScheduledUse(ctx)
		}
		return r, err
	}
	return (&budget.ReserveCache{Now: a.clock.Now, Log: a.log(), Compute: compute}).Reserve
}

// withReadOnlyLedger is withLedger for a command that only reads. It works even if the store cannot be read. If the
// data directory does not exist or cannot be written, it opens a copy of the ledger and creates nothing there.
func (a *app) withReadOnlyLedger(ctx context.Context, do func(context.Context, *ledger) error) error {
	path := filepath.Join(a.cfg.Data, ledgerFile)
	_, err := os.Stat(a.cfg.Data)
	absent := errors.Is(err, fs.ErrNotExist)
	var refused error
	if a.cfg.Ledger != "sqlite" || !absent {
		var l *ledger
		l, refused = a.openCheckedLedger(ctx, func(ctx context.Context, since time.Time) ([]ingest.Slot, error) {
			slots, _ := a.spentSlots(ctx, since)
			return slots, nil
		})
		if refused == nil {
			defer l.close()
			l.Reserve = a.scheduleNeeds(l)
			return do(ctx, l)
		}
		if a.cfg.Ledger != "sqlite" || !sqlitefile.Forbidden(refused) {
			return refused
		}
	}
	dir, err := sqlitefile.ScratchDir(a.cfg.Data, "ingest-quota-*")
	if err != nil {
		return fmt.Errorf("%s: %w", ledgerFile, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if absent {
		a.say("ingest: %s does not exist yet: nothing was fetched there; check --data if you expected data", a.cfg.Data)
	} else if err := sqlitefile.Snapshot(ctx, path, filepath.Join(dir, ledgerFile)); err != nil {
		return refused
	}
	reader, cfg := *a, *a.cfg
	reader.cfg, cfg.Data = &cfg, dir
	l, err := reader.openLedger(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	l.Reserve = a.scheduleNeeds(l)
	return do(ctx, l)
}

// quotaFlags are the parts that the quota command reports.
type quotaFlags struct {
	purpose quota.Purpose // the exit code is 75 if nothing is left for it
	since   config.Since  // list the spends since then; zero: as far back as a window counts
	all     bool
}

// quotaReport prints the rest. It spends nothing.
func (a *app) quotaReport(ctx context.Context, l *ledger, f quotaFlags) error {
	since := f.since.At(a.clock.Now())
	s, storeErr := a.store(ctx)
	if storeErr == nil {
		defer func() { _ = s.Close() }()
	}
	unreadable := storeErr
	if errors.Is(storeErr, fs.ErrNotExist) {
		unreadable = a.checkStoreGone(ctx, l) // else nothing was fetched yet
	}
	st, err := a.stand(ctx, s, unreadable, l.report)
	var doc report.QuotaDocument
	if err == nil {
		doc, err = a.quotaDocument(ctx, l, s, st)
	}
	if err == nil && !since.IsZero() && st.Report.Degraded == nil {
		var spent []quota.Spent
		spent, err = l.Spent(ctx, l.Account, since, 0)
		doc.Spent, doc.Since = report.NewSpentDocuments(spent), term.TimeOrNull(since)
	}
	if err != nil {
		return err
	}
	if storeErr == nil {
		a.warnOfStore(ctx, s)
	}
	if err = a.show(report.QuotaScreen{QuotaDocument: doc, Standing: st, Next: report.NewNextDocuments(st),
		All: f.all}); err == nil {
		err = st.StoreErr
	}
	if err == nil {
		err = endWith(st.ExitCode(f.purpose), st.Report.Degraded)
	}
	return err
}

// quotaDocument returns the rest; s is nil if there is no store.
func (a *app) quotaDocument(ctx context.Context, l *ledger, s *store.Store,
	st standing.Standing) (doc report.QuotaDocument, err error) {
	if st.LedgerErr != nil {
		return doc, st.LedgerErr
	}
	doc = report.NewQuotaDocument(st.Pace.Resume(st.Report), l.Tariff, st.Forecast)
	if s != nil {
		doc.NoteSaved(st.Calls, l.Tariff)
		schedule, err := a.schedule()
		if slots, slotsErr := s.SpentSlots(ctx, l.Now().Add(-24*time.Hour)); err == nil && slotsErr == nil {
			doc.Wasted = schedule.Wasted(slots)
		}
	}
	doc.Data, doc.Ledger = a.cfg.Data, config.ServerName(a.cfg.Ledger)
	return doc, nil
}
