//go:build unix

package main_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
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

// faultCosts returns the costs of the faults: so few units that every fault can run until none is left. The part of
// the limit that manual calls leave may go on without the ledger, so that a single unit too many shows.
func faultCosts(limit int) string {
	return fmt.Sprintf(`version: 1
upstreams:
  youtube:
    zone: America/Los_Angeles
    table: classic
    grace: 30s
    ceilings: {scheduled: 98%%, refresh: 98%%, backfill: 70%%, manual: 98%%, client: 70%%}
    failure: {open_at_most: 0.5%%, emergency: 2%%, settle: 3s}
    tables:
      classic:
        pools: {units: {24h: %[1]d, day: %[1]d}, search: {24h: 100, day: 100}}
        methods: {videos.list: {units: 1}, search.list: {units: 100, search: 1}}
`, limit)
}

const (
	faultLimit     = 250
	faultEmergency = faultLimit * 2 / 100
	faultSettle    = 3 * time.Second

	cheap     = "videos.list" // one unit: it goes on without the ledger
	expensive = "search.list" // a hundred: it does not
)

// rig is an upstream that counts, a Redis or PostgreSQL that fails, and the data directories that draw on it.
type rig struct {
	*testing.T

	redis  *faulty.Server
	pg     *faulty.Database // instead of it
	proxy  *faulty.Proxy
	url    string // of the ledger
	sim    *youtubesim.Server
	tariff *quota.Tariff
	limit  int64
	settle time.Duration
	hosts  int
	sites  []*site
	began  time.Time

	mu      sync.Mutex
	wrong   []string
	inDoubt int64 // units of calls that were not made, and may have been charged
	gusts   []string

	emergencies int64 // units that went on without the ledger
	more        int64 // units that the ledger may count too much for another, stated, reason
}

// newRig starts the servers and opens the data directories.
func newRig(t *testing.T, hosts int, settings ...string) *rig {
	t.Helper()
	r := bareRig(t, hosts, faultLimit)
	r.redis = faulty.Redis(t, settings...)
	r.proxy = faulty.Before(t, r.redis.Addr())
	r.url = "redis://" + r.proxy.Addr()
	r.openSites()
	return r
}

// newPostgresRig is newRig with a ledger in PostgreSQL.
func newPostgresRig(t *testing.T, hosts int, settings ...string) *rig {
	t.Helper()
	return onPostgres(t, hosts, faulty.Postgres(t, settings...), postgresScripts...)
}

func onPostgres(t *testing.T, hosts int, d *faulty.Database, scripts ...string) *rig {
	t.Helper()
	r := bareRig(t, hosts, faultLimit)
	r.pg = d
	r.proxy = faulty.BeforePostgres(t, d.Addr(), scripts...)
	r.url = d.URLAt(r.proxy.Addr())
	r.openSites()
	r.sites[0].recover() // its schema takes a while to make on a busy machine
	return r
}

// postgresScripts are the statements whose answers a proxy loses: takes, and the ends of transactions.
var postgresScripts = []string{".take_1(", "COMMIT"}

