package main

import (
	"context"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/store"
)

// newSite is what the service shows at its address, and goes by itself.
func (s *service) newSite() *web.Site {
	return &web.Site{
		Now: s.clock.Now, Alive: s.alive, Schedule: s.plan, Slots: webSlots{s}, StaleAfter: s.cfg.StaleAfter,
		Checks: []web.Check{{Name: "store", Look: s.checkStore}, {Name: "ledger", Look: s.checkLedger}, {Name: "key", Look: s.checkKey}},
	}
}

func (s *service) checkStore(ctx context.Context) (string, error) {
	db, err := s.db()
	if err != nil {
		return "", err
	}
	_, err = db.ListSlots(ctx, store.SlotFilter{Limit: 1})
	return db.Path(), err
}

// db is the store, once it is open.
func (s *service) db() (*store.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.works != nil:
		return s.works.store, nil
	case s.know.unopened != nil:
		return nil, s.know.unopened
	default:
		return nil, errNotOpen
	}
}

// checkLedger tells of the last look: whoever asks must not make the ledger work.
func (s *service) checkLedger(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.know
	old := 2*s.heartbeat + lookWithin
	switch since := time.Since(k.looked); {
	case k.unopened != nil:
		return "", k.unopened
	case k.looked.IsZero():
		return "", errNotLooked
	case k.ledgerErr != nil:
		return "", fmt.Errorf("degraded: %w", k.ledgerErr)
	case since > old:
		return "", fmt.Errorf("has not answered for %v", since.Round(time.Second))
	}
	return remaining(k.report), nil
}

func (s *service) checkKey(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.know.keyErr != nil:
		return "", s.know.keyErr
	case s.know.accepted:
		return "accepted", nil
	default:
		return "not refused so far", nil
	}
}

// webSlots reads the store for the site.
type webSlots struct{ *service }

func (w webSlots) Last(ctx context.Context, of ingest.Series) (done, ended ingest.Slot, err error) {
	db, err := w.db()
	if err != nil {
		return done, ended, err
	}
	list, err := db.ListSlots(ctx, store.SlotFilter{Job: of.Job, Key: of.Key, State: ingest.Done, Limit: 1})
	if err != nil {
		return done, ended, err
	}
	if len(list) > 0 {
		done = list[0]
	}
	const open = 3 // of a series, at most, that are newer than its last outcome
	list, err = db.ListSlots(ctx, store.SlotFilter{Job: of.Job, Key: of.Key, Limit: open})
	for _, slot := range list {
		if slot.State != ingest.Due && slot.State != ingest.Claimed {
			return done, slot, err
		}
	}
	return done, ended, err
}
