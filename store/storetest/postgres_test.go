//go:build unix

package storetest

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/pgstore"
)

// server is one for all tests.
var server = sync.OnceValues(func() (*faulty.Database, error) { return faulty.StartPostgres() })

// schemas are how many tests have one: it costs a tenth of a database.
var schemas atomic.Int64

func TestMain(m *testing.M) {
	if os.Getenv(copyFrom) != "" {
		if err := copyUntilKilled(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if d, err := server(); err == nil {
		d.Stop()
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
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

func TestPostgresStore(t *testing.T) { run(t, inPlaces(), 5) }

func TestLongPostgresStore(t *testing.T) { run(t, inPlaces(), 1) }

// A page takes longer in PostgreSQL: the sample is smaller.
func TestLongPostgresSearchQuality(t *testing.T) { searchQuality(t, inPlaces(), 30, 1) }

// inPlaces opens stores for the suite, each directory's in a place of its own.
func inPlaces() Open {
	urls := map[string]string{} // by directory
	return func(t testing.TB, dir string, now func() time.Time) *store.Store {
		t.Helper()
		if urls[dir] == "" {
			urls[dir] = place(t)
		}
		s, err := pgstore.Open(t.Context(), urls[dir], store.Options{Upstream: Upstream, Now: now})
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
}
