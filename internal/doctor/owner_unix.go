//go:build unix

package doctor

import "syscall"

func writable(path string) bool {
	const write = 2
	return syscall.Access(path, write) == nil
}
