//go:build unix

package ownfile

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

const (
	noFollow = syscall.O_NOFOLLOW
	noWait   = syscall.O_NONBLOCK
)

// Owner returns the user id of a file's owner; -1 where the system has none.
func Owner(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}

// ours reports whether a file belongs to this user, to root, or to the user who became root by sudo.
func ours(info fs.FileInfo) bool {
	uid := Owner(info)
	return uid == 0 || uid == os.Geteuid() || os.Geteuid() == 0 && strconv.Itoa(uid) == os.Getenv("SUDO_UID")
}

func writableByAll(info fs.FileInfo) bool { return info.Mode().Perm()&0o002 != 0 }
