package quotatest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var doubts = []SharedCase{
	{"K9", "a post, a take right after it and a drain count the post once", func(w *town) {
		p := w.directory("a", 1).starts()
		p.takes(1)
		for range 3 {
			if err := p.ledger.Post(w.Context(), p.ask(7), w.clock.Now().Add(-time.Hour)); err != nil {
				w.Fatal(err)
			}
			w.sent += 7
			w.clock.Advance(300 * time.Microsecond)
			p.takes(1)
			if err := p.ledger.Drain(w.Context(), account, "units",
				quota.Drain{Until: w.clock.Now().Add(time.Minute), Used: w.sent}); err != nil {
				w.Fatal(err)
			}
			w.exactly()
			w.clock.Advance(2 * time.Minute)
		}
	}},
	{"K9", "units refunded between a peek and a drain stay refunded", func(w *town) {
		d := w.directory("a", 1)
		p, other := d.starts(), d.starts()
		other.takes(1)
		back := p.takes(5)
		other.peeks()
		if err := p.ledger.Refund(w.Context(), account, back); err != nil {
			w.Fatal(err)
		}
		w.sent -= 5
		if err := other.ledger.Drain(w.Context(), account, "units",
			quota.Drain{Until: w.clock.Now().Add(time.Hour), Used: 6}); err != nil {
			w.Fatal(err)
		}
		w.exactly()
	}},
	{"K9", "a charge answered too late for its use is taken back", func(w *town) {
		for _, c := range []struct {
			name            string
			executed, other bool // carried out at once; another process returns
		}{{"by itself", true, false}, {"by another process", true, true}, {"not carried out", false, false},
			{"not carried out, another process", false, true}} {
			w.open, w.empty = w.backend.Remote(w, w.clock)
			w.sent = 0
			d := w.directory(c.name, 1)
			line := &unreliable{}
			p := d.starts(func(r sharedledger.Remote) sharedledger.Remote { line.Remote = r; return line })
			p.takes(1)
			line.silent, line.executes = true, c.executed
			if _, err := p.tries(300); !errors.Is(err, quota.ErrInDoubt) {
				w.Fatalf("%s: %v, want an answer that may come too late", c.name, err)
			}
			line.silent = false
			w.clock.Advance(time.Minute)
			if back := p; c.other {
				back = d.starts()
				back.peeks()
			} else {
				back.peeks()
			}
			w.exactly()
			for _, late := range line.late {
				late()
			}
			w.exactly()
			p.takes(2)
			w.exactly()
		}
	}},
	{"K9", "an operation is in doubt if only its first ask may have been carried out", func(w *town) {
		line := &unreliable{}
		p := w.directory("a", 1).starts(func(r sharedledger.Remote) sharedledger.Remote { line.Remote = r; return line })
		p.takes(1)
		line.silent, line.executes, line.then = true, true, fmt.Errorf("%w: connection refused", quota.ErrUnavailable)
		if _, err := p.tries(300); !errors.Is(err, quota.ErrInDoubt) {
			w.Errorf("%v, and it was charged, want error %v", err, quota.ErrInDoubt)
		}
	}},
}

// unreliable is a connection to the remote that loses answers.
type unreliable struct {
	sharedledger.Remote

	silent   bool  // no answer to a take comes
	executes bool  // but the take is carried out
	then     error // the error of all takes after the first
	late     []func()
}

func (u *unreliable) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	switch {
	case !u.silent:
		return u.Remote.TakeOnce(ctx, a, op)
	case u.then != nil && u.late != nil:
		return quota.Decision{}, u.then
	}
	ask := func() { _, _ = u.Remote.TakeOnce(context.WithoutCancel(ctx), a, op) }
	if u.late = append(u.late, ask); u.executes {
		ask()
	}
	return quota.Decision{}, fmt.Errorf("%w: %w: no answer", quota.ErrUnavailable, quota.ErrInDoubt)
}
