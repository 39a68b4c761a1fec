//go:build unix

package pgstore_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/storetest"
)

// A server that stops answering in the middle of a COMMIT delays a caller at most as long as a program may take to
// stop.
func TestACommitWithoutAnAnswerEnds(t *testing.T) {
	d := faulty.Postgres(t)
	p := faulty.BeforePostgres(t, d.Addr(), "COMMIT")
	s := open(t, d.URLAt(p.Addr()), store.Options{Upstream: upstream})
	p.Lose(1, faulty.Swallowed)
	began := time.Now()
	err := s.AddDue(t.Context(), []ingest.Slot{storetest.Due("US", time.Unix(1771070400, 0))})
	took := time.Since(began)
	if !errors.Is(err, ingest.ErrStoreSilent) || took > 10*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
}

// A machine that is frozen inside a write, and so holds the writers' lock, stops the others for seconds only.
func TestAFrozenWriterIsNotWaitedForForLong(t *testing.T) {
	d := faulty.Postgres(t)
	p := faulty.BeforePostgres(t, d.Addr(), "COMMIT")
	frozen, other := open(t, d.URLAt(p.Addr()), store.Options{Upstream: upstream}), open(t, d.URL(), store.Options{Upstream: upstream})
	holds, thaw, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	var once sync.Once
	p.Watch(func(m faulty.Moment) {
		if m == faulty.Asked {
			once.Do(func() { close(holds); <-thaw })
		}
	})
	go func() {
		ended <- frozen.AddDue(t.Context(), []ingest.Slot{storetest.Due("US", time.Unix(1771070400, 0))})
	}()
	<-holds
	began := time.Now()
	err := other.AddDue(t.Context(), []ingest.Slot{storetest.Due("DE", time.Unix(1771070400, 0))})
	took := time.Since(began)
	close(thaw)
	if err != nil || took > 10*time.Second {
		t.Errorf("the other waited for %v: %v", took, err)
	}
	if err := <-ended; err == nil {
		t.Error("the frozen commit: got no error, want it undone")
	}
	t.Logf("the other waited for %v", took)
}
