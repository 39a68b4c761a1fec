//go:build unix

package faulty

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrAbsent means that a program is not installed here.
var ErrAbsent = errors.New("absent")

// Database is a PostgreSQL server with its own port and data. Its URL is the URL of an ordinary role, which owns the
// database "postgres" and has no other rights: no superuser, no databases, no roles. Admin acts as an administrator.
// Both lack a password.
type Database struct {
	*daemon

	Data string // its data directory

	bin      string
	settings []string
	turn     sync.Mutex // of Kill and Restart: a restart may be tried before the whole server is dead
}

// Postgres starts a server with settings such as "fsync=on". It ends with its test. Without PostgreSQL 15 or newer the
// test is skipped.
func Postgres(t T, settings ...string) *Database {
	t.Helper()
	d, err := StartPostgres(settings...)
	return withTest(t, d, err)
}

func withTest(t T, d *Database, err error) *Database {
	t.Helper()
	if errors.Is(err, ErrAbsent) {
		t.Skipf("postgres: %v: install postgresql 15 or newer, or set POSTGRES_BIN to the directory of its programs", err)
	}
	if err != nil {
		t.Fatalf("faulty: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("postgres on %d:\n%s", d.Port, d.log)
		}
		d.Stop()
	})
	return d
}

// diskSize is more than a new server needs, and small enough for a machine's memory.
const diskSize = 112 << 20

// PostgresOnDisk starts a server on its own disk, which Fill fills. Without the right to mount one, it skips the test.
func PostgresOnDisk(t T, settings ...string) *Database {
	t.Helper()
	d, err := startPostgres(func(d *Database) error {
		mount := filepath.Join(d.dir, "disk")
		d.Data = filepath.Join(mount, "data")
		var err error
		d.disk, err = newDisk(mount, diskSize, d.as)
		return err
	}, append([]string{"min_wal_size=32MB"}, settings...))
	var refused *mountError
	if errors.As(err, &refused) {
		t.Skipf("mount: a disk that can be filled: %v", err)
	}
	return withTest(t, d, err)
}

// Fill fills the server's disk, and Free removes that file.
func (d *Database) Fill(t T) {
	t.Helper()
	var err error
	d.on(func() {
		var f *os.File
		if f, err = os.Create(d.Data + ".fill"); err != nil {
			return
		}
		chunk := make([]byte, 1<<20)
		for len(chunk) > 0 {
			if _, writeErr := f.Write(chunk); writeErr != nil {
				chunk = chunk[:len(chunk)/2]
			}
		}
		err = f.Close()
	})
	if err != nil {
		t.Fatalf("faulty: fill the disk: %v", err)
	}
}

// Free undoes Fill.
func (d *Database) Free(t T) {
	t.Helper()
	var err error
	d.on(func() { err = os.Remove(d.Data + ".fill") })
	if err != nil {
		t.Fatalf("faulty: free the disk: %v", err)
	}
}

// StartPostgres starts a server that several tests share. The caller stops it; it ends with the process in any case.
func StartPostgres(settings ...string) (*Database, error) {
	return startPostgres(func(d *Database) error { d.Data = filepath.Join(d.dir, "data"); return nil }, settings)
}

// startPostgres starts a server in the place that choose sets.
func startPostgres(choose func(*Database) error, settings []string) (*Database, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	d := &Database{bin: bin, settings: settings}
	if d.daemon, err = newDaemon("postgres"); err != nil {
		return nil, err
	}
	if err = choose(d); err == nil {
		err = d.initialize()
	}
	if err == nil {
		err = d.start()
	}
	if err != nil {
		d.Stop()
		return nil, err
	}
	return d, nil
}

// template is a data directory made by initdb, which takes a second. It belongs to the first server of a process, and
// is removed with it.
var template struct {
	sync.Mutex

	dir string
}

const (
	admin        = "admin"
	ordinaryRole = "CREATE ROLE ingest LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE; ALTER DATABASE postgres OWNER TO ingest;"
)

func (d *Database) initialize() error {
	template.Lock()
	defer template.Unlock()
	if _, err := os.Stat(template.dir); template.dir == "" || err != nil {
		template.dir = filepath.Join(d.dir, "template")
		if err := d.finish(filepath.Join(d.bin, "initdb"), "-D", template.dir, "-U", admin, "-A",
			"trust", "-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
			return err
		}
		if err := d.finish("sh", "-c", `printf '%s\n' "$0" | "$1" --single -D "$2" postgres`,
			ordinaryRole, filepath.Join(d.bin, "postgres"), template.dir); err != nil {
			return err
		}
	}
	return d.finish("cp", "-a", template.dir, d.Data)
}

// Stop ends the server for good and removes its files, but not while another server copies its template.
func (d *Database) Stop() {
	template.Lock()
	defer template.Unlock()
	d.daemon.Stop()
}

