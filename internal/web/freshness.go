package web

import (
	"context"
	"net/http"
	"time"

	"github.com/trendvidstream/ingest/internal/recent"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
)

// rereadAfter bounds how often the slots are read for the pages, however many readers there are.
const rereadAfter = time.Second

// Standing is the state of everything. The store was read at most rereadAfter ago; one that could not be read is read
// again.
func (s *Site) Standing(ctx context.Context) standing.Standing {
	f, _ := s.facts.Get("", func() (a recent.Answer[standing.Facts]) {
		if a.Is = s.Facts(ctx); a.Is.StoreErr == nil {
			a.Until = time.Now().Add(rereadAfter)
		}
		return a
	})
	if s.Process != nil {
		s.Process(&f)
	}
	return standing.At(f)
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
