package quotatest

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// files has cases where a person replaces or deletes the file of a ledger in use.
var files = []Case{
	{ID: "L5", Name: "an older copy over the file in use is noticed by the next operation of every process",
		Needs: InFile, check: func(r *rig) {
			for name, put := range map[string]func(path string, old []byte) error{
				"cp": func(path string, old []byte) error { return os.WriteFile(path, old, 0o600) },
				"dd": func(path string, old []byte) error {
					f, err := os.OpenFile(path, os.O_WRONLY, 0)
					if err == nil {
						_, err = f.Write(old)
						err = errors.Join(err, f.Close())
					}
					return err
				},
				"mv": func(path string, old []byte) error {
					return errors.Join(os.WriteFile(path+".new", old, 0o600), os.Rename(path+".new", path))
				},
			} {
				r.about = name + ": "
				r.store = r.backend.Open(r, r.clock)
				r.ledger, r.bounds = r.store.Ledger, []quota.Bound{per(time.Hour, 10)}
				r.take(2)
				if err := r.ledger.Close(); err != nil {
					r.Fatal(err)
				}
				old, err := os.ReadFile(r.store.File.Path)
				if err != nil {
					r.Fatal(err)
				}
				all := []quota.Ledger{r.reopened(), r.reopened()}
				for _, r.ledger = range all {
					r.take(1)
				}
				if err := put(r.store.File.Path, old); err != nil {
					r.Fatal(err)
				}
				for _, r.ledger = range all {
					r.closed()
				}
				for _, l := range all {
					_ = l.Close()
				}
				// the copy got its missing rows back, or it cannot be distinguished from the file
				if l, err := r.store.File.Open(); err == nil {
					r.ledger = l
					r.used(4)
					_ = l.Close()
				}
			}
		}},
	{ID: "L5", Name: "a missing file is not created anew", Needs: InFile, check: func(r *rig) {
		r.bounds = []quota.Bound{per(time.Hour, 10)}
		r.take(10)
		if err := os.Remove(r.store.File.Path); err != nil {
			r.Fatal(err)
		}
		r.closed()
		for range 2 {
			if l, err := r.store.File.Open(); err == nil {
				r.ledger = l
				r.Fatalf("it is opened: %+v", r.take(0))
			}
			if _, err := os.Stat(r.store.File.Path); !errors.Is(err, fs.ErrNotExist) {
				r.Fatalf("it is there again: %v, want error %v", err, fs.ErrNotExist)
			}
		}
	}},
}

// reopened opens the store's file as another process.
func (r *rig) reopened() quota.Ledger {
	r.Helper()
	l, err := r.store.File.Open()
	if err != nil {
		r.Fatal(err)
	}
	return l
}

// closed wants an error from takes and peeks.
func (r *rig) closed() {
	r.Helper()
	for _, amount := range []int64{0, 1} {
		if d, err := r.try(charge("units", amount, r.bounds...)); err == nil {
			r.Fatalf("%s: %d is decided: %+v, want an error", r.at(), amount, d)
		}
	}
}
