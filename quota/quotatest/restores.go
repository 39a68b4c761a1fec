package quotatest

import (
	"fmt"
	"testing"
	"time"
)

// Restored is the outcome for a remote after an earlier copy came back: Counted must not be below Sent.
type Restored struct {
	Copy    string // the loss
	Since   string // the spender after the copy was made
	Sent    int64  // units of the calls that were made
	Limit   int64
	Counted int64 // by the remote at the end
}

// String returns a row of a table in markdown.
func (r Restored) String() string {
	verdict := "kept"
	if r.Sent > r.Limit || r.Counted < r.Sent {
		verdict = "**over**"
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %s |", r.Copy, r.Since, r.Sent, r.Limit, r.Counted, verdict)
}

// spenders lists the possible spenders since a copy was made. The ended process belongs to the taker's data directory;
// the others spend a little more after the copy is back, before the taker asks again, so that there are as many
// entries as before.
var spenders = []string{"the taker", "another", "a process that ended", "a process that is silent", "nobody"}

// Restores restores every copy of the remote after each of the first spenders (each of them, at most five) spent most
// of the limit.
func Restores(t *testing.T, b StormBackend, each int) (rows []Restored) {
	t.Helper()
	_, losses := b.Remote(t, NewClock(noon))
	for i, loss := range losses {
		for n := range each {
			who := spenders[(i+n)%len(spenders)]
			t.Run(loss.Name+", spent since by "+who, func(t *testing.T) { rows = append(rows, Restore(t, b, i, who)) })
		}
	}
	return rows
}

// Restore restores one copy of the remote after one of the spenders spent. Both hosts have seen the spend or have it
// in their journal: together they may take no more than the rest, although one of them wrote nothing since the copy.
func Restore(t testing.TB, b StormBackend, loss int, since string) Restored {
	t.Helper()
	clock := NewClock(noon)
	open, losses := b.Remote(t, clock)
	w := &town{TB: t, backend: SharedBackend{Journal: b.Journal}, clock: clock, open: open, limit: 1000}
	taker, other := w.directory("taker", 2).starts(), w.directory("other", 2).starts()
	sibling := taker.starts()
	w.allTake(taker, sibling, other)
	_ = losses[loss].Prepare() // to Redis a first replica is a new history
	taker.peeks()
	other.peeks()
	clock.Advance(time.Minute) // a server that was restarted is asked again
	w.allTake(taker, sibling, other)
	taker.takes(100)
	other.takes(100)
	strike := losses[loss].Prepare()
	if since == "a process that ended" || since == "a process that is silent" {
		afterSibling(sibling, other, strike, since == "a process that ended")
	} else {
		afterHost(taker, other, strike, since)
	}
	for range 8 {
		_, _ = taker.tries(90)
	}
	for range 2 {
		other.peeks()
		taker.peeks()
		clock.Advance(settle)
	}
	taker.broke()
	other.broke()
	got := Restored{losses[loss].Name, since, w.sent, w.limit, w.counted()}
	if got.Counted < got.Sent {
		t.Errorf("the ledger counts %d, sent were %d", got.Counted, got.Sent)
	}
	if t.Failed() {
		t.Log(w.said.String())
	}
	return got
}

// afterHost strikes after one of the hosts, or neither, spent and both peeked.
func afterHost(taker, other *program, strike func(), since string) {
	for range 2 {
		taker.peeks()
		other.peeks()
		taker.clock.Advance(time.Minute)
	}
	switch since {
	case "the taker":
		taker.takes(700)
	case "another":
		other.takes(700)
	}
	taker.peeks()
	other.peeks()
	taker.clock.Advance(time.Minute)
	strike()
	taker.clock.Advance(second)
}

// afterSibling strikes after a process beside the taker spent, unseen by others, and then ended or fell silent.
func afterSibling(sibling, other *program, strike func(), ends bool) {
	_, _ = sibling.tries(700)
	if ends {
		_ = sibling.ledger.Close()
	} else {
		sibling.clock.Advance(6 * second)
	}
	strike()
	sibling.clock.Advance(second)
	for range 3 {
		_, _ = other.tries(1)
	}
}
