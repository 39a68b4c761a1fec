package doctor

import (
	"strings"
	"syscall"
)

func volumeOf(path string) (volume, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return volume{}, err
	}
	name := make([]byte, 0, len(s.Fstypename))
	for _, c := range s.Fstypename {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	v := volume{free: int64(s.Bavail) * int64(s.Bsize), size: int64(s.Blocks) * int64(s.Bsize)}
	switch kind := string(name); {
	case kind == "nfs", kind == "smbfs", kind == "afpfs", kind == "webdav", strings.Contains(kind, "fuse"):
		v.network = kind
	}
	return v, nil
}
