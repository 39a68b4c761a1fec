//go:build unix

package main_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// TestFaultDrainedInTheMiddle: the upstream has less left than the ledger believes, since others draw on it. It refuses
// once, everything stops, and nothing that happens to the ledger makes it ask again.
func TestFaultDrainedInTheMiddle(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "redis", 250, youtubesim.Options{Limits: map[string]int64{"units": 5}})
	stopped := func(when string) {
		code := p.force()
		p.want(code == exitStopped, "%s: exit %d, want %d", when, code, exitStopped)
	}
	stopped("drained")
	stopped("again")
	p.redis.Must("FLUSHALL")
	stopped("the ledger emptied")
	p.redis.Kill()
	code, _, errs := p.do(nil, "run", "--quiet", "--force")
	p.want(code == exitStopped || code == exitUnavailable, "the ledger away: exit %d: %s", code, errs)
	p.redis.Restart()
	p.used()
	stopped("the ledger back, empty")
	if said := p.sim.Ledger().Refused["units"]; said != 1 {
		p.want(false, "the upstream had to say no %d times", said)
	}
	p.inDoubt = 1 // the refused call was taken
	p.judge("upstream drained in the middle")
}

// midnight is a governor on a ledger whose clocks can be moved to the provider's midnight, which a real server's
// clock cannot, with a journal in a file.
type midnight struct {
	*testing.T

	now      time.Time
	ahead    time.Duration // of the upstream's clock
	governor *quota.Governor
	sim      *youtubesim.Server
}

// turn is the provider's midnight.
var turn = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

func newMidnight(t *testing.T, at time.Time, ahead time.Duration, limit int64) *midnight {
	t.Helper()
	m := &midnight{T: t, now: at, ahead: ahead}
	tariff, err := quota.ParseCosts("costs.yaml", []byte(faultCosts(250)), "youtube", "")
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return m.now }
	file, err := sqliteledger.Open(t.Context(), filepath.Join(t.TempDir(), ledgerFile))
	if err != nil {
		t.Fatal(err)
	}
	file.Now = clock
	t.Cleanup(func() { _ = file.Close() })
	shared, err := sharedledger.Open(tariff, &memremote.Remote{Now: clock}, file, 1)
	if err != nil {
		t.Fatal(err)
	}
	shared.Now = clock
	t.Cleanup(func() { _ = shared.Close() })
	m.governor = &quota.Governor{Ledger: shared, EmergencyAccount: shared, Tariff: tariff, Account: "default", Now: clock}
	m.sim, err = youtubesim.New(youtubesim.Options{Limits: map[string]int64{"units": limit}, Now: func() time.Time { return m.now.Add(m.ahead) }})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// take requires a decision.
func (m *midnight) take(allowed bool) quota.Decision {
	m.Helper()
	d, err := m.governor.Take(context.Background(), quota.Request{Method: cheap, Region: "US", Purpose: quota.Manual})
	if err != nil || d.Allowed != allowed {
		m.Fatalf("%v: allowed %t, refused by %v, %v; want allowed %t", m.now, d.Allowed, d.Refusal, err, allowed)
	}
	return d
}

// call succeeds, or reports that the upstream is out of quota.
func (m *midnight) call() bool {
	w := httptest.NewRecorder()
	m.sim.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/youtube/v3/videos?part=id&chart=mostPopular&regionCode=US&maxResults=1", nil))
	return w.Code == http.StatusOK
}

func (m *midnight) drain(d quota.Decision) {
	m.Helper()
	if err := m.governor.Drain(context.Background(), d, "units"); err != nil {
		m.Fatal(err)
	}
}

func (m *midnight) judge(name string, began time.Time) {
	m.Helper()
	report, err := m.governor.Report(context.Background())
	if err != nil {
		m.Fatal(err)
	}
	var wrong []string
	used, sent := report.Pools[1].Windows[0].Used, m.sim.Ledger().Units["units"]
	if most := m.sim.MaxInDay("units"); most > 250 || used < sent {
		wrong = append(wrong, "broken")
		m.Errorf("%d arrived in a day, %d in all, and the ledger counts %d", most, sent, used)
	}
	m.Log(verdictLine(name, sent, 250, used, time.Since(began), wrong))
}

