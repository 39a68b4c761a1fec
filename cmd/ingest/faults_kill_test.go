//go:build unix

package main_test

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // "pgx"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/quotatest"
)

// The settings of a test for the program that it starts: where to crash, and how large a file may grow. Only the test
// binary listens.
const (
	failpointEnv = "INGEST_TEST_FAILPOINT" // STEP:N, the N-th time
	fileSizeEnv  = "INGEST_TEST_FSIZE"     // bytes
	leaseEnv     = "INGEST_TEST_LEASE"     // how long a claim holds
)

func init() { failpoint = readFailpoint }

// readFailpoint reads them.
func readFailpoint() func(*fetch.Reconciler) {
	if size, err := strconv.ParseUint(os.Getenv(fileSizeEnv), 10, 64); err == nil {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size}); err != nil {
			panic(err)
		}
	}
	if lease, err := time.ParseDuration(os.Getenv(leaseEnv)); err == nil {
		return func(r *fetch.Reconciler) { r.Lease = lease }
	}
	if order := os.Getenv(ticksEnv); order != "" {
		var o ticks
		if err := json.Unmarshal([]byte(order), &o); err != nil {
			panic(err)
		}
		return o.into()
	}
	step, text, ok := strings.Cut(os.Getenv(failpointEnv), ":")
	if !ok {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return func(r *fetch.Reconciler) {
		b := bomb{step: step}
		b.left.Store(n)
		r.Quota = minedQuota{r.Quota, &b}
		r.Upstream = minedUpstream{r.Upstream, &b}
		r.Sink = minedSink{r.Sink, &b}
		r.Slots = minedSlots{r.Slots, &b}
	}
}

// bomb kills the program, like kill -9, at the n-th pass through a step.
type bomb struct {
	step string
	left atomic.Int64
}

func (b *bomb) at(step string) {
	if step == b.step && b.left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

type minedQuota struct {
	fetch.Quota
	*bomb
}

func (m minedQuota) Take(ctx context.Context, r quota.Request) (quota.Decision, error) {
	m.at("before")
	d, err := m.Quota.Take(ctx, r)
	m.at("answered")
	return d, err
}

type minedUpstream struct {
	fetch.Upstream
	*bomb
}

func (m minedUpstream) Chart(region ingest.Region, category, token string) fetch.Call[ingest.Page] {
	c := m.Upstream.Chart(region, category, token)
	do := c.Do
	c.Do = func(ctx context.Context) (ingest.Page, error) {
		page, err := do(ctx)
		m.at("sent")
		return page, err
	}
	return c
}

type minedSink struct {
	fetch.Sink
	*bomb
}

func (m minedSink) SavePage(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error) {
	slot, err := m.Sink.SavePage(ctx, slot, page)
	m.at("page saved")
	if slot.State == ingest.Done { // the last page and the end are one write
		m.at("slot finished")
	}
	return slot, err
}

type minedSlots struct {
	fetch.Slots
	*bomb
}

func (m minedSlots) Finish(ctx context.Context, slot ingest.Slot) error {
	err := m.Slots.Finish(ctx, slot)
	m.at("slot finished")
	return err
}

// programRig is the program, as a separate process, between a Redis or a PostgreSQL and an upstream.
type programRig struct {
	*testing.T

	limit    int64
	redis    *faulty.Server
	pg       *faulty.Database // instead of it, and its store
	proxy    *faulty.Proxy
	sim      *youtubesim.Server
	upstream string
	dir      string
	ledger   string
	stored   string        // where the store is; "": in the data directory
	now      time.Time     // moved clock, with sqlite only; zero: the machine's clock
	step     time.Duration // that it moves on between two runs; 0 is 30 min
	began    time.Time
	through  bool // the last run was not killed
	wrong    []string
	inDoubt  int64
}

// newProgram starts an upstream, and a Redis or a PostgreSQL unless the ledger is SQLite.
func newProgram(t *testing.T, ledger string, limit int, o youtubesim.Options) *programRig {
	t.Helper()
	p := &programRig{T: t, limit: int64(limit), dir: t.TempDir(), ledger: ledger, began: time.Now()}
	var err error
	if p.sim, err = youtubesim.New(o); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(p.sim.ServeHTTP))
	t.Cleanup(server.Close)
	p.upstream = server.URL + "/"
	switch ledger {
	case "postgres":
		p.pg = faulty.Postgres(t)
		p.proxy = faulty.BeforePostgres(t, p.pg.Addr(), postgresScripts...)
		p.ledger = p.pg.URLAt(p.proxy.Addr())
		p.stored = p.ledger
	case "redis":
		p.redis = faulty.Redis(t)
		p.proxy = faulty.Before(t, p.redis.Addr())
		p.ledger = "redis://" + p.proxy.Addr()
	}
	p.write("costs.yaml", faultCosts(limit))
	// Not paced: a chart that is done has both its pages, however little is left.
	p.write("ingest.yaml", "pacing: off\njobs: [{name: chart, kind: chart, every: 30m, pages: 2}]\n")
	return p
}

