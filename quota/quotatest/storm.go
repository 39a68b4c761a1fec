package quotatest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// Loss is a way for a remote to lose its memory. Prepare saves the state that strike later brings back, if any; strike
// makes the remote forget everything since.
type Loss struct {
	Name    string
	Prepare func() (strike func())
}

// StormBackend is a SharedBackend whose remote is lost in every possible way.
type StormBackend struct {
	Remote  func(t testing.TB, clock *Clock) (open func() sharedledger.Remote, losses []Loss)
	Journal func(t testing.TB) (open func() sharedledger.Journal)
	// Idle says that some data directory may only have peeked since a copy was made, and that people drain the pool
	// for seconds and open it again.
	Idle bool
	// Emergencies says that some calls are made without asking, and that some of them never leave and are given back.
	Emergencies bool
}

// Storm lets two processes on each of two data directories spend while the remote is lost four times and strangers
// read it: the sent calls never exceed the limit, and in the end the count is at least their number, and at most that
// plus the calls in doubt. A call is in doubt if no journal had its answer when it was synced: it was given up, or was
// the last of a process that asked nothing since. The same seed is the same storm.
func Storm(t testing.TB, b StormBackend, seed uint64) {
	t.Helper()
	clock := NewClock(noon)
	open, losses := b.Remote(t, clock)
	w := &town{TB: t, backend: SharedBackend{Journal: b.Journal}, clock: clock, open: open, limit: 1000}
	s := &storm{town: w, r: rand.New(rand.NewPCG(seed, 15)), drains: b.Idle, emergencies: b.Emergencies}
	for _, name := range []string{"a", "b"} {
		d := w.directory(name, 2)
		for range 2 {
			s.all = append(s.all, d.starts(s.recorded))
		}
	}
	w.allTake(s.all...)
	for range 4 {
		s.spend(s.r.IntN(30))
		loss := losses[s.r.IntN(len(losses))]
		strike := loss.Prepare()
		if b.Idle {
			s.idle = []string{"", "a", "b"}[s.r.IntN(3)]
		}
		s.spend(1 + s.r.IntN(30))
		s.idle = ""
		s.say("%s", loss.Name)
		strike()
		w.clock.Advance(second)
		stranger := w.directory("stranger", 2).starts()
		if s.r.IntN(2) == 0 {
			s.spend(s.r.IntN(4))
		}
		stranger.peeks()
		s.spend(s.r.IntN(20))
	}
	s.peace()
	if got := w.counted(); got < w.sent || got > w.sent+s.doubt {
		t.Errorf("seed %d: the ledger counts %d, sent were %d, %d in doubt", seed, got, w.sent, s.doubt)
	}
	s.all[s.r.IntN(len(s.all))].broke()
	if t.Failed() {
		t.Logf("seed %d:\n%s", seed, w.said.String())
	}
}

// storm is a town whose remote loses everything repeatedly.
type storm struct {
	*town

	r     *rand.Rand
	all   []*program
	doubt int64

	idle   string // the data directory that only peeks
	drains bool

	emergencies bool
}

func (s *storm) say(format string, args ...any) {
	fmt.Fprintf(&locked{w: s.town}, "%s "+format+"\n", append([]any{s.clock.Now().Format("15:04:05.000")}, args...)...)
}

// spend lets the programs take the given number of steps.
func (s *storm) spend(steps int) {
	for range steps {
		s.clock.Advance(time.Duration(s.r.Int64N(int64([]time.Duration{second / 10, 3 * second, 40 * second}[s.r.IntN(3)]))))
		i := s.r.IntN(len(s.all))
		p := s.all[i]
		switch n := s.r.IntN(20); {
		case n == 0: // a process ends, and another begins
			if err := p.ledger.Close(); err != nil {
				s.Fatal(err)
			}
			s.all[i] = p.starts(s.recorded)
			s.say("%s%d starts again", p.name, i)
		case n < 4 || p.name == s.idle:
			_, err := p.tries(0)
			s.say("%s%d peeks: %v", p.name, i, err)
		case n == 4:
			s.post(p, i, s.r.Int64N(5)+1)
		case n == 5 && s.drains:
			s.drain(p, i)
		case n > 5 && n < 9 && s.emergencies:
			s.emergency(p, i, s.r.Int64N(5)+1)
		default:
			amount := []int64{1, 1, 2, 5, 30}[s.r.IntN(5)]
			d, err := p.tries(amount)
			s.say("%s%d takes %d: %t %v", p.name, i, amount, d.Allowed, err)
			switch {
			case errors.Is(err, quota.ErrInDoubt):
				s.doubt += amount
			case err == nil && d.Allowed && n > 17:
				s.giveBack(p, i, d, amount)
			}
		}
	}
}

