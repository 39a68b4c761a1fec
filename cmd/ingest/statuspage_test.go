package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net/http/httptest"
	"reflect"
	"sync/atomic"
	"unsafe"

	"modernc.org/sqlite"

	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/sqlitefile"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// StatusPage serves the status page once, of the source that ingest serve has, through the site's handler. It returns the
// page, and how many statements the store has run for it.
func StatusPage(ctx context.Context) (page string, statements int64, err error) {
	a := &app{console: console{stdout: &term.CheckedWriter{To: io.Discard}, stderr: io.Discard}}
	root := newRoot(a)
	root.AddCommand(command("page", "Show the page", noArgs, func(ctx context.Context, _ []string) error {
		s, err := a.readStore(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = s.Close() }()
		n, err := countReads(s)
		if err != nil {
			return err
		}
		return a.withReadOnlyLedger(ctx, func(ctx context.Context, l *ledger) error {
			schedule, err := a.schedule()
			if err != nil {
				return err
			}
			l.Reserve = (&budget.ReserveCache{Now: a.clock.Now, Log: a.log(), Compute: func(ctx context.Context) (quota.Reserve, error) {
				return schedule.Reserve(ctx, s, a.clock.Now())
			}}).Reserve
			from, pages := a.source(l, s), a.pages()
			facts := func(ctx context.Context) standing.Facts { return a.facts(ctx, s, nil) }
			site := web.Site{Alive: func() error { return nil }, Facts: facts, Pages: &pages}
			site.Status = &web.Status{Now: a.clock.Now, Version: version, Source: func() (*web.Source, error) { return from, nil },
				Facts: func(ctx context.Context) standing.Facts { return site.Standing(ctx).Facts }}
			site.Pages.Now, site.Pages.Overall, site.Pages.Fresh = a.clock.Now, site.Status.Overall, site.Status.Regions
			answer := httptest.NewRecorder()
			site.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(ctx, "GET", "http://localhost/status", nil))
			page, statements = answer.Body.String(), n.Load()
			return nil
		})
	}))
	root.SetArgs([]string{"page"})
	return page, statements, root.ExecuteContext(ctx)
}

// countReads counts the statements that a store's readers run from now on.
func countReads(s *store.Store) (*atomic.Int64, error) {
	c, err := sqlite.NewConnector(sqlitefile.DSN(s.Path(), "mode=ro", "_busy_timeout=10000", "_query_only=1", "_dqs=0", "_error_rc=1"))
	if err != nil {
		return nil, err
	}
	n := new(atomic.Int64)
	field := reflect.ValueOf(s).Elem().FieldByName("database").Elem().FieldByName("read")
	readers := (**sql.DB)(unsafe.Pointer(field.UnsafeAddr())) // the store cannot report its statements
	before := *readers
	*readers = sql.OpenDB(counting{c, n})
	return n, before.Close()
}

// counting makes connections that count their queries.
type counting struct {
	driver.Connector
	queries *atomic.Int64
}

func (c counting) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	q, ok := conn.(queryer)
	if !ok {
		return nil, errors.New("it takes no queries")
	}
	return counted{q, c.queries}, nil
}

type queryer interface {
	driver.Conn
	driver.ConnBeginTx
	driver.QueryerContext
}

type counted struct {
	queryer
	queries *atomic.Int64
}

func (c counted) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.queries.Add(1)
	return c.queryer.QueryContext(ctx, query, args)
}
