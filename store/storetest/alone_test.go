package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/store"
)

// Alone lets one process at a time do a task; a process that died blocks the others for two minutes.
func testAloneRunsInOneProcess(t *testing.T, open Open) {
	s, clock := newStore(t, open)
	did := 0
	do := func() error {
		did++
		return t.Context().Err()
	}
	err := s.Alone(t.Context(), "a test", func() error {
		if err := s.Alone(t.Context(), "another", do); err != nil {
			t.Errorf("another thing: %v", err)
		}
		if err := s.Alone(t.Context(), "a test", do); !errors.Is(err, store.ErrBusy) {
			t.Errorf("meanwhile: %v, want error %v", err, store.ErrBusy)
		}
		clock.move(2*time.Minute + time.Second)
		return s.Alone(t.Context(), "a test", do)
	})
	if err == nil {
		err = s.Alone(t.Context(), "a test", do)
	}
	if err != nil || did != 3 {
		t.Errorf("done %d times, %v; want 3", did, err)
	}
	full := errors.New("the disk is full")
	err = s.Alone(t.Context(), "a test", func() error { return errors.Join(full, s.Close()) })
	if err == nil || err.Error() != full.Error() { // the mark could not be removed either, and that is not reported
		t.Errorf("the failures without its store: %v, want %v", err, full)
	}
}
