package web

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Limits of event streams, each of which is a goroutine and a connection.
const (
	maxStreams  = 256
	streamEvery = 5 * time.Second  // how often the page is told to reload
	streamWrite = 10 * time.Second // for one event: a client that stops reading is dropped
)

// stopping is the key of a channel in the context of a request. The channel is closed when the server stops, which
// event streams must notice by themselves.
type stopping struct{}

// events tells an open page that there may be something new. An event has no content: the page reloads itself, so that
// there is only one way to make it.
func (s *Status) events(w http.ResponseWriter, r *http.Request) {
	if s.streams.Add(1) > maxStreams {
		s.streams.Add(-1)
		w.Header().Set("Retry-After", "60")
		writeText(w, http.StatusServiceUnavailable, fmt.Sprintf("%d pages are live already: reload this one by hand\n", maxStreams))
		return
	}
	defer s.streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the server's deadline is for a request, and would end the stream
	stop, _ := r.Context().Value(stopping{}).(<-chan struct{})
	tick := time.NewTicker(streamEvery)
	defer tick.Stop()
	for text := "retry: 10000\n\n"; ; text = "event: changed\ndata: \n\n" {
		_ = control.SetWriteDeadline(time.Now().Add(streamWrite)) // fails with a recorder in a test
		if _, err := w.Write([]byte(text)); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-stop:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// withStop returns the base context of a server's requests.
func withStop(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), stopping{}, ctx.Done())
}