func TestFaultDrainedAtMidnight(t *testing.T) {
	t.Parallel()
	t.Run("taken, sent and refused at 23:59:59.9", func(t *testing.T) {
		m, began := newMidnight(t, turn.Add(-100*time.Millisecond), 0, 3), time.Now()
		for range 3 {
			m.take(true)
			m.call()
		}
		d := m.take(true)
		if m.call() {
			t.Fatalf("a call at %v: got answered, want refused: the upstream is drained", m.now)
		}
		m.drain(d)
		m.take(false)
		m.now = turn.Add(400 * time.Millisecond)
		m.take(true)
		if !m.call() {
			t.Errorf("a call at %v: got refused, want answered: a new day began at %v", m.now, turn)
		}
		m.judge("drained at 23:59:59.9", began)
	})
	t.Run("taken at 23:59:59.9, and refused at 00:00:00.4", func(t *testing.T) {
		m, began := newMidnight(t, turn.Add(-100*time.Millisecond), 0, 1), time.Now()
		m.take(true)
		m.call()
		d := m.take(true)
		if m.call() {
			t.Fatalf("a call at %v: got answered, want refused: the upstream is drained", m.now)
		}
		m.now = turn.Add(400 * time.Millisecond) // the refusal arrives
		m.drain(d)
		m.take(true)
		if !m.call() {
			t.Errorf("a call at %v: got refused, want answered: a new day began at %v", m.now, turn)
		}
		m.judge("taken at 23:59:59.9, refused at 00:00:00.4", began)
	})
	t.Run("taken and refused at 00:00:00.4, the upstream's day being over later", func(t *testing.T) {
		m, began := newMidnight(t, turn.Add(-time.Minute), -time.Second, 1), time.Now()
		m.take(true)
		m.call()
		m.now = turn.Add(400 * time.Millisecond)
		d := m.take(true)
		if m.call() {
			t.Fatalf("a call at %v: got answered, want refused: the upstream is drained", m.now)
		}
		m.drain(d)
		m.take(false)
		m.now = m.now.Add(5*time.Minute + time.Millisecond)
		m.take(true)
		if !m.call() {
			t.Errorf("a call at %v: got refused, want answered: a new day began at %v", m.now, turn)
		}
		m.judge("refused at 00:00:00.4 by a clock a second late", began)
	})
	t.Run("the ledger lost at 23:59:59.9, and drained", func(t *testing.T) {
		m, began := newMidnight(t, turn.Add(-100*time.Millisecond), 0, 1), time.Now()
		m.take(true)
		m.call()
		d := m.take(true)
		m.call()
		m.drain(d)
		m.governor.Ledger.(*sharedledger.Ledger).Remote.(*memremote.Remote).Load(memremote.Image{})
		m.take(false)
		m.now = turn.Add(400 * time.Millisecond)
		m.take(true)
		m.judge("drained at 23:59:59.9, then the ledger emptied", began)
	})
}

// A call that fails with a status is charged by both the upstream and the ledger: the two are equal.
func TestFaultStatusesAreEqual(t *testing.T) {
	statusesAreEqual(t, []string{"500@2-4", "503:20%", "drop:20%", "reset@3", "truncate:20%", "empty@2", "502html@3"}[:fewer(7, 3)])
}

// The run waits until the provider's minute has passed.
func TestLongARefusalForAMinuteIsCountedEqually(t *testing.T) {
	statusesAreEqual(t, []string{"429min:20%"})
}

func statusesAreEqual(t *testing.T, kinds []string) {
	t.Helper()
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, "redis", 250, youtubesim.Options{Seed: 7, Faults: faultsOf(t, kind), ChargePerMinute: true})
			p.ledger += "?timeout=5s" // the upstream fails, not a Redis that this machine is too busy to let answer
			code, _, errs := p.do(nil, "run", "--quiet", "--force", "--region", "US,GB", "--pages", "2")
			p.want(code == exitOK || code == exitPartial, "exit %d: %s", code, errs)
			p.judge("upstream fault " + kind)
		})
	}
}
