package faulty

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Copies of a PostgreSQL: replicas, and data directories that are restored.

// Replica starts another server that follows this one, which must have been started with "wal_level=replica".
func (d *Database) Replica(t T, settings ...string) *Database {
	t.Helper()
	r := &Database{bin: d.bin, settings: append(slices.Clone(d.settings), settings...)}
	var err error
	if r.daemon, err = newDaemon("postgres"); err != nil {
		t.Fatalf("faulty: %v", err)
	}
	t.Cleanup(r.Stop)
	r.Data = filepath.Join(r.dir, "data")
	d.baseBackup(t, r.daemon, r.Data, "-R")
	if err := r.start(); err != nil {
		t.Fatalf("faulty: %v", err)
	}
	return r
}

// Promote makes a replica an independent server.
func (d *Database) Promote(t T) {
	t.Helper()
	if d.Admin(t, "SELECT pg_promote()") != "t" {
		t.Fatalf("faulty: pg_promote() on %s: got no promotion within a minute", d.Data)
	}
}

// Save copies the server's data files, like a file backup. The server must not be running. Load restores that copy.
func (d *Database) Save(t T) { d.copy(t, d.Data, d.Data+".saved") }

// Backup is Save for a running server: a base backup. The server must have been started with "wal_level=replica".
func (d *Database) Backup(t T) {
	t.Helper()
	if err := os.RemoveAll(d.Data + ".saved"); err != nil {
		t.Fatalf("faulty: %v", err)
	}
	d.baseBackup(t, d.daemon, d.Data+".saved")
}

// baseBackup makes a base backup in another daemon's directory.
func (d *Database) baseBackup(t T, owner *daemon, dir string, more ...string) {
	t.Helper()
	args := append([]string{"-h", "127.0.0.1", "-p", strconv.Itoa(d.Port), "-U", admin, "-D",
		dir, "-X", "stream", "-c", "fast", "--no-sync"}, more...)
	if err := owner.finish(filepath.Join(d.bin, "pg_basebackup"), args...); err != nil {
		t.Fatalf("faulty: %v", err)
	}
}

// Load undoes changes since Save or Backup.
func (d *Database) Load(t T) { d.copy(t, d.Data+".saved", d.Data) }

func (d *Database) copy(t T, from, to string) {
	t.Helper()
	err := os.RemoveAll(to)
	if err == nil {
		err = d.finish("cp", "-a", from, to)
	}
	if err != nil {
		t.Fatalf("faulty: %v", err)
	}
}
