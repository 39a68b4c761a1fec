package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the formats
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages makes a .deb and a .rpm of packaging/nfpm.yaml for each linux platform.
func packages(r release) error {
	if err := stagePackage(r); err != nil {
		return err
	}
	for _, p := range r.Platforms {
		if p.os != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := pack(r, p, format); err != nil {
				return err
			}
		}
	}
	return nil
}

// stagePackage writes files that only a package holds: units that start the packaged program as its own user, with the
// package's config.
func stagePackage(r release) error {
	dir := filepath.Join(r.Stage, "package")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := stageChangelog(r, dir); err != nil {
		return err
	}
	if err := stageManual(r, dir); err != nil {
		return err
	}
	units, err := filepath.Glob(filepath.Join(r.Root, "packaging/systemd/*"))
	if err != nil {
		return err
	}
	for _, name := range units {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(packagedUnit(string(text))), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// stageChangelog writes a package's changelog: this release, and where to find the whole changelog.
func stageChangelog(r release, dir string) error {
	text := fmt.Sprintf("- semver: %s\n  date: %s\n  deb: {urgency: medium, distributions: [stable]}\n  packager: The ingest authors <ingest@trendvidstream.example>\n  changes:\n    - note: See CHANGELOG.md of the release.\n",
		r.Version, r.Time.Format(time.RFC3339))
	return os.WriteFile(filepath.Join(dir, "changelog.yaml"), []byte(text), 0o644)
}

// stageManual compresses the manual pages, as packages ship them.
func stageManual(r release, dir string) error {
	pages, err := filepath.Glob(filepath.Join(r.Stage, "man/*.1"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "man"), 0o755); err != nil {
		return err
	}
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var zipped bytes.Buffer
		w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := w.Write(page); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "man", filepath.Base(name)+".gz"), zipped.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// packagedUnit returns a unit for a package: without the head that says how to install it by hand, with the program in
// /usr/bin, and with the user and the config of the package.
func packagedUnit(unit string) string {
	if at := strings.Index(unit, "[Unit]"); at > 0 {
		unit = unit[at:]
	}
	return strings.NewReplacer(
		"/usr/local/bin/ingest", "/usr/bin/ingest",
		"DynamicUser=yes", "User=ingest\nGroup=ingest\nEnvironment=INGEST_CONFIG=/etc/ingest/ingest.yaml",
	).Replace(unit)
}

func pack(r release, p platform, format string) error {
	config, err := nfpm.ParseFileWithEnvMapping(filepath.Join(r.Root, "packaging/nfpm.yaml"), func(name string) string {
		return map[string]string{"VERSION": r.Version, "ARCH": p.arch, "ROOT": r.Root, "STAGE": r.Stage, "PROGRAM": r.program(p)}[name]
	})
	if err != nil {
		return err
	}
	info, err := config.Get(format)
	if err != nil {
		return err
	}
	info.MTime = r.Time
	info.Changelog = filepath.Join(r.Stage, "package/changelog.yaml") // neither of these is expanded by nfpm
	scripts := filepath.Join(r.Root, "packaging/scripts")
	info.Scripts = nfpm.Scripts{PreInstall: scripts + "/preinst", PostInstall: scripts + "/postinst", PreRemove: scripts + "/prerm", PostRemove: scripts + "/postrm"}
	pages, err := filepath.Glob(filepath.Join(r.Stage, "package/man/*.gz"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		info.Contents = append(info.Contents, &files.Content{Source: page, Destination: "/usr/share/man/man1/" + filepath.Base(page)})
	}
	for _, content := range info.Contents {
		if content.FileInfo == nil {
			content.FileInfo = &files.ContentFileInfo{}
		}
		content.FileInfo.MTime = r.Time
		if content.FileInfo.Mode == 0 { // otherwise it would be the mode in this checkout
			content.FileInfo.Mode = 0o644
		}
		if format == "rpm" && (strings.HasPrefix(content.Destination, "/usr/share/man/") || strings.HasPrefix(content.Destination, "/usr/share/doc/")) {
			content.Type = files.TypeRPMDoc
		}
	}
	info = nfpm.WithDefaults(info)
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	return writeFile(r, packager.ConventionalFileName(info), func(to io.Writer) error { return packager.Package(info, to) })
}
