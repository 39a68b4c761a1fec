package main_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/store"
)

// A run opens the store once, and reads its files once. Opens that follow upon each other, such as the opens of the
// store's two connections, are one to the kernel; one after a close is another.
func TestARunOpensTheStoreOnceAndReadsTheCostsOnce(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	config := configured(t, "pacing: off\n")
	t.Setenv("INGEST_COSTS", limits(t, "10000"))
	ingestCode(t, exitOK, "run") // makes the files
	files := []string{config, os.Getenv("INGEST_COSTS"), filepath.Join(os.Getenv("INGEST_DATA"), store.FileName)}

	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Skipf("inotify: %v", err)
	}
	defer func() { _ = unix.Close(watch) }()
	paths := map[int32]string{}
	for _, path := range files {
		id, err := unix.InotifyAddWatch(watch, path, unix.IN_OPEN|unix.IN_CLOSE)
		if err != nil {
			t.Skipf("inotify of %s: %v", path, err)
		}
		paths[int32(id)] = path
	}
	ingestCode(t, exitOK, "run", "--force")
	opened, events := map[string]int{}, make([]byte, 1<<16)
	n, err := unix.Read(watch, events)
	if err != nil {
		t.Fatalf("nothing was opened: %v", err)
	}
	for at := 0; at < n; at += unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[at+12:])) {
		if binary.NativeEndian.Uint32(events[at+4:])&unix.IN_OPEN != 0 {
			opened[paths[int32(binary.NativeEndian.Uint32(events[at:]))]]++
		}
	}
	for _, path := range files {
		if opened[path] != 1 {
			t.Errorf("%s was opened %d times, want 1", path, opened[path])
		}
	}
}
