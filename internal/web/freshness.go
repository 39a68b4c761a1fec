package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/trendvidstream/ingest/internal/recent"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// rereadAfter bounds how often the slots are read for the pages, however many readers there are.
const rereadAfter = time.Second

// Freshness reads how fresh every series is.
func (s *Site) Freshness(ctx context.Context) (report.Freshness, error) {
	latest, err := s.Latest(ctx)
	if err != nil {
		return report.Freshness{}, err
	}
	f := report.NewFreshness(s.Schedule(), latest, s.Now(), s.StaleAfter)
	if s.Resting != nil {
		f.Resting = s.Resting()
	}
	if s.Idle != nil {
		f.Idle, err = s.Idle(ctx)
		if err != nil {
			return f, err
		}
	}
	if s.Calls != nil {
		calls, err := s.Calls(ctx)
		if err != nil {
			return f, err
		}
		f.Upstream = new(report.NewUpstreamDocument(s.Upstream, calls.Contact(), s.Now(), s.Silence))
		if s.Closed != nil && s.Closed() {
			f.Upstream.NobodyAsks()
		}
	}
	return f, nil
}

// howFresh is what Freshness returned.
type howFresh struct {
	report.Freshness
	err error
}

// cachedFreshness is Freshness, up to rereadAfter old.
func (s *Site) cachedFreshness(ctx context.Context) (report.Freshness, error) {
	f, _ := s.fresh.Get("", func() (a recent.Answer[howFresh]) {
		if a.Is.Freshness, a.Is.err = s.Freshness(ctx); a.Is.err == nil {
			a.Until = time.Now().Add(rereadAfter)
		}
		return a
	})
	return f.Freshness, f.err
}

// checkUpstream is a check of /readyz.
func (s *Site) checkUpstream(ctx context.Context) (string, error) {
	f, err := s.cachedFreshness(ctx)
	switch {
	case err != nil:
		return "", fmt.Errorf("not known: %w", err)
	case f.Upstream.Unreachable:
		return "", errors.New(f.Upstream.Name + " " + f.Upstream.String())
	}
	return f.Upstream.String(), nil
}

// checkFresh is the last check of /readyz.
func (s *Site) checkFresh(ctx context.Context) (string, error) {
	f, err := s.cachedFreshness(ctx)
	if err != nil {
		return "", fmt.Errorf("not known: %w", err)
	}
	f.Resting = "" // another check says it
	stale := f.Stale()
	if len(stale) == 0 {
		return f.Check().Says, nil
	}
	names := term.Texts(stale, report.SeriesState.String)
	return "", fmt.Errorf("%d of %d are stale: %s", len(stale), len(f.Series), term.Enumerate(names, 8))
}

// freshness always answers in JSON.
func (s *Site) freshness(w http.ResponseWriter, r *http.Request) {
	f, err := s.cachedFreshness(r.Context())
	if err != nil {
		writeText(w, http.StatusServiceUnavailable, term.Clean(err.Error())+"\n")
		return
	}
	writeJSON(w, http.StatusOK, f)
}
