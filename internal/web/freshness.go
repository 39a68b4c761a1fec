package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/trendvidstream/ingest"
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
	f := s.read(ctx)
	if s.Process != nil {
		s.Process(&f)
	}
	return standing.At(f)
}

func (s *Site) read(ctx context.Context) standing.Facts {
	f, _ := s.facts.Get("", func() (a recent.Answer[standing.Facts]) {
		if a.Is = s.Facts(ctx); a.Is.StoreErr == nil {
			a.Until = time.Now().Add(rereadAfter)
		}
		return a
	})
	return f
}

// edition differs after every fetch.
func edition(l ingest.Latest) string {
	var sum int64 // of times that only grow
	for _, slot := range l.Done {
		sum += slot.FetchedAt.UnixMilli()
	}
	for _, slot := range l.Ended {
		sum += slot.DueAt.UnixMilli()
	}
	return strconv.FormatInt(sum, 36)
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
