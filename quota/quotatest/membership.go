package quotatest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// interrupted is a remote that calls a function during the next sync.
type interrupted struct {
	sharedledger.Remote

	do   func()
	lost bool // the answer
}

func (r *interrupted) Sync(ctx context.Context, d sharedledger.Batch) (time.Time, error) {
	do := r.do
	if r.do = nil; do == nil || len(d.Rows) == 0 {
		return r.Remote.Sync(ctx, d)
	}
	do()
	at, err := r.Remote.Sync(ctx, d)
	if r.lost {
		return time.Time{}, fmt.Errorf("%w: %w", quota.ErrUnavailable, quota.ErrInDoubt)
	}
	return at, err
}

var membership = []SharedCase{
	{"L8", "the first take of a new ledger is a first start, with any hosts setting", func(w *town) {
		for _, hosts := range []int{1, 2, 5} {
			w.open, w.empty = w.backend.Remote(w, w.clock)
			w.sent = 0
			p := w.directory("here", hosts).starts()
			p.peeks()
			p.takes(900)
			w.exactly()
			w.directory("there", hosts).starts().takes(90)
			w.exactly()
		}
	}},
	{"L8", "no host waits for ended containers, and they have no part of the emergency budget",
		func(w *town) {
			here := w.directory("here", 1).starts()
			here.takes(1)
			for i := range 60 {
				container := w.directory(fmt.Sprint("container-", i), 1).starts()
				container.takes(1)
				if err := container.ledger.Close(); err != nil {
					w.Fatal(err)
				}
			}
			w.clock.Advance(time.Minute)
			here.takes(1)
			spent, err := here.ledger.Spend(w.Context(),
				quota.Emergency{Account: account, At: w.clock.Now(), Amounts: quota.Cost{"units": 30}},
				[]quota.EmergencyBudget{{Pool: "units", Amount: 60, Since: noon, Shared: true}})
			if w.sent += 30; err != nil || spent == 0 {
				w.Fatalf("30 of an emergency budget of 60: row %d, %v", spent, err)
			}
			w.empty()
			here.takes(90)
			here.broke()
			w.exactly()
		}},
	{"L8", "a data directory that is used again is waited for, although it signed off", func(w *town) {
		here, there := w.directory("here", 1).starts(), w.directory("there", 1)
		for range 2 {
			p := there.starts()
			p.takes(1)
			w.clock.Advance(time.Minute)
			here.takes(1)
			if err := p.ledger.Close(); err != nil {
				w.Fatal(err)
			}
		}
		w.empty()
		here.closed(90)
		there.starts().peeks()
		here.peeks()
		here.broke()
		w.exactly()
	}},
	{"L8", "the others notice a fresh directory that asked first after a loss", func(w *town) {
		here := w.directory("here", 1).starts()
		here.takes(400)
		w.empty()
		fresh := w.directory("fresh", 1).starts()
		fresh.takes(50)
		here.peeks()
		if !w.says("a host with an empty data directory") {
			w.Errorf("a loss that a fresh directory met first, and the log is silent: %s", w.said.String())
		}
		w.exactly()
		fresh.peeks()
		here.broke()
		w.exactly()
	}},
}

// emergency spends without asking, as a Governor does while its budgets have room.
func (p *program) emergency(amount int64) (row int64) {
	p.Helper()
	row, err := p.ledger.Spend(p.Context(), quota.Emergency{Account: account, At: p.clock.Now(),
		Who: p.ask(amount).Who, Amounts: quota.Cost{"units": amount}}, nil)
	if err != nil || row == 0 {
		p.Fatalf("an emergency of %d: row %d, %v", amount, row, err)
	}
	return row
}

