package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The promises of the image can be read off the Dockerfile where there is no docker.
func TestImageIsStaticAndNotRoot(t *testing.T) {
	_, last, ok := strings.Cut(read(t, "../Dockerfile"), "\nFROM scratch\n")
	if !ok {
		t.Fatal("the Dockerfile has no stage FROM scratch, want it as the last")
	}
	for _, want := range []string{
		"USER 65532:65532\n",
		"VOLUME /var/lib/ingest\n",
		`ENTRYPOINT ["/ingest"]` + "\n",
		"--chown=65532:65532 /out/data /var/lib/ingest\n", // or the user cannot write the volume
		"/etc/ssl/certs/ca-certificates.crt",
	} {
		if !strings.Contains(last, want) {
			t.Errorf("the last stage has no %q", want)
		}
	}
}

func TestImageBuildsAndRuns(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "docker", "info").CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Skipf("docker: no engine here: %v: %s", err, lines[len(lines)-1])
	}
	const tag = "ingest-packaging-test"
	if out, err := exec.CommandContext(t.Context(), "docker", "build", "-q", "--build-arg", "VERSION=v9.8.7", "-t", tag, "..").CombinedOutput(); err != nil {
		t.Fatalf("docker build: %v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "image", "rm", "-f", tag).Run() })
	out, err := exec.CommandContext(t.Context(), "docker", "run", "--rm", tag, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "ingest v9.8.7 ") {
		t.Errorf("docker run %s version: %v\n%s", tag, err, out)
	}
}

// TestLongTheImagesBinaryKnowsItsVersion: the program as the Dockerfile builds it, with the argument that its head names. It
// stays below 37.2 MB: files are made through os.Root, which links 37 kB of package os.
func TestLongTheImagesBinaryKnowsItsVersion(t *testing.T) {
	const most = 37_200_000
	dockerfile := read(t, "../Dockerfile")
	if !strings.Contains(dockerfile, "--build-arg VERSION=") || !strings.Contains(dockerfile, "\nARG VERSION=dev\nRUN ") {
		t.Fatalf("no argument VERSION reaches the build:\n%s", dockerfile)
	}
	if !strings.Contains(dockerfile, `RUN sh tools/build.sh "${VERSION}" /out/ingest `) {
		t.Fatalf("the Dockerfile does not build with tools/build.sh, as make build does:\n%s", dockerfile)
	}
	path := filepath.Join(t.TempDir(), "ingest")
	build := exec.CommandContext(t.Context(), "sh", "tools/build.sh", "v9.8.7", path)
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("tools/build.sh: %v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), path, "version").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "ingest v9.8.7 ") {
		t.Errorf("version: %v\n%s", err, out)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
	if info.Size() >= most {
		t.Errorf("the binary has %d bytes, at most %d: does something look methods up by their names again (text/template, html/template)? "+
			"Else go tool nm -size -sort size, without -s -w, says what weighs", info.Size(), most)
	}
}
