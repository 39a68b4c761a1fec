package sqlitefile

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
	"modernc.org/libc"
)

func init() { systemCalls["open"] = &systemCall{ours: pointer(&openNoLink)} }

// openNoLink is SQLite's open, which follows a link in the name of a directory: no link is in the name that it has
// found.
var openNoLink = func(tls *libc.TLS, file uintptr, flags, mode int32) int32 {
	name := libc.GoString(file)
	if !isOurs(name) {
		own := &systemCalls["open"].sqlites
		return function[func(tls *libc.TLS, file uintptr, flags, mode int32) int32](own)(tls, file, flags, mode)
	}
	how := unix.OpenHow{Flags: uint64(uint32(flags)), Resolve: unix.RESOLVE_NO_SYMLINKS}
	if flags&unix.O_CREAT != 0 {
		how.Mode = uint64(uint32(mode))
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, name, &how)
	// Linux before 5.6, or a container that forbids new calls
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		fd, err = unix.Open(name, int(flags)|unix.O_NOFOLLOW, uint32(mode))
	}
	if err == nil {
		return int32(fd)
	}
	number, _ := errors.AsType[syscall.Errno](err)
	fail(tls, number)
	return -1
}
