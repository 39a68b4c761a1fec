package web

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// The bounds of event streams: each is a goroutine and a connection.
const (
	maxStreams  = 256
	streamEvery = 5 * time.Second  // how often the page is asked to look again
	streamWrite = 10 * time.Second // for one event: a client that reads no more is let go
)

// stopping is the key of a channel in the context of a request: it is closed when the server stops, which an event
// stream has to notice by itself.
type stopping struct{}

// events tells the page, while it is open, that there may be something new. An event has no content: the page asks for
// itself again, so that there is one way to make it.
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
	_ = control.SetReadDeadline(time.Time{}) // that of the server is for a request, and would end this one
	stop, _ := r.Context().Value(stopping{}).(<-chan struct{})
	tick := time.NewTicker(streamEvery)
	defer tick.Stop()
	for text := "retry: 10000\n\n"; ; text = "event: changed\ndata: \n\n" {
		_ = control.SetWriteDeadline(time.Now().Add(streamWrite)) // a recorder in a test has none
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

// withStop is the context of a server's requests.
func withStop(ctx context.Context) context.Context {
	return context.WithValue(context.WithoutCancel(ctx), stopping{}, ctx.Done())
}
