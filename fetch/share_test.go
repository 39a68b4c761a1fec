package fetch_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trendvidstream/ingest/fetch"
)

// minuteful is an upstream that refuses calls above ten in a minute.
type minuteful struct {
	sync.Mutex

	sent    []time.Time
	refused int
	who     map[string]int // whose calls it answered
}

// call sends a call, and returns why it was refused; nil if it was answered.
func (m *minuteful) call(who string) *fetch.Error {
	m.Lock()
	defer m.Unlock()
	now, within := time.Now(), 0
	for _, at := range m.sent {
		if now.Sub(at) < time.Minute {
			within++
		}
	}
	if within >= 10 {
		m.refused++
		return &fetch.Error{Verdict: fetch.Burst, Wait: time.Minute}
	}
	m.sent = append(m.sent, now)
	m.who[who]++
	return nil
}

// A client of the gateway that obeys Retry-After gets a share of the calls of a minute, however many calls
// of a run have places before it; it takes no more than half, and the provider's limit holds.
func TestAClientHasItsShareOfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notes := &lockedNotes{notebook: notebook{}}
		pass, client := &fetch.Rate{Notes: notes}, &fetch.Rate{Notes: notes}
		m := &minuteful{who: map[string]int{}}
		for m.refused == 0 {
			if err := pass.Wait(t.Context(), "videos.list", time.Minute, time.Now, nil); err != nil {
				t.Fatal(err)
			}
			pass.Done(t.Context(), time.Now(), m.call("run"))
			time.Sleep(time.Second)
		}
		m.refused = 0
		end := time.Now().Add(time.Hour)
		var all sync.WaitGroup
		ask := func(who string, wait func() error, done *fetch.Rate) {
			for time.Now().Before(end) {
				err := wait()
				if e, ok := errors.AsType[*fetch.Error](err); ok {
					time.Sleep(e.Wait) // its Retry-After
					continue
				}
				done.Done(t.Context(), time.Now(), m.call(who))
			}
		}
		for range 8 {
			all.Go(func() {
				ask("run", func() error { return pass.Wait(t.Context(), "videos.list", 150*time.Second, time.Now, nil) }, pass)
			})
		}
		for range 3 {
			all.Go(func() {
				ask("client", func() error { return client.WaitAhead(t.Context(), "videos.list", 5*time.Second, time.Now) }, client)
			})
		}
		all.Wait()
		run, clients := m.who["run"], m.who["client"]
		// Two processes that read the note at the same instant may take the same place in a minute.
		if sum := run + clients; clients < sum/3 || run < sum*2/5 || sum < 480 || m.refused > 2 {
			t.Errorf("in an hour %d calls of a run and %d of clients were answered, %d refused", run, clients, m.refused)
		}
	})
}

// lockedNotes are notes of several goroutines.
type lockedNotes struct {
	sync.Mutex
	notebook
}

func (n *lockedNotes) Note(ctx context.Context, name string) (string, error) {
	n.Lock()
	defer n.Unlock()
	return n.notebook.Note(ctx, name)
}

func (n *lockedNotes) SetNote(ctx context.Context, name, text string) error {
	n.Lock()
	defer n.Unlock()
	return n.notebook.SetNote(ctx, name, text)
}
