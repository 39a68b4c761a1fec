package packaging_test

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLongGoInstallWorksFromTheZipAlone: go install and go mod vendor work in an empty GOPATH with only the files that
// a module proxy serves of a tag, and the program knows its version.
func TestLongGoInstallWorksFromTheZipAlone(t *testing.T) {
	const module, version = "github.com/trendvidstream/ingest", "v0.1.0"
	files := moduleFiles(t)
	proxy, gopath, unpacked := t.TempDir(), t.TempDir(), t.TempDir()
	at := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	put(t, filepath.Join(at, version+".info"), `{"Version":"`+version+`","Time":"2026-11-24T00:00:00Z"}`)
	put(t, filepath.Join(at, version+".mod"), read(t, "../go.mod"))
	put(t, filepath.Join(at, "list"), version+"\n")
	archive, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	to := zip.NewWriter(archive)
	for _, name := range files {
		w, err := to.Create(module + "@" + version + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		text := read(t, filepath.Join("..", name))
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(unpacked, name), text)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}

	known, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, network, _ := strings.Cut(strings.TrimSpace(string(known)), "\n")
	env := append(os.Environ(), "GOPATH="+gopath, "GOMODCACHE=", "GOBIN=", "GOWORK=off", "GOSUMDB=off", "GOFLAGS=-trimpath -modcacherw", "CGO_ENABLED=0",
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(cache, "cache", "download")+","+network) // installed packages are not fetched again
	run := func(dir, name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run(t.TempDir(), "go", "install", module+"/cmd/ingest@"+version)
	program := filepath.Join(gopath, "bin", "ingest")
	if out := run(gopath, program, "version"); !strings.HasPrefix(out, "ingest "+version+" (") {
		t.Errorf("it does not know its version: %s", out)
	}
	if out := run(gopath, program, "config", "check", "--data", "data"); !strings.Contains(out, "cost table") {
		t.Errorf("it does not have its costs: %s", out)
	}
	run(unpacked, "go", "mod", "vendor")
	run(unpacked, "go", "list", "-mod=vendor", "-deps", "./cmd/ingest") // it fails if an embedded file is missing
}

// moduleFiles returns the files in the module's zip: git's regular files, without nested modules.
func moduleFiles(t *testing.T) (files []string) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "--recurse-submodules")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Skipf("git: this is no checkout: %v", err)
	}
	all := strings.Fields(string(out))
	var inner []string
	for _, name := range all {
		if dir, file := filepath.Split(name); file == "go.mod" && dir != "" {
			inner = append(inner, dir)
		}
	}
	for _, name := range all {
		info, err := os.Lstat(filepath.Join("..", name))
		if err == nil && info.Mode().IsRegular() && !slices.ContainsFunc(inner, func(dir string) bool { return strings.HasPrefix(name, dir) }) {
			files = append(files, name)
		}
	}
	return files
}
