package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// the uid nobody owns the data of an image, and runs the program; the Dockerfile has the same number.
const nobody = 65532

// image writes one OCI image for each linux platform, in one archive: as the Dockerfile does, without a docker engine.
func image(r release) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.Platforms {
		if p.os != "linux" {
			continue
		}
		built, err := imageOf(r, p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: built, Descriptor: v1.Descriptor{
			Platform:    &v1.Platform{OS: p.os, Architecture: p.arch},
			Annotations: map[string]string{"org.opencontainers.image.ref.name": r.Version},
		}})
	}
	dir := filepath.Join(r.Stage, "image")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if _, err := layout.Write(dir, index); err != nil {
		return err
	}
	return writeFile(r, "ingest_"+r.Version+"_oci.tar", func(to io.Writer) error {
		entries, err := treeOf(dir)
		if err != nil {
			return err
		}
		return writeTar(to, entries, r.Time)
	})
}

// imageOf returns the image of one platform: the program, the TLS root certificates
// and a directory for the data.
func imageOf(r release, p platform) (v1.Image, error) {
	program, err := os.ReadFile(r.program(p))
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	if err := writeTar(&content, []entry{
		{name: "etc", mode: 0o755}, {name: "etc/ssl", mode: 0o755}, {name: "etc/ssl/certs", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: roots()},
		{name: "ingest", mode: 0o755, data: program},
		{name: "var", mode: 0o755}, {name: "var/lib", mode: 0o755},
		{name: "var/lib/ingest", mode: 0o700, uid: nobody, gid: nobody},
	}, r.Time); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1)
	with, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.Time}, CreatedBy: "make dist"}})
	if err != nil {
		return nil, err
	}
	config, err := with.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.os, p.arch, v1.Time{Time: r.Time}
	config.Config = v1.Config{
		User: "65532:65532", Entrypoint: []string{"/ingest"}, Cmd: []string{"run", "--quiet"}, Volumes: map[string]struct{}{"/var/lib/ingest": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title": "ingest", "org.opencontainers.image.version": r.Version, "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.source": "https://github.com/trendvidstream/ingest",
		},
	}
	return mutate.ConfigFile(with, config)
}

// roots returns the certificates that Mozilla trusts without constraints, at the version in go.sum.
func roots() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // memory takes it all
		}
	}
	return text.Bytes()
}

// treeOf returns the files below a directory, in order.
func treeOf(dir string) (entries []entry, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			entries = append(entries, entry{name: filepath.ToSlash(name), mode: 0o755})
			return nil
		}
		data, err := os.ReadFile(path)
		entries = append(entries, entry{name: filepath.ToSlash(name), mode: 0o644, data: data})
		return err
	})
	return entries, err
}
