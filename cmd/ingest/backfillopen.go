package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/store"
)

// openForPlanning is open for planning: without a key, since nothing is sent.
func (a *app) openForPlanning(ctx context.Context) (*fetchRuntime, error) {
	if err := a.canRefill(); err != nil {
		return nil, err
	}
	return a.openWith(ctx, openKeyless)
}

// canRefill refuses an upstream that has no backfills.
func (a *app) canRefill() error {
	if a.provider().refills {
		return nil
	}
	return config.Invalid(fmt.Errorf("there are no backfills from %s: its charts are fetched by ingest run", a.cfg.Upstream))
}

// openForPricing opens what pricing needs besides a store that is open already.
func (a *app) openForPricing(ctx context.Context, s *store.Store) (*fetchRuntime, error) {
	schedule, price, err := a.pricedSchedule()
	if err != nil {
		return nil, err
	}
	w := &fetchRuntime{schedule: schedule, price: price, upstream: a.provider().calls, store: s}
	if w.ledger, err = a.openCheckedLedger(ctx, s.SpentSlots); err != nil {
		return nil, err
	}
	w.close = w.ledger.close
	return w, nil
}

// findBackfill finds a plan by its id.
func findBackfill(ctx context.Context, s *store.Store, id string) (store.BackfillStatus, error) {
	b, err := s.FindBackfill(ctx, id)
	if errors.Is(err, store.ErrNoBackfill) {
		hint := ""
		if !strings.HasPrefix(id, "bf-") {
			hint = ", and the kinds are uploads, search, videos and refresh"
		}
		return b, usageError{fmt.Errorf("there is no backfill %s: ingest backfill status lists them%s", term.Fit(id, 40), hint)}
	}
	return b, err
}

// errNoPlan is the error for an id when there is no store.
func errNoPlan(id string) error {
	return codeError{exitError, fmt.Errorf("there is no backfill %s: none is planned in this data directory", term.Fit(id, 40))}
}
