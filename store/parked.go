package store

import (
	"context"
	"errors"
	"time"

	"github.com/trendvidstream/ingest"
)

// Park implements fetch.Shelf.
func (s *Store) Park(ctx context.Context, slot ingest.Slot, ids []string, since time.Time, halves ...ingest.Piece) (ingest.Slot, error) {
	return slot, errors.ErrUnsupported
}

// Parked implements fetch.Shelf.
func (s *Store) Parked(ctx context.Context, slot ingest.SlotKey, n int, since time.Time) ([]string, error) {
	return nil, errors.ErrUnsupported
}

// SaveFound implements fetch.Shelf.
func (s *Store) SaveFound(ctx context.Context, slot ingest.Slot, asked []string, page ingest.Page) (ingest.Slot, error) {
	return slot, errors.ErrUnsupported
}