// start starts the server on its own port, and waits until it answers.
func (d *Database) start() error {
	args := []string{"-D", d.Data, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="}
	for _, s := range append([]string{"fsync=off", "full_page_writes=off", "wal_level=minimal",
		"max_wal_senders=0", "shared_buffers=16MB",
		"max_wal_size=64MB", "jit=off", "max_connections=200"}, d.settings...) {
		args = append(args, "-c", s)
	}
	return d.begin(filepath.Join(d.bin, "postgres"),
		func(port int) []string { return append(args, "-c", "port="+strconv.Itoa(port)) },
		func(ctx context.Context) error { _, err := d.Query(ctx, "SELECT 1"); return err })
}

// Kill ends all processes of the server like a power cut.
func (d *Database) Kill() {
	d.turn.Lock()
	defer d.turn.Unlock()
	d.daemon.Kill()
}

// Restart starts the server again with its data on its port.
func (d *Database) Restart(t T) {
	t.Helper()
	d.turn.Lock()
	defer d.turn.Unlock()
	if err := d.start(); err != nil {
		t.Fatalf("faulty: %v\n%s", err, d.log)
	}
}

// URL returns the URL of the server's database "postgres".
func (d *Database) URL() string { return d.URLAt(d.Addr()) }

// URLAt returns the same URL at another address, such as the address of a proxy.
func (d *Database) URLAt(addr string) string {
	return "postgres://ingest@" + addr + "/postgres?sslmode=disable"
}

// Query runs one or more SQL statements on a new connection, and returns the rows of the last one.
func (d *Database) Query(ctx context.Context, sql string) ([][]string, error) {
	return query(ctx, d.URL(), sql)
}

// QueryIn is Query in the named database.
func (d *Database) QueryIn(ctx context.Context, database, sql string) ([][]string, error) {
	return query(ctx, strings.Replace(d.URL(), "/postgres?", "/"+database+"?", 1), sql)
}

// Admin is Must as the server's administrator, a superuser.
func (d *Database) Admin(t T, sql string) string {
	t.Helper()
	return first(t, d.QueryAsAdmin, sql)
}

// QueryAsAdmin is Query as the server's administrator.
func (d *Database) QueryAsAdmin(ctx context.Context, sql string) ([][]string, error) {
	return query(ctx, strings.Replace(d.URL(), "//ingest@", "//"+admin+"@", 1), sql)
}

// CreateDatabase makes an empty database that the ordinary role owns, and returns its URL.
func (d *Database) CreateDatabase(ctx context.Context, name string) (string, error) {
	_, err := d.QueryAsAdmin(ctx, "CREATE DATABASE "+name+" OWNER ingest")
	return strings.Replace(d.URL(), "/postgres?", "/"+name+"?", 1), err
}

func query(ctx context.Context, url, sql string) ([][]string, error) {
	c, err := pgconn.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close(ctx) }()
	results, err := c.Exec(ctx, sql).ReadAll()
	if err != nil || len(results) == 0 {
		return nil, err
	}
	var out [][]string
	for _, r := range results[len(results)-1].Rows {
		var fields []string
		for _, f := range r {
			fields = append(fields, string(f))
		}
		out = append(out, fields)
	}
	return out, nil
}

// Must is Query, which must succeed. It returns the first field of the first row, "" if there is none.
func (d *Database) Must(t T, sql string) string {
	t.Helper()
	return first(t, d.Query, sql)
}

// first returns the first field of the first row that query returns.
func first(t T, query func(ctx context.Context, sql string) ([][]string, error), sql string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	rows, err := query(ctx, sql)
	if err != nil {
		t.Fatalf("faulty: %s: %v", sql, err)
	}
	if len(rows) == 0 {
		return ""
	}
	return rows[0][0]
}

// postgresBin returns the directory of PostgreSQL's programs.
func postgresBin() (string, error) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.Reverse(dirs)
	if path, err := exec.LookPath("postgres"); err == nil && len(dirs) == 0 {
		dirs = append([]string{filepath.Dir(path)}, dirs...)
	}
	if bin := os.Getenv("POSTGRES_BIN"); bin != "" {
		dirs = []string{bin}
	}
	for _, dir := range dirs {
		out, err := exec.CommandContext(context.Background(), filepath.Join(dir, "postgres"), "--version").Output()
		fields := strings.Fields(string(out))
		if err != nil || len(fields) < 3 {
			continue
		}
		major, _, _ := strings.Cut(fields[2], ".")
		if n, err := strconv.Atoi(major); err == nil && n >= 15 {
			return dir, nil
		}
	}
	return "", ErrAbsent
}

// Pooler is a pgbouncer.
type Pooler struct{ *daemon }

// PgBouncer starts a pooler in transaction mode in front of the server, with that many connections to it and further
// settings. It ends with its test.
func PgBouncer(t T, d *Database, connections int, settings ...string) *Pooler {
	t.Helper()
	path := os.Getenv("PGBOUNCER")
	for _, p := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if found, err := exec.LookPath(p); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		t.Skipf("pgbouncer: absent: install it, or set PGBOUNCER")
	}
	m, err := newDaemon("pgbouncer")
	if err != nil {
		t.Fatalf("faulty: %v", err)
	}
	p := &Pooler{m}
	t.Cleanup(p.Stop)
	config := filepath.Join(p.dir, "pgbouncer.ini")
	err = p.begin(path, func(port int) []string {
		text := fmt.Sprintf("[databases]\npostgres = host=127.0.0.1 port=%d dbname=postgres "+
			"user=ingest\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\n"+
			"unix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = %d\nmax_client_conn = 500\n%s\n",
			d.Port, port, connections, strings.Join(settings, "\n"))
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil { //nolint:gosec // another user reads it
			t.Fatalf("faulty: %v", err)
		}
		return []string{config}
	}, func(ctx context.Context) error {
		c, err := pgconn.Connect(ctx, d.URLAt(p.Addr()))
		if err == nil {
			_ = c.Close(ctx)
		}
		return err
	})
	if err != nil {
		t.Fatalf("faulty: %v\n%s", err, p.log)
	}
	return p
}
