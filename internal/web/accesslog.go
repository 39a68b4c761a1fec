package web

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/trendvidstream/ingest/internal/term"
)

// Logged logs each request to s.AccessLog, if there is one. It leaves out the query, which is the visitor's own, and
// headers, which may hold a token.
func (s *Site) Logged(h http.Handler) http.Handler {
	if s.AccessLog == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, answer := time.Now(), &answerCounter{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(answer, r)
		s.AccessLog.LogAttrs(r.Context(), slog.LevelInfo, "request", slog.String("method", term.Fit(r.Method, 10)),
			slog.String("path", term.Fit(r.URL.Path, 200)),
			slog.Int("status", answer.status), slog.Int64("bytes", answer.bytes),
			slog.Int64("ms", time.Since(began).Milliseconds()), slog.String("from", r.RemoteAddr))
	})
}

// answerCounter records how a request was answered.
type answerCounter struct {
	http.ResponseWriter

	status int
	bytes  int64
}

func (a *answerCounter) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func (a *answerCounter) Write(p []byte) (int, error) {
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answerCounter) Unwrap() http.ResponseWriter { return a.ResponseWriter }
