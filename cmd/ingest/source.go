package main

import (
	"context"
	"time"

	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
	"github.com/trendvidstream/ingest/store"
)

// source is what the metrics and the status page read: the ledger and the store, as the commands show them.
func (a *app) source(g *quota.Governor, s *store.Store) *web.Source {
	return &web.Source{
		Quota: func(ctx context.Context) (web.QuotaDocument, error) {
			doc, _, err := a.quotaDocument(ctx, g)
			return doc, err
		},
		Slots: func(ctx context.Context, since time.Time) ([]web.SlotDocument, error) {
			slots, err := s.ListSlots(ctx, store.SlotFilter{Since: since})
			docs := make([]web.SlotDocument, 0, len(slots))
			for _, slot := range slots {
				docs = append(docs, web.NewSlotDocument(slot))
			}
			return docs, err
		},
		Cost: g.Tariff.Cost,
		Emergency: func(ctx context.Context, since time.Time) (quota.Cost, error) {
			return journalOf(g).Emergencies(ctx, g.Account, since)
		},
	}
}

// journalOf is the file of this data directory: the ledger itself or, beside a Redis, the journal.
func journalOf(g *quota.Governor) *sqliteledger.Ledger {
	if shared, ok := g.Reserve.(*sharedledger.Ledger); ok {
		return shared.Journal.(*sqliteledger.Ledger)
	}
	return g.Reserve.(*sqliteledger.Ledger)
}
