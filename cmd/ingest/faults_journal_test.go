//go:build unix

package main_test

import (
	"context"
	"errors"
	"os"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// journalFaults returns faults of the journal's file. A fault of its disk needs a process of its own: see
// TestFaultDisk.
func journalFaults() []fault {
	return []fault{
		one("the journal deleted while it is open", func(s *site) {
			s.recover() // the leftovers of a slow machine go with it
			s.eachFile(func(path string) { _ = os.Remove(path) })
			shut := s.spend(cheap, 5)
			s.want(shut.made() == 0, "calls with a journal that is gone: %+v", shut)
			s.stop()
			s.wontOpen("nothing where one was")
			s.beginAnew()
		}),
		one("the journal deleted between two processes", func(s *site) {
			s.recover() // the leftovers of a slow machine go with it
			s.stop()
			s.eachFile(func(path string) { _ = os.Remove(path) })
			s.wontOpen("nothing where one was")
			s.beginAnew()
		}),
		one("the journal an old copy, until the newest is back", func(s *site) {
			s.stop()
			s.eachFile(func(path string) { copyFile(s.T, path, path+".old") })
			s.open()
			s.spend(cheap, 10)
			s.proxy.Refuse()
			s.spend(cheap, 2*faultEmergency)
			s.stop()
			s.eachFile(func(path string) { copyFile(s.T, path, path+".new"); copyFile(s.T, path+".old", path) })
			s.wontOpen("an old copy")
			s.eachFile(func(path string) { copyFile(s.T, path+".new", path) })
			s.pass()
			s.open()
		}),
		one("the journal replaced by an old copy while it is open", func(s *site) {
			s.stop()
			s.eachFile(func(path string) { copyFile(s.T, path, path+".old") })
			s.open()
			for s.spend(cheap, 10).made() == 0 { // else the copy is not old
				s.recover()
			}
			s.eachFile(func(path string) {
				_ = os.Rename(path, path+".new")
				copyFile(s.T, path+".old", path)
			})
			shut := s.spend(cheap, 5)
			s.want(shut.made() == 0, "calls with a journal that was replaced: %+v", shut)
			s.stop()
			s.wontOpen("an old copy")
			s.eachFile(func(path string) { copyFile(s.T, path+".new", path) })
			s.open()
		}),
		one("the journal overwritten with rubbish", func(s *site) {
			s.stop()
			s.eachFile(func(path string) { copyFile(s.T, path, path+".new") })
			rubbish := make([]byte, 8192)
			for i := range rubbish {
				rubbish[i] = byte(i * 7)
			}
			s.eachFile(func(path string) { s.want(os.WriteFile(path, rubbish, 0o600) == nil, "write rubbish") })
			s.wontOpen("rubbish")
			s.eachFile(func(path string) { copyFile(s.T, path+".new", path) })
			s.open()
		}),
		one("the journal's pages overwritten while it is open", func(s *site) {
			s.stop()
			s.open() // its log is in the file now
			s.eachFile(func(path string) { copyFile(s.T, path, path+".new") })
			s.spoil(s.journalPath())
			s.crash()
			if l, err := sqliteledger.Open(context.Background(), s.journalPath()); err == nil {
				_ = l.Close()
				s.open()
				shut := s.spend(cheap, 3)
				s.want(shut.made() == 0, "calls with a spoilt journal: %+v", shut)
				s.crash()
			}
			s.eachFile(func(path string) { copyFile(s.T, path+".new", path) })
			s.open()
		}),
	}
}

// eachFile calls f for the database and the files that SQLite keeps beside it.
func (s *site) eachFile(f func(path string)) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		f(s.journalPath() + suffix)
	}
}

// beginAnew opens a new journal where one is gone, as ingest quota rebuild does.
func (s *site) beginAnew() {
	if err := sqliteledger.Replace(context.Background(), s.journalPath(), "", func(*sqliteledger.Ledger, string) error { return nil }); err != nil {
		s.Fatal(err)
	}
	s.open()
}

// wontOpen requires that the journal is refused.
func (s *site) wontOpen(what string) {
	l, err := sqliteledger.Open(context.Background(), s.journalPath())
	if err == nil {
		_ = l.Close()
	}
	s.want(errors.Is(err, quota.ErrCorrupt) || errors.Is(err, quota.ErrUnavailable), "%s as the journal: %v", what, err)
}

// spoil overwrites all of the file's pages but the first.
func (s *site) spoil(path string) {
	info, err := os.Stat(path)
	if err != nil {
		s.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for at := int64(4096); at < info.Size(); at += 4096 {
		if _, err := f.WriteAt([]byte("this is not a page of a database, and never was one"), at); err != nil {
			s.Fatal(err)
		}
	}
}