func (p *programRig) write(name, text string) {
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

func (p *programRig) data() string { return filepath.Join(p.dir, "data") }

// command returns the program with its arguments, not yet started.
func (p *programRig) command(env []string, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	args = append([]string{"--config", filepath.Join(p.dir, "ingest.yaml"), "--data", p.data(), "--costs", filepath.Join(p.dir, "costs.yaml"),
		"--ledger", p.ledger, "--upstream-url", p.upstream}, args...)
	if p.stored != "" {
		args = append([]string{"--store", p.stored}, args...)
	}
	cmd = exec.Command(self(p.T), args...)
	cmd.Env = append(os.Environ(), env...)
	if !p.now.IsZero() {
		cmd.Env = append(cmd.Env, "INGEST_NOW="+p.now.Format(time.RFC3339))
	}
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// do runs the program to any end, and returns its exit code, -1 for a signal.
func (p *programRig) do(env []string, args ...string) (code int, stdout, stderr string) {
	cmd, out, errs := p.command(env, args...)
	return p.exit(cmd), out.String(), errs.String()
}

// exit runs a command to its end, and returns its exit code, -1 for a signal.
func (p *programRig) exit(cmd *exec.Cmd) int {
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// expireLeases lets the leases of killed processes expire. A run that succeeded has left nothing to do, so the next one
// is a second later.
func (p *programRig) expireLeases() {
	if !p.now.IsZero() {
		p.now = p.now.Add(cmp.Or(p.step, 30*time.Minute))
		return
	}
	if p.through {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	}
	if !p.hasStore() {
		return
	}
	db := p.store()
	defer func() { _ = db.Close() }()
	if _, err := db.Exec("UPDATE slots SET lease = 1 WHERE state = 'claimed'"); err != nil {
		p.Fatal(err)
	}
}

func (p *programRig) hasStore() bool {
	if p.pg != nil {
		return p.pg.Must(p, "SELECT to_regclass('ingest.slots') IS NOT NULL") == "t"
	}
	_, err := os.Stat(filepath.Join(p.data(), "ingest.db"))
	return err == nil
}

func (p *programRig) store() *sql.DB {
	driver, place := "sqlite", filepath.Join(p.data(), "ingest.db")+"?_pragma=busy_timeout(5000)"
	if p.pg != nil {
		driver, place = "pgx", p.pg.URL()+"&search_path=ingest"
	}
	db, err := sql.Open(driver, place)
	if err != nil {
		p.Fatal(err)
	}
	return db
}

func (p *programRig) want(ok bool, format string, args ...any) {
	if !ok {
		p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
	}
}

// force runs every region now.
func (p *programRig) force(env ...string) int {
	p.expireLeases()
	code, _, errs := p.do(env, "run", "--quiet", "--force")
	for end := time.Now().Add(waitAtMost); code == exitUnavailable && slow(errs) && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		p.inDoubt += int64(strings.Count(errs, "it may have been carried out"))
		code, _, errs = p.do(env, "run", "--quiet", "--force")
	}
	if code != -1 && code != exitOK && code != exitStopped {
		p.want(false, "ingest run: exit %d: %s", code, errs)
	}
	p.through = code != -1
	return code
}

// slow reports whether a run failed since the ledger, which is there, was too slow for it, as on a machine that does
// much else, or was not asked because it had not been there the last times: ten seconds at most.
func slow(errs string) bool {
	return strings.Contains(errs, "no answer within") || strings.Contains(errs, "not asked again before")
}

// judge compares the counts of the upstream and of the ledger, and examines the store.
func (p *programRig) judge(name string) {
	p.Helper()
	sent := p.sim.Ledger().Units["units"]
	p.want(p.sim.MaxInWindow("units", 24*time.Hour) <= p.limit, "I1: %d units arrived within 24 h: the limit is %d", p.sim.MaxInWindow("units", 24*time.Hour), p.limit)
	p.want(p.sim.MaxInDay("units") <= p.limit, "I1: %d units arrived within a day: the limit is %d", p.sim.MaxInDay("units"), p.limit)
	used := p.used()
	p.want(used >= sent, "I2: the ledger counts %d, and %d arrived", used, sent)
	p.want(used-sent <= p.inDoubt, "the ledger counts %d, %d more than arrived, and %d are in doubt", used, used-sent, p.inDoubt)
	p.checkPages()
	p.report(name, sent, used)
}

// report prints the line of a fault, and fails the test if it is broken.
func (p *programRig) report(name string, sent, used int64) {
	p.Helper()
	p.Log(verdictLine(name, sent, p.limit, used, time.Since(p.began), p.wrong))
	if len(p.wrong) > 0 {
		p.Fail()
	}
}

// used returns the ledger's count; it retries while the ledger cannot answer.
func (p *programRig) used() int64 {
	code, out, errs := 0, "", ""
	for end := time.Now().Add(waitAtMost); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var doc quotaDocument
		if code, out, errs = p.do(nil, "quota", "--json"); code == exitOK && json.Unmarshal([]byte(out), &doc) == nil {
			for _, pool := range doc.Pools {
				if pool.Pool == "units" && !doc.Degraded {
					return pool.Windows[0].Used
				}
			}
		}
	}
	p.want(false, "ingest quota: exit %d: %s%s", code, out, errs)
	return -1
}

// checkPages requires that nothing is lost or doubled in the store: every page that a slot says was saved is there,
// with every place once.
func (p *programRig) checkPages() {
	db := p.store()
	defer func() { _ = db.Close() }()
	sound, check := "", "PRAGMA integrity_check"
	if p.pg != nil {
		check = "SELECT 'ok'" // it checks its pages itself
	}
	if err := db.QueryRow(check).Scan(&sound); err != nil || sound != "ok" {
		p.want(false, "the store: %s %v", sound, err)
	}
	rows, err := db.Query(`SELECT key, slots.due_at, state, pages, videos, count(rank), count(DISTINCT video), coalesce(max(rank), 0)
		FROM slots JOIN series ON series.id = slots.series LEFT JOIN placements ON placements.slot = slots.id GROUP BY slots.id, key`)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var key, state string
		var due, pages, videos, places, distinct, last int64
		if err := rows.Scan(&key, &due, &state, &pages, &videos, &places, &distinct, &last); err != nil {
			p.Fatal(err)
		}
		p.want(places == videos && distinct == places && last == places, "slot %s %d (%s): %d videos, %d places, %d different, the last %d", key, due, state, videos, places, distinct, last)
		p.want(state != "done" || pages == 2 && places > 50, "slot %s %d is done with %d pages and %d places", key, due, pages, places)
	}
	if err := rows.Err(); err != nil {
		p.Fatal(err)
	}
}

