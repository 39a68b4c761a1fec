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

// rereadAfter bounds how often the slots are read for the pages, whatever the number of readers.
const rereadAfter = time.Second

// Freshness reads how fresh everything is.
func (s *Site) Freshness(ctx context.Context) (report.Freshness, error) {
	latest, err := s.Latest(ctx)
	if err != nil {
		return report.Freshness{}, err
	}
	f := report.NewFreshness(s.Schedule(), latest, s.Now(), s.StaleAfter)
	if s.Calls != nil {
		calls, err := s.Calls(ctx)
		if err != nil {
			return f, err
		}
		upstream := report.NewUpstreamDocument(s.Upstream, calls.Contact(), s.Now(), s.Silence)
		f.Upstream = &upstream
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
	stale := f.Stale()
	if len(stale) == 0 {
		return f.Check().Says, nil
	}
	names := term.Texts(stale, report.SeriesState.String)
	text := fmt.Sprintf("%d of %d are stale: %s", len(stale), len(f.Series), term.Enumerate(names, 8))
	if s.Resting != nil && s.Resting() != "" {
		text += "; " + s.Resting()
	}
	return "", errors.New(text)
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

// Result is the result of one check.
type Result struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Ready runs all checks, the upstream and freshness last, and reports whether all hold.
func (s *Site) Ready(ctx context.Context) (ready bool, results []Result) {
	checks := append([]Check{}, s.Checks...)
	if s.Calls != nil {
		checks = append(checks, Check{"upstream", s.checkUpstream})
	}
	checks = append(checks, Check{"freshness", s.checkFresh})
	ready = true
	for _, c := range checks {
		detail, err := c.Look(ctx)
		r := Result{Check: c.Name, OK: err == nil, Detail: term.Clean(detail)}
		if err != nil {
			ready, r.Detail = false, term.Clean(err.Error())
		}
		results = append(results, r)
	}
	return ready, results
}

// livez checks only the process itself: a restart would not bring back a ledger or a key.
func (s *Site) livez(w http.ResponseWriter, r *http.Request) {
	code, text := http.StatusOK, "ok"
	if err := s.Alive(); err != nil {
		code, text = http.StatusServiceUnavailable, term.Clean(err.Error())
	}
	write(w, r, code, text+"\n", struct {
		OK     bool   `json:"ok"`
		Detail string `json:"detail"`
	}{code == http.StatusOK, text})
}

func (s *Site) readyz(w http.ResponseWriter, r *http.Request) {
	ready, results := s.Ready(r.Context())
	code, text := http.StatusOK, "ready\n"
	if !ready {
		code, text = http.StatusServiceUnavailable, "not ready\n"
	}
	for _, c := range results {
		mark := "ok  "
		if !c.OK {
			mark = "FAIL"
		}
		text += fmt.Sprintf("%s  %-9s  %s\n", mark, c.Check, c.Detail)
	}
	write(w, r, code, text, struct {
		Ready  bool     `json:"ready"`
		Checks []Result `json:"checks"`
	}{ready, results})
}
