package web

import (
	"context"
	"fmt"
	"net/http"

	"github.com/trendvidstream/ingest/internal/term"
)

// Result is the result of one check.
type Result struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Ready runs all checks, the upstream and freshness last, and reports whether all hold.
func (s *Site) Ready(ctx context.Context) (ready bool, results []Result) {
	checks := append([]Check{}, s.Checks...)
	if s.Standing(ctx).Provider != "" {
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