// fewer reduces the repetitions of tests that start processes of this binary: with the race detector that takes
// seconds.
func fewer(n, raced int) int {
	if quotatest.Raced {
		return raced
	}
	return n
}

// TestFaultKilledAtEveryStep kills the program at each step of a page, and between the steps of an operation on the
// ledger.
func TestFaultKilledAtEveryStep(t *testing.T) { killedAtEveryStep(t, "sqlite") }

func TestLongFaultKilledAtEveryStep(t *testing.T) { killedAtEveryStep(t, "redis", "postgres") }

func killedAtEveryStep(t *testing.T, ledgers ...string) {
	t.Helper()
	t.Parallel()
	for _, ledger := range ledgers {
		t.Run(ledger, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, ledger, 300, youtubesim.Options{})
			if ledger == "sqlite" {
				p.now = time.Date(2026, 2, 14, 20, 10, 0, 0, time.UTC)
			}
			for _, step := range []string{"before", "answered", "sent", "page saved", "slot finished"} {
				for _, n := range []int{1, 2, 5}[:fewer(3, 1)] {
					p.nextSecond()
					code := p.force(fmt.Sprintf("%s=%s:%d", failpointEnv, step, n))
					p.want(code == -1, "it was not killed when %s for time %d: exit %d", step, n, code)
					p.inDoubt++
				}
			}
			if p.proxy != nil {
				p.killedOnTheWay(faulty.Asked)
				p.killedOnTheWay(faulty.Executed)
			}
			code := p.force()
			p.want(code == exitOK || code == exitStopped, "the last run: exit %d", code)
			p.judge("worker killed at every step, " + ledger)
		})
	}
}

