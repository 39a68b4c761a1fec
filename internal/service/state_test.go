package service_test

import (
	"errors"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/service"
	"github.com/trendvidstream/ingest/quota"
)

// An outage lasts from the first failed answer to the next good one, and is counted while it lasts.
func TestTheSecondsOfAnOutageAreCounted(t *testing.T) {
	down, began := errors.New("down"), time.Now()
	at := func(s int) time.Time { return began.Add(time.Duration(s) * time.Second) }
	var st service.State
	for _, step := range []struct {
		at   int
		err  error
		want time.Duration // 5 s later
	}{
		{0, nil, 0},
		{30, down, 5 * time.Second},
		{60, down, 35 * time.Second},
		{90, nil, 60 * time.Second},
		{120, nil, 60 * time.Second},
		{150, down, 65 * time.Second},
	} {
		service.LedgerAnswered(&st, quota.Report{}, step.err, at(step.at))
		if got := service.DegradedFor(st, at(step.at+5)); got != step.want {
			t.Errorf("after %d s: %v, want %v", step.at+5, got, step.want)
		}
	}
}
