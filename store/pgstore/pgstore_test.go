//go:build unix

package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/pgstore"
	"github.com/trendvidstream/ingest/store/storetest"
)

// server is one for all tests.
var server = sync.OnceValues(func() (*faulty.Database, error) { return faulty.StartPostgres() })

// schemas are how many tests have one: it costs a tenth of a database.
var schemas atomic.Int64

func TestMain(m *testing.M) {
	code := m.Run()
	if d, err := server(); err == nil {
		d.Stop()
	}
	os.Exit(code)
}

// place is the URL of a schema where nothing is yet.
func place(t testing.TB) string {
	t.Helper()
	d, err := server()
	if errors.Is(err, faulty.ErrAbsent) {
		t.Skipf("postgres: %v: install postgresql 15 or newer, or set POSTGRES_BIN to the directory of its programs", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	// On a loaded machine a test may be kept from going on with its transaction for seconds.
	return fmt.Sprintf("%s&idle_in_transaction_session_timeout=60s&search_path=s%d", d.URL(), schemas.Add(1))
}

const upstream = "127.0.0.1"

func open(t testing.TB, url string, o store.Options) *store.Store {
	t.Helper()
	s, err := pgstore.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// run runs a statement as any client might.
func run(t testing.TB, url, statement string) {
	t.Helper()
	conn := connect(t, url)
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// query reads one value as any client might.
func query(t testing.TB, url, statement string, value any) {
	t.Helper()
	if err := connect(t, url).QueryRow(t.Context(), statement).Scan(value); err != nil {
		t.Fatal(err)
	}
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// Any number of programs that start at once make one store.
func TestOneOfManyMakesTheTables(t *testing.T) {
	url := place(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := pgstore.Open(t.Context(), url, store.Options{Upstream: upstream})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestAReaderMakesNothing(t *testing.T) {
	url := place(t)
	if s, err := pgstore.Open(t.Context(), url, store.Options{ReadOnly: true}); !errors.Is(err, store.ErrMissing) {
		t.Fatalf("a store that is not there: %v, %v", s, err)
	}
	open(t, url, store.Options{Upstream: upstream})
	reader := open(t, url, store.Options{ReadOnly: true})
	if reader.Upstream() != upstream {
		t.Errorf("the reader's upstream is %q, want %v", reader.Upstream(), upstream)
	}
	if err := reader.SetWait(t.Context(), "bf-1", true); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a reader wrote: %v, want error %v", err, store.ErrReadOnly)
	}
}

func TestAnotherUpstreamIsRefused(t *testing.T) {
	url := place(t)
	open(t, url, store.Options{Upstream: upstream})
	var foreign *store.UpstreamError
	if _, err := pgstore.Open(t.Context(), url, store.Options{Upstream: "api.example"}); !errors.As(err, &foreign) {
		t.Errorf("another upstream's store: %v", err)
	}
}

// A program that has become the older one, while it ran or before it started, writes nothing.
func TestAnOlderProgramIsRefused(t *testing.T) {
	url := place(t)
	s := open(t, url, store.Options{Upstream: upstream})
	run(t, url, `UPDATE meta SET value = '99' WHERE name = 'version'`)
	var newer *store.VersionError
	if err := s.SaveNoChart(t.Context(), "US", "", time.Now()); !errors.As(err, &newer) || newer.Have != 99 {
		t.Errorf("a write of an older program: %v", err)
	}
	if _, err := pgstore.Open(t.Context(), url, store.Options{}); !errors.As(err, &newer) {
		t.Errorf("an older program opened it: %v", err)
	}
}

func TestNoErrorShowsThePassword(t *testing.T) {
	for _, url := range []string{
		"postgres://me:hunter2@127.0.0.1:1/x?connect_timeout=2", "postgres://me:hunter2@127.0.0.1:notaport/x", "postgres://me:hunter2@[::1/x",
	} {
		_, err := pgstore.Open(t.Context(), url, store.Options{})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A worker whose machine dies in the middle of a transaction, with the lock, holds up the others no longer than the
// server takes to notice; its writes are not there.
func TestAConnectionThatDiesInATransactionLeavesNothing(t *testing.T) {
	url := place(t)
	s := open(t, url, store.Options{Upstream: upstream, Now: func() time.Time { return time.Unix(1771070400, 0) }})
	storetest.AddDue(t, s, storetest.Due("US", time.Unix(1771070400, 0)))
	run(t, url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ingest' AND pid <> pg_backend_pid()`)
	deadline := time.Now().Add(time.Minute)
	for {
		slot, ok, err := s.Claim(t.Context(), storetest.By("test", time.Unix(1771070400, 0)))
		if err == nil && ok && slot.Attempt == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the store does not come back: %v, %v", ok, err)
		}
	}
}

// If several programs start, one runs the missing steps. A program that only reads leaves them as they are.
func TestAnOlderStoreIsMigratedOnce(t *testing.T) {
	url := place(t)
	if err := open(t, url, store.Options{Upstream: upstream}).Close(); err != nil {
		t.Fatal(err)
	}
	pgstore.SetSteps(t, `ALTER TABLE video_facts ADD COLUMN mood text`)
	var older *store.VersionError
	if _, err := pgstore.Open(t.Context(), url, store.Options{ReadOnly: true}); !errors.As(err, &older) || older.Have != pgstore.SchemaVersion()-1 {
		t.Errorf("a reader of an older store: %v", err)
	}
	open(t, url, store.Options{Upstream: upstream})
	open(t, url, store.Options{Upstream: upstream})
	var version string
	if query(t, url, `SELECT value FROM meta WHERE name = 'version'`, &version); version != fmt.Sprint(pgstore.SchemaVersion()) {
		t.Errorf("it has version %s", version)
	}
	var moods int
	query(t, url, `SELECT count(mood) FROM video_facts`, &moods)
}

// A pooler in transaction mode hands each transaction another connection, and makes a store's settings on none.
func TestAPoolerIsRefusedInOneLine(t *testing.T) {
	place(t) // or skip
	d, err := server()
	if err != nil {
		t.Fatal(err)
	}
	for _, settings := range [][]string{nil, {"ignore_startup_parameters = search_path, jit"}} {
		pooler := faulty.PgBouncer(t, d, 4, settings...)
		s, err := pgstore.Open(t.Context(), d.URLAt(pooler.Addr()), store.Options{Upstream: upstream})
		if err == nil {
			_ = s.Close()
			t.Fatalf("with %q it was opened", settings)
		}
		if text := err.Error(); !strings.Contains(text, "give the store PostgreSQL's own address") || strings.Contains(text, "\n") ||
			errors.Is(err, ingest.ErrStoreSilent) {
			t.Errorf("with %q it was refused with %q", settings, text)
		}
	}
}
