package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/trendvidstream/ingest/internal/recent"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
)

// rereadAfter bounds how often the slots are read for the pages, however many readers there are.
const rereadAfter = time.Second

// Standing is the state of everything, at most rereadAfter old. A store that could not be read is read again.
func (s *Site) Standing(ctx context.Context) standing.Standing {
	st, _ := s.standing.Get("", func() (a recent.Answer[standing.Standing]) {
		if a.Is = standing.At(s.Facts(ctx)); a.Is.StoreErr == nil {
			a.Until = time.Now().Add(rereadAfter)
		}
		return a
	})
	return st
}

// checkUpstream is a check of /readyz.
func (s *Site) checkUpstream(ctx context.Context) (string, error) {
	switch st := s.Standing(ctx); {
	case st.StoreErr != nil:
		return "", fmt.Errorf("not known: %w", st.StoreErr)
	case st.Upstream.Cause == standing.UpstreamSilent:
		return "", errors.New(st.Provider + " " + report.UpstreamText(st))
	default:
		return report.UpstreamText(st), nil
	}
}

// checkFresh is the last check of /readyz.
func (s *Site) checkFresh(ctx context.Context) (string, error) {
	st := s.Standing(ctx)
	if st.StoreErr != nil {
		return "", fmt.Errorf("not known: %w", st.StoreErr)
	}
	stale := report.StaleSeries(st, report.SeriesState.String)
	if len(stale) > 0 {
		return "", fmt.Errorf("%d of %d are stale: %s", len(stale), len(st.Series), term.Enumerate(stale, 8))
	}
	st.Resting = nil // another check says it
	return report.ChartsCheck(standing.At(st.Facts)).Says, nil
}

// freshness always answers in JSON.
func (s *Site) freshness(w http.ResponseWriter, r *http.Request) {
	st := s.Standing(r.Context())
	if st.StoreErr != nil {
		writeText(w, http.StatusServiceUnavailable, term.Clean(st.StoreErr.Error())+"\n")
		return
	}
	writeJSON(w, http.StatusOK, report.NewFreshness(st))
}
