package web

import (
	"fmt"
	"net/http"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// livez checks only the process itself: a restart would not bring back a ledger or a key.
func (s *Site) livez(w http.ResponseWriter, r *http.Request) {
	code, text := http.StatusOK, "ok"
	if err := s.Alive(); err != nil {
		code, text = http.StatusServiceUnavailable, term.WithoutDirectories(term.Clean(err.Error()))
	}
	write(w, r, code, text+"\n", struct {
		OK     bool   `json:"ok"`
		Detail string `json:"detail"`
	}{code == http.StatusOK, text})
}

func (s *Site) readyz(w http.ResponseWriter, r *http.Request) {
	ready, results := report.Ready(s.Standing(r.Context()))
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
		Ready  bool            `json:"ready"`
		Checks []report.Result `json:"checks"`
	}{ready, results})
}
