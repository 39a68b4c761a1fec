package store

import (
	"context"
	"errors"

	"github.com/trendvidstream/ingest"
)

// Piece implements fetch.Pieces.
func (s *Store) Piece(ctx context.Context, slot ingest.SlotKey) (ingest.Piece, error) {
	return ingest.Piece{}, errors.ErrUnsupported
}

// Restart implements fetch.Pieces.
func (s *Store) Restart(ctx context.Context, slot ingest.Slot, pages int) (ingest.Slot, error) {
	return slot, errors.ErrUnsupported
}

// GiveUp implements fetch.Pieces.
func (s *Store) GiveUp(ctx context.Context, slot ingest.Slot, id, reason string) (ingest.Slot, error) {
	return slot, errors.ErrUnsupported
}
