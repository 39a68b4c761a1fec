package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/web"
)

var (
	errNotOpen  = errors.New("not open yet")
	errNotAsked = errors.New("not asked yet")
)

// newSite is what the service shows at its address, and judges itself by.
func (s *Service) newSite() *web.Site {
	return &web.Site{
		Now: s.Now, Alive: s.alive, Schedule: s.Plan, Slots: lastSlots{s}, StaleAfter: s.StaleAfter,
		Checks: []web.Check{{Name: "store", Look: s.checkStore}, {Name: "ledger", Look: s.checkLedger}, {Name: "key", Look: s.checkKey}},
	}
}

// store is the store, once it is open.
func (s *Service) store() (Store, error) {
	if r := s.state.read().runtime; r != nil {
		return r.Store, nil
	}
	if err := s.state.read().openErr; err != nil {
		return nil, err
	}
	return nil, errNotOpen
}

func (s *Service) checkStore(ctx context.Context) (string, error) {
	store, err := s.store()
	if err != nil {
		return "", err
	}
	return store.Check(ctx)
}

// checkLedger repeats what the ledger answered last: whoever asks must not make it work.
func (s *Service) checkLedger(context.Context) (string, error) {
	st := s.state.read()
	switch since := time.Since(st.askedLedger); {
	case st.openErr != nil:
		return "", st.openErr
	case st.askedLedger.IsZero():
		return "", errNotAsked
	case st.ledgerErr != nil:
		return "", fmt.Errorf("degraded: %w", st.ledgerErr)
	case since > 2*s.heartbeat+askWithin:
		return "", fmt.Errorf("has not answered for %v", since.Round(time.Second))
	}
	return remaining(st.report), nil
}

func (s *Service) checkKey(context.Context) (string, error) {
	switch st := s.state.read(); {
	case st.keyErr != nil:
		return "", st.keyErr
	case st.keyAccepted:
		return "accepted", nil
	default:
		return "not refused so far", nil
	}
}

// lastSlots reads the store for the site.
type lastSlots struct{ service *Service }

func (l lastSlots) Last(ctx context.Context, of ingest.Series) (done, ended ingest.Slot, err error) {
	store, err := l.service.store()
	if err != nil {
		return done, ended, err
	}
	return store.Last(ctx, of)
}
