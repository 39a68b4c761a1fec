//go:build unix

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/pgledger"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// mover is an operator whose ledger changes, with every kind of spender.
type mover struct {
	*operator

	ledger    string
	servers   map[string]server // by ledger
	elsewhere int64             // spent by another tool, and posted
	doubt     int64             // in flight when a process was killed
}

// server can be made not to answer.
type server interface {
	Freeze()
	Thaw()
}

// spenders are the ways to spend from an account.
var spenders = []struct {
	name  string
	spend func(*mover)
}{
	{"charts", func(m *mover) { chartRuns(1)(m.operator) }},
	{"takes", func(m *mover) { takes(9)(m.operator) }},
	{"a gateway", func(m *mover) { gateway(12)(m.operator) }},
	{"posts", func(m *mover) {
		ingestCode(m.t, exitOK, "quota", "post", "units", "7")
		m.elsewhere += 7
	}},
	{"emergencies", (*mover).emergencies},
	{"a library", func(m *mover) { m.library(9) }},
}

// emergencies makes calls while the ledger's server does not answer, and waits until the program asks it again.
func (m *mover) emergencies() {
	if s := m.servers[m.ledger]; s != nil {
		s.Freeze()
		defer m.awaitLedger()
		defer s.Thaw()
	}
	takes(2)(m.operator)
}

// awaitLedger waits until the ledger answers.
func (m *mover) awaitLedger() {
	m.t.Helper()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if code, _ := ingestAny("quota"); code == exitOK {
			return
		}
		if time.Since(began) > waitAtMost {
			m.t.Fatalf("%s does not answer", m.ledger)
		}
	}
}

// library makes the given number of calls, unless it is refused, as another program does that uses package quota on
// the same data directory.
func (m *mover) library(calls int) {
	ctx, path := m.t.Context(), filepath.Join(os.Getenv("INGEST_DATA"), ledgerFile)
	text, err := os.ReadFile(os.Getenv("INGEST_COSTS"))
	if err != nil {
		m.t.Fatal(err)
	}
	tariff, err := quota.ParseCosts("costs.yaml", text, "youtube", "")
	if err != nil {
		m.t.Fatal(err)
	}
	local, err := sqliteledger.Open(ctx, path)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = local.Close() }()
	g := &quota.Governor{Ledger: local, EmergencyAccount: local, Tariff: tariff, Account: os.Getenv("INGEST_ACCOUNT"), Now: time.Now}
	if url := os.Getenv("INGEST_LEDGER"); url != "sqlite" {
		var remote sharedledger.Remote
		if strings.HasPrefix(url, "redis") {
			remote, err = redisledger.Open(ctx, url, redisledger.Options{})
		} else {
			remote, err = pgledger.Open(ctx, url, pgledger.Options{})
		}
		if err != nil {
			m.t.Fatal(err)
		}
		shared, err := sharedledger.Open(tariff, remote, local, 1)
		if err != nil {
			m.t.Fatal(err)
		}
		defer func() { _ = shared.Close() }()
		shared.Account = g.Account
		g.Ledger, g.EmergencyAccount = shared, shared
	}
	for range calls {
		d, err := g.Take(ctx, quota.Request{Method: "videos.list", Purpose: quota.Manual})
		if err != nil {
			m.t.Fatal(err)
		}
		if !d.Allowed {
			return
		}
		m.get(os.Getenv("INGEST_UPSTREAM_URL") + "youtube/v3/videos?part=id&chart=mostPopular")
	}
}

// killed kills a run once it has called.
func (m *mover) killed() {
	before := m.sim.Ledger().Units["units"]
	p := startProcess(m.t, "run", "--force", "--quiet")
	p.until("it has called", func() bool { return m.sim.Ledger().Units["units"] > before })
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.gone
	m.doubt += 8 // one call in each region
}

// to changes to another ledger; with away, the server of the old one does not answer meanwhile.
func (m *mover) to(ledger string, away bool) {
	if old := m.servers[m.ledger]; away && old != nil && old != m.servers[ledger] {
		old.Freeze()
		defer old.Thaw()
	}
	m.ledger = ledger
	on(ledger)(m.operator)
	if away {
		takes(1)(m.operator)
	}
}

// judge spends the rest. It fails if more units arrived than the limit, or if the ledger counts an arrived call not at
// all or twice, unless its pools are closed because their use is unknown.
func (m *mover) judge() {
	m.t.Helper()
	takes(sequenceLimit)(m.operator)
	doc := ingestJSON[quotaDocument](m.t, exitOK, "quota")
	units := doc.Pools[len(doc.Pools)-1]
	arrived, used := m.sim.Ledger().Units["units"]+m.elsewhere, units.Windows[0].Used
	if arrived > sequenceLimit {
		m.t.Errorf("%d of %d arrived", arrived, sequenceLimit)
	}
	m.t.Logf("%d of %d arrived, %d are counted, %d in doubt, closed by %q", arrived, sequenceLimit, used, m.doubt, units.DrainedBy)
	if units.DrainedBy != "unknown" && (used < arrived || used > arrived+m.doubt || used < sequenceLimit*9/10) {
		m.t.Errorf("%d arrived, %d are counted, at most %d in doubt", arrived, used, m.doubt)
	}
}

