package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// stopWithin is how long answers in progress may take once the site stops.
const stopWithin = time.Second

// The longest address that is accepted, and the longest header. A request between the two gets 414: its address is
// too long; a longer one is refused by net/http before it is read.
const (
	maxAddress = 8 << 10
	maxHeader  = 32 << 10
)

// Serve answers at l until ctx is done, closes l and returns nil, or else returns why it can no longer answer. It logs
// internal errors to log.
func Serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	held := &connections{Listener: l, room: usualRoom, open: map[*connection]bool{}, ofAddress: map[netip.Prefix]int{}}
	s := &http.Server{
		Handler:           onlyLivez(h),
		ConnContext:       connContext,
		ConnState:         held.watch,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(held) }()
	select {
	case err := <-ended:
		return fmt.Errorf("answer at %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	if s.Shutdown(stop) != nil {
		_ = s.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer at %s: %w", l.Addr(), err)
	}
	return nil
}

// wantsJSON reports whether the client asked for JSON, by ?format=json or by Accept.
func wantsJSON(r *http.Request) bool {
	return r.URL.Query().Get("format") == "json" || strings.Contains(r.Header.Get("Accept"), "application/json")
}

// write answers with a document as JSON to clients that ask for it, otherwise with text.
func write(w http.ResponseWriter, r *http.Request, code int, text string, doc any) {
	if wantsJSON(r) {
		writeJSON(w, code, doc)
		return
	}
	writeText(w, code, text)
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text))
}
