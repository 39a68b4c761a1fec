//go:build unix

package sqlitefile

import (
	"sync"
	"syscall"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// followNoLinks keeps SQLite from following any symbolic link. It opens files by their names, and would follow a link that
// another user has put in the place of a file since we have looked at it. https://www.sqlite.org/c3ref/vfs.html
var followNoLinks = sync.OnceFunc(func() {
	tls := libc.NewTLS()
	defer tls.Close()
	vfs := sqlite3.Xsqlite3_vfs_find(tls, 0)
	set := (*at[sqlite3.Tsqlite3_vfs](&vfs)).FxSetSystemCall
	for name, call := range systemCalls {
		text, err := libc.CString(name)
		if err != nil {
			continue // out of memory: SQLite will say so
		}
		(*(*func(tls *libc.TLS, vfs, name, call uintptr) int32)(unsafe.Pointer(&struct{ uintptr }{set})))(tls, vfs, text, call)
		libc.Xfree(tls, text)
	}
})

// systemCalls take the place of SQLite's own, by name.
var systemCalls = map[string]uintptr{"readlink": pointer(&readNoLink)}

// readNoLink is SQLite's readlink: DSN has followed the links in the name of the directory, so this one is new.
var readNoLink = func(tls *libc.TLS, _, _ uintptr, _ sqlite3.Tsize_t) sqlite3.Tssize_t {
	fail(tls, syscall.ELOOP)
	return -1
}

// pointer returns a function of Go as SQLite's translation to Go calls it.
func pointer[F any](f *F) uintptr { return **(**uintptr)(unsafe.Pointer(&f)) }

func fail(tls *libc.TLS, with syscall.Errno) {
	errno := libc.X__errno_location(tls)
	*at[int32](&errno) = int32(with)
}

// at returns a pointer to C's memory, which does not move, from its address.
func at[T any](address *uintptr) *T { return *(**T)(unsafe.Pointer(address)) }
