package doctor

import "syscall"

// networks names file systems where SQLite's locks may fail, by their magic numbers: statfs(2).
var networks = map[uint32]string{
	0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB", 0x01021997: "9p", 0x65735546: "FUSE",
	0x00c36400: "Ceph", 0x0bd00bd0: "Lustre", 0x5346414f: "AFS", 0x7461636f: "OCFS2",
	0x01161970: "GFS2", 0x786f4256: "vboxsf",
}

func volumeOf(path string) (volume, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return volume{}, err
	}
	block := int64(s.Bsize) //nolint:unconvert // int32 on some processors
	return volume{int64(s.Bavail) * block, int64(s.Blocks) * block, networks[uint32(s.Type)]}, nil
}
