//go:build unix

package doctor

import (
	"io/fs"
	"os/user"
	"strconv"
	"syscall"
)

func ownerOf(info fs.FileInfo) (uid int, known bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}

func writable(path string) bool {
	const write = 2
	return syscall.Access(path, write) == nil
}

// userName returns a user's name, or its id: a service's user often has no name.
func userName(uid int) string {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return "user " + strconv.Itoa(uid)
	}
	return u.Username
}