// TestFaultBeforeTheLedgerHasAnswered spends the emergency budget of a ledger that has never answered. As soon as it
// answers it gets those spends, and the gate opens by itself.
func TestFaultBeforeTheLedgerHasAnswered(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "redis", 300, youtubesim.Options{})
	p.proxy.Refuse()
	if code, _, errs := p.do(nil, "run", "--quiet", "--force"); code != exitUnavailable && code != exitStopped {
		t.Errorf("without a ledger: exit %d: %s", code, errs)
	}
	p.want(p.sim.Ledger().Units["units"] > 0, "nothing was spent without the ledger")
	if err := p.proxy.Pass(); err != nil {
		t.Fatal(err)
	}
	p.nextSecond()
	p.expireLeases()
	p.want(p.force() == exitOK, "no run when the ledger answered")
	p.judge("first asked when it is down")
}

// killedOnTheWay kills it while its n-th script is being asked or answered.
func (p *programRig) killedOnTheWay(moment faulty.Moment) {
	for n := 1; n <= fewer(5, 2); n++ {
		p.nextSecond()
		p.expireLeases()
		cmd, _, _ := p.command(nil, "run", "--quiet", "--force")
		var passed atomic.Int64
		started := make(chan struct{})
		p.proxy.Watch(func(m faulty.Moment) {
			if m == moment && passed.Add(1) == int64(n) {
				<-started
				_ = cmd.Process.Kill()
				time.Sleep(20 * time.Millisecond) // until it is dead
			}
		})
		if err := cmd.Start(); err != nil {
			p.Fatal(err)
		}
		close(started)
		_ = cmd.Wait()
		p.through = cmd.ProcessState.ExitCode() != -1
		p.want(!p.through, "it was not killed at script %d: exit %d", n, cmd.ProcessState.ExitCode())
		p.proxy.Watch(nil)
		p.inDoubt++
	}
}

// killWithin starts the program and kills it (kill -9) at a random moment of the given time. The code is -1 unless it
// has ended before.
func (p *programRig) killWithin(random *rand.Rand, whole time.Duration, args ...string) (code int, stderr string) {
	p.Helper()
	cmd, _, errs := p.command(nil, args...)
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	time.Sleep(time.Duration(random.Int64N(int64(whole)))) // the test kills a real process
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), errs.String()
}

// TestFaultKilledAtRandom kills it twelve times on each ledger, at random.
func TestFaultKilledAtRandom(t *testing.T) {
	for _, ledger := range []string{"redis", "sqlite", "postgres"} {
		t.Run(ledger, func(t *testing.T) {
			t.Parallel()
			seed := uint64(time.Now().UnixNano())
			random := rand.New(rand.NewPCG(seed, 1))
			p := newProgram(t, ledger, 300, youtubesim.Options{Latency: 2 * time.Millisecond})
			if ledger == "sqlite" {
				p.now = time.Date(2026, 2, 14, 9, 10, 0, 0, time.UTC) // a day and a window turn on the way
			}
			began := time.Now()
			p.force()
			whole := time.Since(began)
			killed := 0
			for killed < fewer(12, 6) {
				p.expireLeases()
				code, errs := p.killWithin(random, whole, "run", "--quiet", "--force")
				p.want(code == -1 || code == exitOK || code == exitStopped, "exit %d: %s", code, errs)
				p.through = code != -1
				killed++
				p.inDoubt++
			}
			p.force()
			p.judge(fmt.Sprintf("killed %d times at random, %s, seed %d", killed, ledger, seed))
		})
	}
}
