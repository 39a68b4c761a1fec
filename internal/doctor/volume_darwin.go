package doctor

import (
	"strings"

	"golang.org/x/sys/unix"
)

func volumeOf(path string) (volume, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return volume{}, err
	}
	v := volume{free: int64(s.Bavail) * int64(s.Bsize), size: int64(s.Blocks) * int64(s.Bsize)}
	switch kind := unix.ByteSliceToString(s.Fstypename[:]); {
	case kind == "nfs", kind == "smbfs", kind == "afpfs", kind == "webdav", strings.Contains(kind, "fuse"):
		v.network = kind
	}
	return v, nil
}
