package quotatest

import (
	"context"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var losses = []SharedCase{
	{"K1", "a stranger that only peeks does not end others' settling", func(w *town) {
		a, b := w.directory("a", 2).starts(), w.directory("b", 2).starts()
		w.allTake(a, b)
		b.takes(900) // which a has not seen
		w.empty()
		stranger := w.directory("stranger", 2).starts()
		stranger.peeks()
		for range 3 {
			a.closed(90)
			stranger.peeks()
		}
		b.peeks()
		a.takes(96)
		a.broke()
		b.broke()
		w.exactly()
	}},
	{"K1", "a host that was known is waited for until the time to settle is over", func(w *town) {
		a, b := w.directory("a", 2).starts(), w.directory("b", 2).starts()
		third := w.directory("third", 2).starts()
		w.allTake(a, b)
		for range 2 {
			a.takes(1)
			b.takes(1)
			third.takes(1)
			w.clock.Advance(time.Minute)
		}
		a.takes(1)
		third.takes(900)
		w.empty()
		b.peeks()
		a.closed(1) // two of two have synced, but a third was known
		w.clock.Advance(settle)
		w.limit = 2000
		a.takes(1)
		third.takes(1)
		w.exactly()
	}},
	{"K1", "a process whose sibling has begun a new generation waits for the other hosts as well", func(w *town) {
		a, b := w.directory("a", 2), w.directory("b", 2).starts()
		a1, a2 := a.starts(), a.starts()
		w.allTake(a1, a2, b)
		a1.peeks() // every answer has been noted
		a2.peeks()
		b.takes(900) // which a has not seen
		w.empty()
		a1.closed(90)
		a2.closed(90) // it compared the remote a moment ago, and learned the generation from its sibling
		b.peeks()
		a2.takes(90)
		a1.broke()
		w.exactly()
	}},
	{"K2", "a row that was synced is netted against an unattributed charge of a later snapshot", func(w *town) {
		a, b := w.directory("a", 2).starts(), w.directory("b", 2).starts()
		w.allTake(a, b)
		for range 5 {
			for range 3 {
				a.takes(1)
				b.takes(2)
			}
			w.empty()
			a.peeks() // it syncs first, and knows the other's spends
			b.peeks()
			a.peeks()
			a.takes(1)
			b.takes(1)
			w.exactly()
		}
		a.broke()
		w.exactly()
	}},
	{"K2", "a generation that only one host has seen does not count the other twice", func(w *town) {
		a, b := w.directory("a", 2).starts(), w.directory("b", 2).starts()
		w.allTake(a, b)
		for i := range 6 {
			for range 2 {
				a.takes(2)
				b.takes(3)
			}
			first, second := a, b
			if i%2 == 1 {
				first, second = b, a
			}
			for range 3 {
				w.empty()
				first.peeks()
			}
			second.peeks()
			w.empty()
			second.peeks()
			first.peeks()
			second.peeks()
			w.exactly()
		}
	}},
	{"K2", "calls without the ledger are counted once, however often it is lost", func(w *town) {
		a, b := w.directory("a", 2).starts(), w.directory("b", 2).starts()
		w.allTake(a, b)
		a.takes(5)
		b.takes(5)
		post := a.ask(7)
		if err := a.ledger.Post(w.Context(), post, w.clock.Now().Add(-time.Hour)); err != nil {
			w.Fatal(err)
		}
		w.sent += 7
		for range 4 {
			a.takes(1)
			b.takes(1)
			w.empty()
			b.peeks()
			a.peeks()
			b.peeks()
			w.exactly()
		}
	}},
	{"K4", "more hosts than the config names are waited for, and the log says so", func(w *town) {
		a, b := w.directory("a", 1).starts(), w.directory("b", 1).starts()
		a.takes(1)
		b.takes(1)
		w.clock.Advance(time.Minute)
		a.takes(1)
		if !w.says("hosts: 2") {
			w.Errorf("two data directories share the ledger, hosts is 1, and the log is silent: %s", w.said.String())
		}
		b.takes(900)
		w.empty()
		a.closed(90)
		b.peeks()
		w.clock.Advance(second)
		a.broke()
		w.exactly()
	}},
	{"K4", "a new process knows the hosts that synced before it", func(w *town) {
		here, there := w.directory("here", 1), w.directory("there", 1)
		here.starts().takes(1)
		there.starts().takes(1)
		here.starts().takes(1)
		there.starts().takes(900)
		w.empty()
		here.starts().closed(90)
		there.starts().peeks()
		here.starts().broke()
		w.exactly()
	}},
}

var strangers = []SharedCase{
	{"K11", "several first takes of one data directory are each counted once", func(w *town) {
		const together = 4
		for range 5 {
			w.limit, w.sent = 100, 0
			w.open, w.empty = w.backend.Remote(w, w.clock)
			d := w.directory("here", 1)
			var met, all sync.WaitGroup
			met.Add(together)
			for range together {
				p := d.starts(func(r sharedledger.Remote) sharedledger.Remote { return &meeting{Remote: r, met: &met} })
				all.Go(func() { p.broke() })
			}
			all.Wait()
			if w.sent != w.limit {
				w.Errorf("%d of %d were admitted to %d first takers", w.sent, w.limit, together)
			}
			w.exactly()
		}
	}},
}

// meeting lets several processes all find the remote empty before any of them acts.
type meeting struct {
	sharedledger.Remote

	met  *sync.WaitGroup
	once sync.Once
}

func (m *meeting) State(ctx context.Context, account string, writers []string) (sharedledger.RemoteState, error) {
	s, err := m.Remote.State(ctx, account, writers)
	m.once.Do(func() { m.met.Done(); m.met.Wait() })
	return s, err
}
