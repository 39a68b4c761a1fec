package main

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// entry is one file of an archive, or a directory if its data is nil.
type entry struct {
	name     string
	mode     fs.FileMode
	uid, gid int
	data     []byte
}

// beside are the files of the repository that go into every archive.
var beside = []string{"README.md", "CHANGELOG.md", "LICENSE", "costs.yaml", "packaging/ingest.example.yaml", "packaging/crontab",
	"packaging/systemd/ingest-serve.service", "packaging/systemd/ingest.service", "packaging/systemd/ingest.timer"}

// archives packs the program of each platform with its manual, completions and examples.
func archives(r release) error {
	shared, err := sharedEntries(r)
	if err != nil {
		return err
	}
	for _, p := range r.Platforms {
		program, err := os.ReadFile(r.program(p))
		if err != nil {
			return err
		}
		top := fmt.Sprintf("ingest_%s_%s", r.Version, p)
		entries := []entry{{name: top + "/" + filepath.Base(r.program(p)), mode: 0o755, data: program}}
		for _, e := range shared {
			e.name = top + "/" + e.name
			entries = append(entries, e)
		}
		if err := writeFile(r, top+".tar.gz", func(to io.Writer) error {
			zipped, err := gzip.NewWriterLevel(to, gzip.BestCompression)
			if err != nil {
				return err
			}
			if err := writeTar(zipped, entries, r.Time); err != nil {
				return err
			}
			return zipped.Close()
		}); err != nil {
			return err
		}
	}
	return nil
}

// sharedEntries returns the entries common to all platforms' archives.
func sharedEntries(r release) (entries []entry, err error) {
	add := func(name, file string) error {
		data, err := os.ReadFile(file)
		entries = append(entries, entry{name: name, mode: 0o644, data: data})
		return err
	}
	for _, name := range beside {
		if err := add(path.Base(name), filepath.Join(r.Root, name)); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{"man", "completions"} {
		names, err := filepath.Glob(filepath.Join(r.Stage, dir, "*"))
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s/%s is empty", r.Stage, dir)
		}
		for _, name := range names { // sorted by Glob
			if err := add(dir+"/"+filepath.Base(name), name); err != nil {
				return nil, err
			}
		}
	}
	return entries, nil
}

// writeTar writes the entries in their order, all with the same time.
func writeTar(to io.Writer, entries []entry, at time.Time) error {
	w := tar.NewWriter(to)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: int64(e.mode.Perm()), Uid: e.uid, Gid: e.gid, Size: int64(len(e.data)), ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if e.mode&fs.ModeSticky != 0 {
			header.Mode |= 0o1000
		}
		if e.data == nil {
			header.Typeflag, header.Name = tar.TypeDir, e.name+"/"
		}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(e.data); err != nil {
			return err
		}
	}
	return w.Close()
}

// writeFile makes a file of the release.
func writeFile(r release, name string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(r.Out, name))
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close() // the first error says more
		return fmt.Errorf("%s: %w", name, err)
	}
	return f.Close()
}