// movers returns a function that makes movers on the same servers; PostgreSQL is started only for all.
func movers(t *testing.T, all bool) func(t *testing.T, first string) *mover {
	t.Helper()
	redis, n := faulty.Redis(t), 0
	servers, url := map[string]server{"redis": redis, "redis#1": redis}, ""
	if all {
		postgres := faulty.Postgres(t)
		servers["postgres"], url = postgres, postgres.URL()
	}
	return func(t *testing.T, first string) *mover {
		t.Helper()
		n++
		m := &mover{operator: &operator{t: t, sim: standIn(t, youtubesim.Options{}), ledgers: map[string]string{
			"sqlite": "sqlite", "redis": "redis://" + redis.Addr(), "redis#1": "redis://" + redis.Addr() + "/1", "postgres": url,
		}}, servers: servers}
		configured(t, "jobs: [{name: chart, kind: chart, every: 24h, pages: 2}]\n")
		t.Setenv("INGEST_COSTS", limits(t, fmt.Sprint(sequenceLimit)))
		costs("open_at_most: 0.1%, emergency: 0.5%", "open_at_most: 2%, emergency: 10%")(m.operator)
		t.Setenv("INGEST_ACCOUNT", fmt.Sprintf("moves-%d", n))
		m.must(os.Mkdir(os.Getenv("INGEST_DATA"), 0o700))
		m.to(first, false)
		return m
	}
}

// moments are when the ledger changes.
var moments = []string{"quiet", "killed at the switch", "the old server away", "back again"}

// orders are all orders of the given number of ledgers.
func orders(n int) (all [][]string) {
	if n == 0 {
		return [][]string{nil}
	}
	for _, order := range orders(n - 1) {
		for _, ledger := range []string{"sqlite", "redis", "redis#1", "postgres"} {
			if !strings.Contains(strings.Join(order, " ")+" ", ledger+" ") {
				all = append(all, append(order[:len(order):len(order)], ledger))
			}
		}
	}
	return all
}

// walkThrough spends on each ledger in turn, with each spender in turn, beginning with the first one given.
func walkThrough(m *mover, order []string, first, moment int) {
	if moments[moment] == "back again" {
		order = append(order[:len(order):len(order)], order[0])
	}
	for i, ledger := range order {
		if i > 0 {
			if moments[moment] == "killed at the switch" {
				m.killed()
			}
			m.to(ledger, moments[moment] == "the old server away")
		}
		spenders[(first+3*i)%len(spenders)].spend(m)
	}
	m.library(sequenceLimit)
	m.judge()
}

// Any ledger follows any other, with any spender, and any event at the switch: no more arrives than the limit, and
// the last ledger counts each arrived call once. Every pair is tried with every moment and every spender on either side,
// and every triple.
func TestLongNoOrderOfLedgersSpendsTwice(t *testing.T) {
	begin := movers(t, true)
	for _, n := range []int{2, 3} {
		for i, order := range orders(n) {
			for moment := range moments {
				if n == 3 && moment != i%len(moments) {
					continue
				}
				first := (i + moment) % len(spenders)
				t.Run(fmt.Sprintf("%s: first %s, %s", strings.Join(order, ","), spenders[first].name, moments[moment]), func(t *testing.T) {
					walkThrough(begin(t, order[0]), order, first, moment)
				})
			}
		}
	}
}

// losses are the ways to lose quota.db. older is a copy of the file from before the last spend.
var losses = []struct {
	name string
	lose func(m *mover, path, older string)
}{
	{"no file", func(m *mover, _, _ string) { loses("quota.db", "quota.db-*")(m.operator) }},
	{"an older copy", func(m *mover, path, older string) {
		loses("quota.db", "quota.db-*")(m.operator)
		m.must(os.WriteFile(path, []byte(older), 0o600))
	}},
	{"a damaged header", func(m *mover, _, _ string) { damagesHeader(m.operator) }},
	{"a damaged page", func(m *mover, path, _ string) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		m.must(err)
		_, err = f.WriteAt([]byte(strings.Repeat("x", 4096)), 4096)
		m.must(err)
		m.must(f.Close())
	}},
	{"a truncated file", func(m *mover, path, _ string) {
		info, err := os.Stat(path)
		m.must(err)
		m.must(os.Truncate(path, info.Size()/2))
	}},
	{"both files", func(m *mover, _, _ string) { loses("*.db", "*.db-*")(m.operator) }},
}

func (m *mover) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// TestLongNoRebuildSpendsTwice loses quota.db in every way, with every spender, and follows the program's advice.
func TestLongNoRebuildSpendsTwice(t *testing.T) {
	begin := movers(t, false)
	for _, loss := range losses {
		for _, s := range spenders {
			t.Run(loss.name+", after "+s.name, func(t *testing.T) {
				m := begin(t, "sqlite")
				takes(1)(m.operator)
				path := filepath.Join(os.Getenv("INGEST_DATA"), ledgerFile)
				older, err := os.ReadFile(path)
				m.must(err)
				s.spend(m)
				loss.lose(m, path, string(older))
				_, _ = ingestAny("run", "--quiet")
				if code, _ := ingestAny("quota", "rebuild"); code != exitOK {
					_, _ = ingestAny("quota", "rebuild", "--replace")
				}
				m.judge()
			})
		}
	}
}