var corrected = []SharedCase{
	{"J1", "an emergency whose call never left is given back once, and counts nowhere", func(w *town) {
		d := w.directory("a", 1)
		p, other := d.starts(), d.starts()
		p.takes(1)
		row := p.emergency(5)
		for _, want := range []error{nil, quota.ErrNotRefundable} {
			if err := p.ledger.RefundEmergency(w.Context(), account, row); !errors.Is(err, want) {
				w.Fatalf("given back: %v, want %v", err, want)
			}
		}
		other.takes(1)
		p.takes(1)
		w.exactly()
		w.empty()
		p.takes(1)
		w.exactly()
	}},
	{"J1", "an emergency that another process has synced is not given back", func(w *town) {
		d := w.directory("a", 1)
		p, other := d.starts(), d.starts()
		p.takes(1)
		row := p.emergency(5)
		other.takes(1)
		w.sent += 5
		if err := p.ledger.RefundEmergency(w.Context(), account, row); !errors.Is(err, quota.ErrNotRefundable) {
			w.Fatalf("given back: %v, want %v", err, quota.ErrNotRefundable)
		}
		w.exactly()
		w.empty()
		p.takes(1)
		w.exactly()
	}},
	{"J1", "an emergency given back while it is synced counts once, before and after a loss", func(w *town) {
		for _, lost := range []bool{false, true} { // the answer to the sync
			w.open, w.empty = w.backend.Remote(w, w.clock)
			w.sent = 0
			d := w.directory(fmt.Sprint(lost), 1)
			between := &interrupted{}
			p, other := d.starts(),
				d.starts(func(r sharedledger.Remote) sharedledger.Remote { between.Remote = r; return between })
			p.takes(1)
			other.takes(1)
			row := p.emergency(5)
			between.lost, between.do = lost, func() {
				if err := p.ledger.RefundEmergency(w.Context(), account, row); err != nil {
					w.Errorf("given back during a sync: %v", err)
				}
			}
			other.peeks()
			w.sent += 5 // counted, and never sent
			w.clock.Advance(time.Minute)
			other.takes(1)
			w.exactly()
			other.peeks() // writes its take's answer
			w.empty()
			p.takes(1)
			other.takes(1)
			w.exactly()
		}
	}},
	{"L6", "a post to a ledger that is lost repeatedly is recorded once", func(w *town) {
		remote := &losing{}
		p := w.directory("here",
			1).starts(func(r sharedledger.Remote) sharedledger.Remote { remote.Remote = r; return remote })
		p.takes(5)
		remote.loses = true
		if err := p.ledger.Post(w.Context(), p.ask(7), w.clock.Now()); err != nil {
			w.Logf("it says that it did not record: %v", err)
			if err := p.ledger.Post(w.Context(), p.ask(7), w.clock.Now()); err != nil {
				w.Logf("and again: %v", err)
			}
		}
		w.sent += 7
		remote.loses = false
		w.clock.Advance(time.Minute)
		for range 3 {
			p.peeks()
		}
		w.exactly()
	}},
	{"L6", "a drain that a person lifted stays lifted after a loss, even if another host saw it", func(w *town) {
		here, there := w.directory("here", 2).starts(), w.directory("there", 2).starts()
		w.allTake(here, there)
		until := w.clock.Now().Add(6 * time.Hour)
		if err := here.ledger.Drain(w.Context(), account, "units",
			quota.Drain{Until: until, By: quota.ByHand, At: w.clock.Now()}); err != nil {
			w.Fatal(err)
		}
		w.clock.Advance(time.Minute)
		there.peeks()
		w.clock.Advance(time.Minute)
		if err := here.ledger.Drain(w.Context(), account, "units", quota.Drain{}); err != nil {
			w.Fatal(err)
		}
		here.takes(1)
		w.empty()
		for range 3 {
			there.peeks()
			here.peeks()
		}
		here.takes(1)
		there.takes(1)
		w.exactly()
	}},
}

// losing is a remote that loses its state before every sync.
type losing struct {
	sharedledger.Remote

	loses bool
}

func (l *losing) Sync(ctx context.Context, b sharedledger.Batch) (time.Time, error) {
	if l.loses {
		return time.Time{}, sharedledger.ErrLost
	}
	return l.Remote.Sync(ctx, b)
}
