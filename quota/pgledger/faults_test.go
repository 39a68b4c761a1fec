//go:build unix

package pgledger_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/pgledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

func openLedger(t testing.TB, url string, o pgledger.Options) *pgledger.Ledger {
	t.Helper()
	l, err := pgledger.Open(context.Background(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// ask is for the given amount of each pool, with a limit on each.
func ask(account string, amount, limit int64, pools ...string) quota.Ask {
	now := time.Now()
	a := quota.Ask{Account: account, Midnights: quota.Midnights(now, time.UTC), Grace: 30 * time.Second, Horizon: 26 * time.Hour, Now: now,
		Who: quota.Who{Purpose: quota.Scheduled, Region: "US", Method: "videos.list"}}
	for _, p := range pools {
		a.Charges = append(a.Charges, quota.Charge{Pool: p, Amount: amount, Bounds: []quota.Bound{
			{Window: quota.Window{Name: "24h", Length: 24 * time.Hour, Limit: limit}, Ceiling: limit},
			{Window: quota.Window{Name: "day", Limit: limit}, Ceiling: limit},
		}})
	}
	return a
}

func take(t testing.TB, l quota.Ledger, a quota.Ask) quota.Decision {
	t.Helper()
	d, err := l.Take(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func used(t testing.TB, l quota.Ledger, account string) int64 {
	t.Helper()
	return take(t, l, ask(account, 0, 1_000_000, "units")).Pools[0].Windows[0].Used
}

// everything asks for each operation once and returns the errors.
func everything(ctx context.Context, l *pgledger.Ledger, account string) map[string]error {
	a, errs := ask(account, 1, 100, "units"), map[string]error{}
	_, errs["take"] = l.Take(ctx, a)
	_, errs["peek"] = l.Take(ctx, ask(account, 0, 100, "units"))
	errs["refund"] = l.Refund(ctx, account, quota.Decision{Allowed: true, At: time.Now(), Pools: []quota.PoolState{{Pool: "units", Charged: 1, Entry: 1}}})
	errs["post"] = l.Post(ctx, a, time.Now().Add(-time.Minute))
	errs["drain"] = l.Drain(ctx, account, "units", quota.Drain{Until: time.Now().Add(time.Hour), Used: 5})
	_, errs["spent"] = l.Spent(ctx, account, time.Now().Add(-time.Hour), 0)
	_, errs["state"] = l.State(ctx, account, nil)
	return errs
}

func wantAll(t *testing.T, errs map[string]error, want error, text string) {
	t.Helper()
	for what, err := range errs {
		if !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %v with %q", what, err, want, text)
		}
	}
}

const secret = "hunter2"

func TestServerThatIsNotThereIsUnavailable(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	l := openLedger(t, "postgres://somebody:"+secret+"@"+closed.Addr().String()+"/db?sslmode=disable", pgledger.Options{})
	errs := everything(t.Context(), l, "a")
	wantAll(t, errs, quota.ErrUnavailable, "refused")
	for what, err := range errs {
		if errors.Is(err, quota.ErrInDoubt) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "somebody") {
			t.Errorf("%s: %v: nothing was asked, and who asked is nobody's business", what, err)
		}
	}
}

func TestHangIsBoundedByTheTimeOut(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	const timeout = 100 * time.Millisecond
	l := openLedger(t, "postgres://u:"+secret+"@"+listener.Addr().String()+"/db?sslmode=disable", pgledger.Options{Timeout: timeout})
	began := time.Now()
	wantAll(t, everything(t.Context(), l, "a"), quota.ErrUnavailable, "no answer within 100ms")
	if d := time.Since(began); d > 7*10*timeout {
		t.Errorf("seven operations with a time-out of %v took %v", timeout, d)
	}
}

func TestWrongNamesAreReported(t *testing.T) {
	d := server(t)
	for url, want := range map[string]string{
		strings.Replace(d.URL(), "/postgres?", "/nowhere?", 1): "name another in the URL",
		strings.Replace(d.URL(), "ingest@", "nobody@", 1):      "check user and password",
	} {
		wantAll(t, everything(t.Context(), openLedger(t, url, pgledger.Options{Timeout: patient}), "a"), quota.ErrUnavailable, want)
	}
}

func TestWhoMayNotCreateIsToldSo(t *testing.T) {
	d := server(t)
	d.Admin(t, "CREATE ROLE weak LOGIN")
	l := openLedger(t, strings.Replace(d.URL(), "ingest@", "weak@", 1), pgledger.Options{Schema: "forbidden", Timeout: patient})
	errs := everything(t.Context(), l, "a")
	for _, look := range []string{"peek", "spent", "state"} { // nothing was spent yet
		if errs[look] != nil {
			t.Errorf("%s: %v", look, errs[look])
		}
		delete(errs, look)
	}
	wantAll(t, errs, quota.ErrUnavailable, "needs CREATE")
}

// A peek makes nothing, and finds that nothing was spent.
func TestReadingMakesNoSchema(t *testing.T) {
	d := server(t)
	l := openLedger(t, d.URL(), pgledger.Options{Schema: "unmade", Timeout: patient})
	if n := used(t, l, "a"); n != 0 {
		t.Errorf("%d used, want 0", n)
	}
	spent, err1 := l.Spent(t.Context(), "a", time.Now().Add(-time.Hour), 0)
	s, err2 := l.State(t.Context(), "a", []string{"w"})
	facts, err3 := l.Inspect(t.Context())
	if err := errors.Join(err1, err2, err3); err != nil || len(spent) > 0 || s.Generation != 0 || time.Since(s.At).Abs() > time.Minute {
		t.Errorf("%v: %v %+v, want nothing spent, generation 0, and a clock within %v", err, spent, s, time.Minute)
	}
	if facts.Version < 150000 || facts.Replica || facts.Pooled || facts.Durable() || facts.ClockAhead.Abs() > time.Second {
		t.Errorf("%+v, want version 15 or newer, a primary that is not durable, and its clock within 1 s", facts)
	}
	if n := d.Must(t, "SELECT count(*) FROM pg_namespace WHERE nspname = 'unmade'"); n != "0" {
		t.Error("schemas named unmade: got " + n + ", want 0")
	}
}

func TestManyMakeOneSchema(t *testing.T) {
	d := server(t)
	var all sync.WaitGroup
	for range 8 {
		l := openLedger(t, d.URL(), pgledger.Options{Schema: "made once", Timeout: patient})
		all.Go(func() {
			if d, err := l.Take(context.Background(), ask("a", 1, 100, "units")); err != nil || !d.Allowed {
				t.Errorf("%+v %v, want it admitted", d, err)
			}
		})
	}
	all.Wait()
	if n := used(t, openLedger(t, d.URL(), pgledger.Options{Schema: "made once", Timeout: patient}), "a"); n != 8 {
		t.Errorf("%d used by eight first takers, want 8", n)
	}
}

// Who comes while another makes the schema waits for that longer than for an answer.
func TestASchemaMayTakeLongToMake(t *testing.T) {
	d := server(t)
	const timeout = 2 * time.Second
	making := make(chan struct{})
	go func() {
		defer close(making)
		d.Must(t, "BEGIN; CREATE SCHEMA slow; SELECT pg_sleep(4.5); ROLLBACK")
	}()
	l := openLedger(t, d.URL(), pgledger.Options{Schema: "slow", Timeout: timeout})
	for d.Must(t, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'BEGIN; CREATE SCHEMA slow%' AND wait_event = 'PgSleep'") == "0" {
		time.Sleep(time.Millisecond)
	}
	if d, err := l.Take(t.Context(), ask("a", 1, 100, "units")); err != nil || !d.Allowed {
		t.Errorf("%+v %v, want it admitted", d, err)
	}
	<-making
}

// A lost answer is in doubt, after a take as after a COMMIT, and nothing is sent twice.
func TestLostReplyIsInDoubtAndNotASecondCharge(t *testing.T) {
	d := server(t)
	proxy := lossyProxy(t, d.Addr())
	l := openLedger(t, d.URLAt(proxy.Addr()), pgledger.Options{Schema: "lossy", Timeout: patient})
	take(t, l, ask("a", 1, 100, "units"))
	proxy.Lose(1, faulty.Closed)
	if d, err := l.Take(t.Context(), ask("a", 1, 100, "units")); !errors.Is(err, quota.ErrInDoubt) {
		t.Errorf("the reply was lost: %+v, %v, want error %v", d, err, quota.ErrInDoubt)
	}
	proxy.Lose(1, faulty.Closed)
	if err := l.Post(t.Context(), ask("a", 5, 100, "units"), time.Now()); !errors.Is(err, quota.ErrInDoubt) {
		t.Errorf("the answer to COMMIT was lost: %v, want error %v", err, quota.ErrInDoubt)
	}
	if n := used(t, l, "a"); n != 7 {
		t.Errorf("%d used, want 2 takes and a post of 5", n)
	}
}

// begun is a ledger in the first generation of an account.
func begun(t testing.TB, d *faulty.Database) *pgledger.Ledger {
	t.Helper()
	l := openLedger(t, d.URL(), pgledger.Options{Timeout: patient})
	if g, err := l.Renew(t.Context(), sharedledger.Renewal{Account: "a", Next: 1, First: true, Horizon: 26 * time.Hour}); err != nil || g != 1 {
		t.Fatal(g, err)
	}
	return l
}

// once takes under a number, again where the answer is not known.
func once(l *pgledger.Ledger, number, written int64) (err error) {
	for range 4 {
		_, err = l.TakeOnce(context.Background(), ask("a", 1, 1000, "units"),
			sharedledger.Operation{Generation: 1, Writer: "w", Number: number, Nonce: 7, Written: written})
		if !errors.Is(err, quota.ErrInDoubt) {
			break
		}
	}
	return err
}

func TestAnOlderCopyIsNoticed(t *testing.T) {
	d := faulty.Postgres(t)
	l := begun(t, d)
	if err := once(l, 1, 0); err != nil {
		t.Fatal(err)
	}
	d.Halt()
	d.Save(t)
	d.Restart(t)
	if err := errors.Join(once(l, 2, 1), once(l, 3, 2)); err != nil {
		t.Fatalf("after a restart with all it had: %v", err)
	}
	if _, err := l.State(t.Context(), "a", nil); err != nil {
		t.Errorf("a restart alone is no loss: %v", err)
	}
	d.Kill()
	d.Load(t)
	d.Restart(t)
	if err := once(l, 4, 3); !errors.Is(err, sharedledger.ErrLost) {
		t.Errorf("its data are those of two takes ago: %v, want error %v", err, sharedledger.ErrLost)
	}
}

func TestAPromotedReplicaHasLostItsMissingWrites(t *testing.T) {
	d := faulty.Postgres(t, "wal_level=replica", "max_wal_senders=4")
	l := begun(t, d)
	r := d.Replica(t)
	replica := openLedger(t, r.URL(), pgledger.Options{Timeout: patient})
	if err := once(l, 1, 0); err != nil {
		t.Fatal(err)
	}
	errs := everything(t.Context(), replica, "a")
	for _, reads := range []string{"spent", "peek", "state"} {
		delete(errs, reads)
	}
	wantAll(t, errs, quota.ErrUnavailable, "replica")
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // until it knows of the take
		if d, err := replica.Take(t.Context(), ask("a", 0, 1, "units")); err != nil || time.Now().After(end) {
			t.Fatal("the replica still lacks the take", err)
		} else if d.Pools[0].Windows[0].Used > 0 {
			break
		}
	}
	if d, err := replica.Take(t.Context(), ask("a", 1, 1, "units")); !errors.Is(err, quota.ErrUnavailable) {
		t.Errorf("a replica decided, although what it reads changes under it: %v, %v, want error %v", d, err, quota.ErrUnavailable)
	}
	d.Kill() // all calls have arrived
	r.Promote(t)
	for _, ask := range []func() error{
		func() error { return once(replica, 2, 1) },
		func() error { _, err := replica.State(context.Background(), "a", nil); return err },
		func() error {
			_, err := replica.Sync(context.Background(), sharedledger.Batch{Account: "a", Generation: 1, Horizon: time.Hour, Host: &sharedledger.Host{ID: "h"}})
			return err
		},
	} {
		if err := ask(); !errors.Is(err, sharedledger.ErrLost) {
			t.Errorf("it was promoted: %v, want error %v", err, sharedledger.ErrLost)
		}
	}
}

// A copy of the data under another server's identity is another server: a dump that was restored.
func TestARestoredDumpIsAnotherServer(t *testing.T) {
	d := faulty.Postgres(t)
	l := begun(t, d)
	d.Must(t, "UPDATE ingest_quota.accounts SET system = '1'")
	if _, err := l.State(t.Context(), "a", nil); !errors.Is(err, sharedledger.ErrLost) {
		t.Errorf("%v, want error %v", err, sharedledger.ErrLost)
	}
	if g, err := l.Renew(t.Context(), sharedledger.Renewal{Account: "a", Was: 1, Next: 2, Horizon: time.Hour}); err != nil || g != 2 {
		t.Fatal(g, err)
	}
	if _, err := l.State(t.Context(), "a", nil); err != nil {
		t.Errorf("in the next generation: %v", err)
	}
}

// A missing part of an account is a loss, never an empty pool.
func TestRowsThatAreGoneAreALoss(t *testing.T) {
	d := server(t)
	const entries = "(SELECT p.id FROM gone.pools p WHERE p.name = 'units')"
	for what, sql := range map[string]string{
		"pools":                               "DELETE FROM gone.pools",
		"one pool":                            "DELETE FROM gone.pools WHERE name = 'units'",
		"pools and writers":                   "DELETE FROM gone.pools; DELETE FROM gone.writers",
		"writers":                             "DELETE FROM gone.writers",
		"totals multiplied":                   "UPDATE gone.pools SET total = 5 * total",
		"the log":                             "DELETE FROM gone.entries WHERE pool = " + entries,
		"the log, and its length is set to 0": "DELETE FROM gone.entries WHERE pool = " + entries + "; UPDATE gone.pools SET length = 0 WHERE name = 'units'",
		"its newest entry":                    "DELETE FROM gone.entries WHERE number = 3",
	} {
		t.Run(what, func(t *testing.T) {
			d.Must(t, "DROP SCHEMA IF EXISTS gone CASCADE")
			l := openLedger(t, d.URL(), pgledger.Options{Schema: "gone", Timeout: patient})
			if _, err := l.Renew(t.Context(), sharedledger.Renewal{Account: "a", Next: 1, First: true, Horizon: 26 * time.Hour}); err != nil {
				t.Fatal(err)
			}
			take := func(number, amount int64) error {
				_, err := l.TakeOnce(t.Context(), ask("a", amount, 100, "units", "search"),
					sharedledger.Operation{Generation: 1, Writer: "w", Number: number, Nonce: 7, Written: number - 1})
				return err
			}
			if err := errors.Join(take(1, 30), take(2, 30), take(3, 30)); err != nil {
				t.Fatal(err)
			}
			d.Must(t, sql)
			if err := take(4, 30); !errors.Is(err, sharedledger.ErrLost) {
				t.Errorf("a take: %v, want error %v", err, sharedledger.ErrLost)
			}
			if _, err := l.State(t.Context(), "a", []string{"w"}); !errors.Is(err, sharedledger.ErrLost) {
				t.Errorf("a look at the state: %v, want error %v", err, sharedledger.ErrLost)
			}
			if _, err := l.Renew(t.Context(), sharedledger.Renewal{Account: "a", Was: 1, Next: 2, Horizon: 26 * time.Hour}); err != nil {
				t.Fatal(err)
			}
			if _, err := l.State(t.Context(), "a", []string{"w"}); err != nil {
				t.Errorf("in the next generation: %v", err)
			}
		})
	}
}

func TestARestartedServerIsFoundAgain(t *testing.T) {
	d := faulty.Postgres(t)
	l := begun(t, d)
	var all sync.WaitGroup
	for range 8 { // eight connections
		all.Go(func() { _, _ = l.Take(context.Background(), ask("b", 1, 100, "units")) })
	}
	all.Wait()
	d.Kill()
	wantAll(t, everything(t.Context(), l, "b"), quota.ErrUnavailable, "")
	d.Restart(t)
	errs := everything(t.Context(), l, "c")
	delete(errs, "refund") // of a take that was never made
	wantAll(t, errs, nil, "")
}

// Clients beyond the server's room get an error that says so, and nothing is in doubt.
func TestAServerWithoutRoomIsUnavailable(t *testing.T) {
	d := faulty.Postgres(t, "max_connections=10", "superuser_reserved_connections=0")
	var full []*pgledger.Ledger
	var last error
	for range 20 {
		l := openLedger(t, d.URL(), pgledger.Options{Timeout: patient})
		if _, last = l.Spent(t.Context(), "a", time.Now(), 0); last != nil {
			break
		}
		full = append(full, l)
	}
	if !errors.Is(last, quota.ErrUnavailable) || errors.Is(last, quota.ErrInDoubt) || !strings.Contains(fmt.Sprint(last), "53300") {
		t.Fatalf("after %d clients: %v", len(full), last)
	}
	_ = full[0].Close()
	l := openLedger(t, d.URL(), pgledger.Options{Timeout: patient})
	for end := time.Now().Add(patient); last != nil && time.Now().Before(end); {
		_, last = l.Spent(t.Context(), "a", time.Now(), 0)
	}
	if last != nil {
		t.Errorf("one has left: %v", last)
	}
}

// Who has the lock and hangs keeps the others waiting for their time-out, and no longer.
func TestAFrozenServerIsUnavailable(t *testing.T) {
	d := faulty.Postgres(t)
	begun(t, d)
	l := openLedger(t, d.URL(), pgledger.Options{Timeout: 300 * time.Millisecond})
	take(t, openLedger(t, d.URL(), pgledger.Options{Timeout: patient}), ask("a", 1, 100, "units"))
	d.Freeze()
	_, err := l.Take(t.Context(), ask("a", 1, 100, "units"))
	d.Thaw()
	if !errors.Is(err, quota.ErrUnavailable) {
		t.Errorf("frozen: %v, want error %v", err, quota.ErrUnavailable)
	}
	for end := time.Now().Add(patient); err != nil && time.Now().Before(end); {
		_, err = l.Take(t.Context(), ask("a", 1, 100, "units"))
	}
	if err != nil {
		t.Errorf("thawed: %v", err)
	}
}

// A server 400 ms away is used as one that is near, also with TLS and a password. Its output is the table of
// docs/hosts.md.
func TestLongAServerFarAwayIsUsed(t *testing.T) { farAway(t, 400*time.Millisecond) }

func TestAServerFarAwayIsUsed(t *testing.T) { farAway(t, 100*time.Millisecond) }

func farAway(t *testing.T, away time.Duration) {
	t.Helper()
	d := faulty.Postgres(t)
	begun(t, d)
	plain := faulty.Far(t, d.Addr(), away)
	authority := d.RequireTLS(t)
	d.Admin(t, "ALTER ROLE ingest PASSWORD 'far'")
	u, err := url.Parse(d.URLAt(plain))
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.RawQuery = url.UserPassword("ingest", "far"), url.Values{"sslmode": {"verify-full"}, "sslrootcert": {authority}}.Encode()
	l := openLedger(t, u.String(), pgledger.Options{})
	var taken quota.Decision
	for _, what := range []string{"the first take", "the next"} {
		began := time.Now()
		taken, err = l.Take(t.Context(), ask("a", 1, 100, "units"))
		if err != nil || !taken.Allowed {
			t.Fatalf("%s, after %v: %v, %v", what, time.Since(began), taken, err)
		}
		t.Logf("%s took %v, %.1f round trips", what, time.Since(began), time.Since(began).Seconds()/away.Seconds())
	}
	began := time.Now()
	if err := l.Refund(t.Context(), "a", taken); err != nil { // a transaction of many round trips
		t.Errorf("a refund: %v", err)
	}
	t.Logf("a refund took %v, %.1f round trips", time.Since(began), time.Since(began).Seconds()/away.Seconds())
}

// Sixty-four writers, each with a ledger of its own, get exactly the limit of one account.
func TestManyWritersOnOneAccount(t *testing.T) {
	d := faulty.Postgres(t, "max_connections=100")
	const writers, limit = 64, 300
	if _, err := begun(t, d).Spent(t.Context(), "a", time.Now(), 0); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	admitted := 0
	var all sync.WaitGroup
	for range writers {
		l := openLedger(t, d.URL(), pgledger.Options{Timeout: patient})
		all.Go(func() {
			for {
				d, err := l.Take(context.Background(), ask("many", 1, limit, "units"))
				mu.Lock()
				if err != nil {
					t.Error(err)
				}
				if d.Allowed {
					admitted++
				}
				mu.Unlock()
				if err != nil || !d.Allowed {
					return
				}
			}
		})
	}
	all.Wait()
	if admitted != limit {
		t.Errorf("%d admitted, the limit is %d", admitted, limit)
	}
}

// A role may have another default isolation, where a waiter for the lock would see the log as it was before.
func TestARolesIsolationDecidesNothing(t *testing.T) {
	d := server(t)
	d.Admin(t, "CREATE ROLE strict LOGIN SUPERUSER")
	d.Admin(t, "ALTER ROLE strict SET default_transaction_isolation = 'serializable'")
	url := strings.Replace(d.URL(), "ingest@", "strict@", 1)
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		l := openLedger(t, url, pgledger.Options{Schema: "isolated", Timeout: patient})
		wg.Go(func() {
			for range 25 {
				d, err := l.Take(t.Context(), ask("a", 1, 60, "units"))
				if err != nil {
					t.Error(err)
				}
				if d.Allowed {
					admitted.Add(1)
				}
			}
		})
	}
	if wg.Wait(); admitted.Load() != 60 {
		t.Errorf("%d of 60 admitted, want 60", admitted.Load())
	}
}
