//go:build unix

package faulty_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/trendvidstream/ingest/internal/faulty"
)

// behindPostgres returns a table that gets one row from each script.
func behindPostgres(t *testing.T, settings ...string) (*faulty.Database, *faulty.Proxy) {
	t.Helper()
	d := faulty.Postgres(t, settings...)
	d.Must(t, "CREATE TABLE n (i int); CREATE FUNCTION add_one() RETURNS bigint LANGUAGE sql AS 'INSERT INTO n VALUES (1); SELECT count(*) FROM n'")
	return d, faulty.BeforePostgres(t, d.Addr(), "add_one(", "COMMIT")
}

func connect(t *testing.T, d *faulty.Database, p *faulty.Proxy) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), d.URLAt(p.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// addOne adds one in every way that a client may send it.
var addOne = map[string]func(context.Context, *pgx.Conn) error{
	"prepared": func(ctx context.Context, c *pgx.Conn) error { _, err := c.Exec(ctx, "SELECT add_one()"); return err },
	"once": func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "SELECT add_one() WHERE $1 > 0", pgx.QueryExecModeExec, 1)
		return err
	},
	"simple": func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.PgConn().Exec(ctx, "SELECT add_one()").ReadAll()
		return err
	},
	"COMMIT": func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { _, err := tx.Exec(ctx, "INSERT INTO n VALUES (1)"); return err })
	},
}

func TestPostgresProxyPasses(t *testing.T) {
	d, p := behindPostgres(t)
	c := connect(t, d, p)
	for range 2 {
		for name, add := range addOne {
			if err := add(t.Context(), c); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if n := d.Must(t, "SELECT count(*) FROM n"); n != "8" || p.Scripts() != 8 {
		t.Errorf("%s rows by %d scripts, want 8 by 8", n, p.Scripts())
	}
	if _, err := c.Exec(t.Context(), "SELECT 1/0"); err == nil || c.IsClosed() {
		t.Errorf("an error is an answer: %v", err)
	}
	rows, err := c.CopyFrom(t.Context(), pgx.Identifier{"n"}, []string{"i"}, pgx.CopyFromRows([][]any{{2}, {3}}))
	if err != nil || rows != 2 {
		t.Errorf("%d rows copied: %v, want 2", rows, err)
	}
	if err := c.PgConn().CancelRequest(t.Context()); err != nil {
		t.Errorf("cancel: %v", err)
	}
}

func TestPostgresCarriesOutTakesWithLostAnswers(t *testing.T) {
	d, p := behindPostgres(t)
	want := 0
	for how, as := range map[faulty.Loss]string{faulty.Closed: "closed", faulty.Swallowed: "swallowed", faulty.Torn: "torn"} {
		for name, add := range addOne {
			c := connect(t, d, p)
			p.Lose(1, how)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- add(ctx, c) }()
			want++
			for end := time.Now().Add(time.Minute); d.Must(t, "SELECT count(*) FROM n") != fmt.Sprint(want) && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
			if n := d.Must(t, "SELECT count(*) FROM n"); n != fmt.Sprint(want) {
				t.Errorf("%s, %s: %s rows, want %d", name, as, n, want)
			}
			cancel() // after it was carried out: earlier the server would stop it
			if err := <-ended; err == nil {
				t.Errorf("%s, %s: it was answered, want an error", name, as)
			}
		}
	}
}

// Messages that a server sends before it closes the connection arrive.
func TestPostgresRefusalArrives(t *testing.T) {
	d, p := behindPostgres(t)
	_, err := pgconn.Connect(t.Context(), "postgres://nobody@"+p.Addr()+"/postgres?sslmode=disable")
	var said *pgconn.PgError
	if !errors.As(err, &said) || said.Code != "28000" {
		t.Errorf("%v, want that there is no such role", err)
	}
	c := connect(t, d, p)
	pid := fmt.Sprint(c.PgConn().PID())
	d.Must(t, "SELECT pg_terminate_backend("+pid+")")
	if _, err := c.Exec(t.Context(), "SELECT 1"); !errors.As(err, &said) || said.Code != "57P01" {
		t.Errorf("%v, want that an administrator has ended it", err)
	}
}

// Data sent to a replica arrive late, and are lost with the connection.
func TestPostgresReplicaLags(t *testing.T) {
	d, p := behindPostgres(t, "wal_level=replica", "max_wal_senders=4")
	r := d.Replica(t, p.Followed())
	arrives := func(n string) (after time.Duration) {
		began := time.Now()
		for r.Must(t, "SELECT count(*) FROM n") != n {
			if time.Since(began) > time.Minute {
				t.Fatalf("the replica has %v rows after a minute, want %v", r.Must(t, "SELECT count(*) FROM n"), n)
			}
			time.Sleep(5 * time.Millisecond)
		}
		return time.Since(began)
	}
	d.Must(t, "SELECT add_one()")
	arrives("1")
	p.Lag(400 * time.Millisecond)
	d.Must(t, "SELECT add_one()")
	if after := arrives("2"); after < 200*time.Millisecond {
		t.Errorf("the replica knew after %v", after)
	}
	p.Lag(time.Hour)
	d.Must(t, "SELECT add_one()")
	d.Kill()
	p.Refuse()
	r.Promote(t)
	if n := r.Must(t, "SELECT add_one()"); n != "3" {
		t.Errorf("it has %s rows, want 2 and a new one: what was on its way is lost", n)
	}
}

func TestPostgresThatHangs(t *testing.T) {
	d, p := behindPostgres(t)
	c := connect(t, d, p)
	p.Hang()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Exec(ctx, "SELECT 1"); err == nil {
		t.Error("a query to the frozen server: got an answer within 50 ms, want none")
	}
	if err := p.Pass(); err != nil {
		t.Fatal(err)
	}
	if err := addOne["simple"](t.Context(), connect(t, d, p)); err != nil {
		t.Error(err)
	}
}

func TestAFullDiskIsFullUntilItIsFreed(t *testing.T) {
	d := faulty.PostgresOnDisk(t)
	d.Must(t, "CREATE TABLE n (text text)")
	d.Fill(t)
	_, err := d.Query(t.Context(), "INSERT INTO n SELECT repeat('x', 1000) FROM generate_series(1, 1000)")
	var said *pgconn.PgError
	if !errors.As(err, &said) || said.Code != "53100" {
		t.Errorf("%v, want that the disk is full", err)
	}
	d.Free(t)
	d.Must(t, "INSERT INTO n SELECT repeat('x', 1000) FROM generate_series(1, 1000)")
	if _, err := os.Stat(d.Data); err == nil {
		t.Errorf("%s: got visible, want it hidden from other processes", d.Data)
	}
}
