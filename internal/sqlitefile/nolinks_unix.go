//go:build unix

package sqlitefile

import (
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// followNoLinks keeps SQLite from following a symbolic link to this file, its journal or its log. SQLite opens files by
// their names, and would follow a link that another user has put in a file's place after our check. Other files that
// the program opens with SQLite are opened as usual. https://www.sqlite.org/c3ref/vfs.html
func followNoLinks(path string) {
	ours.Store(path, true)
	replaceSystemCalls()
}

var ours sync.Map // the paths given to followNoLinks

// isOurs reports whether SQLite asks for one of our files.
func isOurs(name string) bool {
	for _, suffix := range []string{"-journal", "-wal", "-shm"} {
		name = strings.TrimSuffix(name, suffix)
	}
	_, ok := ours.Load(name)
	return ok
}

var replaceSystemCalls = sync.OnceFunc(func() {
	tls := libc.NewTLS()
	defer tls.Close()
	vfs := sqlite3.Xsqlite3_vfs_find(tls, 0)
	methods := at[sqlite3.Tsqlite3_vfs](&vfs)
	get := function[func(tls *libc.TLS, vfs, name uintptr) uintptr](&methods.FxGetSystemCall)
	set := function[func(tls *libc.TLS, vfs, name, call uintptr) int32](&methods.FxSetSystemCall)
	for name, call := range systemCalls {
		text, err := libc.CString(name)
		if err != nil {
			continue // out of memory: SQLite will say so
		}
		call.sqlites = get(tls, vfs, text)
		set(tls, vfs, text, call.ours)
		libc.Xfree(tls, text)
	}
})

// systemCall is a system call of SQLite that ours replaces.
type systemCall struct{ ours, sqlites uintptr }

// systemCalls are ours by name, and SQLite's own.
var systemCalls = map[string]*systemCall{}

func init() { systemCalls["readlink"] = &systemCall{ours: pointer(&readNoLink)} }

// readNoLink is SQLite's readlink: DSN has followed the links in the name of our file's directory, so this one is new.
var readNoLink = func(tls *libc.TLS, path, to uintptr, size sqlite3.Tsize_t) sqlite3.Tssize_t {
	if name := libc.GoString(path); !isOurs(name) {
		own := &systemCalls["readlink"].sqlites
		return function[func(tls *libc.TLS, path, to uintptr, size sqlite3.Tsize_t) sqlite3.Tssize_t](
			own)(tls, path, to, size)
	}
	fail(tls, syscall.ELOOP)
	return -1
}

// pointer returns a function of Go as SQLite's translation to Go calls it, and function is its reverse.
func pointer[F any](f *F) uintptr { return **(**uintptr)(unsafe.Pointer(&f)) }

func function[F any](pointer *uintptr) F {
	return *(*F)(unsafe.Pointer(&struct{ uintptr }{*pointer}))
}

func fail(tls *libc.TLS, with syscall.Errno) {
	errno := libc.X__errno_location(tls)
	*at[int32](&errno) = int32(with)
}

// at returns a pointer to C's memory, which does not move, from its address.
func at[T any](address *uintptr) *T { return *(**T)(unsafe.Pointer(address)) }