// bareRig is one without a ledger.
func bareRig(t *testing.T, hosts, limit int) *rig {
	t.Helper()
	r := &rig{T: t, hosts: hosts, limit: int64(limit), settle: faultSettle, began: time.Now()}
	var err error
	if r.tariff, err = quota.ParseCosts("costs.yaml", []byte(faultCosts(limit)), "youtube", ""); err != nil {
		t.Fatal(err)
	}
	// The upstream would admit more: the test is that it must not be asked to.
	if r.sim, err = youtubesim.New(youtubesim.Options{CostTable: "classic", Limits: map[string]int64{"units": 10 * r.limit, "search": 1000}}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) openSites() {
	for range r.hosts {
		s := &site{rig: r, dir: r.TempDir(), proxy: r.proxy, url: r.url}
		s.open()
		r.sites = append(r.sites, s)
		r.Cleanup(s.stop)
	}
}

// site is one data directory and the process that works in it.
type site struct {
	*rig

	dir      string
	proxy    *faulty.Proxy // on its way to the ledger
	url      string
	skew     atomic.Int64 // of its clock
	file     *sqliteledger.Ledger
	remote   sharedledger.Remote
	shared   *sharedledger.Ledger
	governor *quota.Governor
	mute     bool // it has crashed
}

func (s *site) now() time.Time { return time.Now().Add(time.Duration(s.skew.Load())).Round(0) }

func (s *site) journalPath() string { return filepath.Join(s.dir, ledgerFile) }

// open begins a process.
func (s *site) open() {
	s.Helper()
	var err error
	if s.file, err = sqliteledger.Open(context.Background(), s.journalPath()); err != nil {
		s.Fatal(err)
	}
	s.file.Now = s.now
	if s.remote, err = openRemote(s.url); err != nil {
		s.Fatal(err)
	}
	if s.shared, err = sharedledger.Open(s.tariff, s.remote, s.file, s.hosts); err != nil {
		s.Fatal(err)
	}
	s.shared.Host.Name, s.shared.SyncWait, s.shared.Now = s.dir, s.settle, s.now
	s.governor = &quota.Governor{Ledger: s.shared, EmergencyAccount: doubtful{s.shared, s.rig}, Tariff: s.tariff, Account: "default", Now: s.now}
	s.mute = false
}

func openRemote(url string) (sharedledger.Remote, error) {
	if strings.HasPrefix(url, "postgres:") {
		return pgledger.Open(context.Background(), url, pgledger.Options{})
	}
	return redisledger.Open(context.Background(), url, redisledger.Options{})
}

// doubtful counts as in doubt the calls that go on without the ledger after an ask that may have been executed: if the
// ledger is then lost, another host may have seen the charge, and it counts once more when it is posted.
type doubtful struct {
	*sharedledger.Ledger

	rig *rig
}

func (d doubtful) Spend(ctx context.Context, e quota.Emergency, budgets []quota.EmergencyBudget) (int64, error) {
	if errors.Is(e.Cause, quota.ErrInDoubt) {
		d.rig.mu.Lock()
		d.rig.inDoubt += e.Amounts["units"]
		d.rig.mu.Unlock()
	}
	return d.Ledger.Spend(ctx, e, budgets)
}

// stop ends the process cleanly.
func (s *site) stop() {
	if !s.mute {
		_ = s.shared.Close()
		_ = s.file.Close()
		s.mute = true
	}
}

// crash ends the process abruptly: its unwritten rows are gone. Its last answer then counts as in doubt: if the
// ledger is lost too, it is no longer known that others have seen it.
func (s *site) crash() {
	s.mu.Lock()
	s.inDoubt++
	s.mu.Unlock()
	_ = s.file.Close() // the journal first, so that nothing is written behind
	_ = s.shared.Close()
	s.mute = true
}

// crashAndOpen is a crash and a new process.
func (s *site) crashAndOpen() { s.crash(); s.open() }

// spree is the outcome of some calls.
type spree struct {
	allowed  int // by the ledger
	degraded int // without it
	refused  int
	closed   int
	later    time.Duration // the longest but the first
	last     error
}

func (c spree) made() int { return c.allowed + c.degraded }

// spend takes the given number of calls and makes the admitted ones.
func (s *site) spend(method string, n int) spree {
	var sum spree
	for i := range n {
		began := time.Now()
		err := s.call(method, &sum)
		if took := time.Since(began); i > 0 {
			sum.later = max(sum.later, took)
		}
		if err != nil {
			sum.last = err
		}
	}
	return sum
}

// call takes one, and makes it.
func (s *site) call(method string, sum *spree) error {
	d, err := s.governor.Take(context.Background(), quota.Request{Method: method, Region: "US", Purpose: quota.Manual})
	switch {
	case err != nil:
		sum.closed++
		if !errors.Is(err, quota.ErrClosed) && !errors.Is(err, quota.ErrNewer) {
			s.wrongly("a take ended with %v: it is neither an answer nor closed", err)
		}
		if errors.Is(err, quota.ErrInDoubt) {
			s.mu.Lock()
			s.inDoubt += s.tariff.Methods[method]["units"]
			s.mu.Unlock()
		}
		return err
	case !d.Allowed:
		sum.refused++
		return nil
	case d.Degraded:
		sum.degraded++
		s.mu.Lock()
		s.emergencies += d.Pools[0].Charged
		s.mu.Unlock()
	default:
		sum.allowed++
	}
	s.upstream(method)
	return nil
}

// upstream makes the call.
func (r *rig) upstream(method string) {
	path := map[string]string{cheap: "videos?part=id&chart=mostPopular&regionCode=US&maxResults=1", expensive: "search?part=id&q=a&maxResults=1"}[method]
	w := httptest.NewRecorder()
	r.sim.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/youtube/v3/"+path, nil))
	if w.Code != http.StatusOK {
		r.wrongly("the upstream answered %s with %d", method, w.Code)
	}
}

func (r *rig) wrongly(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

// want records a violated expectation.
func (r *rig) want(ok bool, format string, args ...any) {
	if !ok {
		r.wrongly(format, args...)
	}
}

// recover waits until the ledger answers again, and returns its report.
func (s *site) recover() quota.Report {
	var err error
	for end := time.Now().Add(waitAtMost); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var report quota.Report
		if report, err = s.governor.Report(context.Background()); err == nil {
			return report
		}
	}
	s.wrongly("the ledger does not come back: %v", err)
	return quota.Report{}
}

// exhaust goes on until the ledger refuses.
func (s *site) exhaust() {
	var sum spree
	for end := time.Now().Add(waitAtMost); sum.refused == 0 && time.Now().Before(end); {
		if s.call(cheap, &sum) != nil {
			time.Sleep(20 * time.Millisecond) // the breaker
		}
	}
	s.want(sum.refused > 0, "it never refused: %+v", sum)
}

// used returns the ledger's count of the units.
func (s *site) used() int64 {
	for _, p := range s.recover().Pools {
		if p.Pool == "units" {
			return p.Windows[0].Used
		}
	}
	return -1
}

// judge compares the ledger with the upstream's own count and returns the result in one line.
func (r *rig) judge(name string) string {
	sent := r.sim.Ledger().Units["units"]
	window, day := r.sim.MaxInWindow("units", 24*time.Hour), r.sim.MaxInDay("units")
	r.want(window <= r.limit && day <= r.limit, "I1: %d units arrived within 24 h, %d within a day: the limit is %d", window, day, r.limit)
	r.want(r.emergencies <= r.limit*2/100, "%d units went on without the ledger: %d may in a day", r.emergencies, r.limit*2/100)
	used := r.sites[0].used()
	r.want(used >= sent, "I2: the ledger counts %d, and %d arrived", used, sent)
	r.want(used-sent <= r.inDoubt+r.more, "the ledger counts %d, %d more than arrived, and %d are in doubt", used, used-sent, r.inDoubt+r.more)
	return verdictLine(name, sent, r.limit, used, time.Since(r.began), r.wrong)
}

// verdictLine returns the line of a fault in make faults.
func verdictLine(name string, sent, limit, ledger int64, took time.Duration, wrong []string) string {
	verdict := "holds"
	if len(wrong) > 0 {
		verdict = "BROKEN: " + strings.Join(wrong, "; ")
	}
	return fmt.Sprintf("%-58s %5d sent  %5d limit  %5d ledger  %6.1fs  %s", name, sent, limit, ledger, took.Seconds(), verdict)
}

// copyFile copies a file, or removes the copy if there is none.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		_ = os.Remove(to)
		return
	}
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