// post spends without asking, if there is room.
func (s *storm) post(p *program, i int, amount int64) {
	if s.sent+amount > s.limit {
		return
	}
	err := p.ledger.Post(s.Context(), p.ask(amount), s.clock.Now().Add(-time.Duration(s.r.IntN(60))*second))
	if s.say("%s%d posts %d: %v", p.name, i, amount, err); err != nil {
		s.Fatal(err)
	}
	s.sent += amount
}

// emergency spends without asking, if there is room. Half of the calls never leave, and are given back: at once, or
// after others may have synced them.
func (s *storm) emergency(p *program, i int, amount int64) {
	if s.sent+amount > s.limit {
		return
	}
	row := p.emergency(amount)
	s.say("%s%d spends %d without asking", p.name, i, amount)
	s.sent += amount
	if s.r.IntN(2) == 0 {
		return
	}
	if s.r.IntN(2) == 0 {
		s.all[s.r.IntN(len(s.all))].peeks()
	}
	err := p.ledger.RefundEmergency(s.Context(), account, row)
	s.say("%s%d gives %d back: %v", p.name, i, amount, err)
	if s.sent -= amount; err != nil {
		s.doubt += amount
	}
}

// drain closes the pool by hand for some seconds, or opens it.
func (s *storm) drain(p *program, i int) {
	d, now := quota.Drain{}, s.clock.Now()
	if s.r.IntN(3) > 0 {
		d = quota.Drain{Until: now.Add(time.Duration(s.r.IntN(20)+1) * second), By: quota.ByHand, At: now}
	}
	s.say("%s%d drains until %s: %v", p.name, i, d.Until.Format("15:04:05"),
		p.ledger.Drain(s.Context(), account, "units", d))
}

func (s *storm) giveBack(p *program, i int, d quota.Decision, amount int64) {
	err := p.ledger.Refund(s.Context(), account, d)
	s.say("%s%d gives it back: %v", p.name, i, err)
	if s.sent -= amount; err != nil {
		s.doubt += amount
	}
}

// peace lets all programs peek until each gets an answer.
func (s *storm) peace() {
	for range 2 {
		for range 3 {
			for _, p := range s.all {
				p.peeks()
			}
		}
		s.clock.Advance(settle)
	}
}

func (s *storm) recorded(r sharedledger.Remote) sharedledger.Remote { return &recorder{r, s} }

// recorder counts the rows that are synced in doubt.
type recorder struct {
	sharedledger.Remote

	s *storm
}

func (r *recorder) Sync(ctx context.Context, d sharedledger.Batch) (time.Time, error) {
	at, err := r.Remote.Sync(ctx, d)
	rows := ""
	for _, row := range d.Rows {
		if row.State == sharedledger.RowAsked && err == nil {
			r.s.doubt += row.Amounts["units"]
		}
		rows += fmt.Sprintf(" %s/%d:%d%s", row.Writer[:3], row.Number, row.Amounts["units"],
			[]string{"?", "", "!", "d", "v", "u"}[row.State])
	}
	for _, u := range d.Snapshots {
		for _, used := range u.Windows {
			rows += fmt.Sprintf(" [%d at %s of %d]", used.Used, u.At.Format("15:04:05.000"), u.Generation)
		}
	}
	r.s.say("synced to %d:%s: %v", d.Generation, rows, err)
	return at, err
}
