//go:build unix

package pgstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/storetest"
)

// A server that stops answering in the middle of a COMMIT holds nobody for longer than a program may take to stop.
func TestACommitWithoutAnAnswerEnds(t *testing.T) {
	d := faulty.Postgres(t)
	p := faulty.BeforePostgres(t, d.Addr(), "COMMIT")
	s := open(t, d.URLAt(p.Addr()), store.Options{Upstream: upstream})
	p.Lose(1, faulty.Swallowed)
	began := time.Now()
	err := s.AddDue(t.Context(), []ingest.Slot{storetest.Due("US", time.Unix(1771070400, 0))})
	took := time.Since(began)
	if !errors.Is(err, store.ErrUnavailable) || took > 10*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
}
