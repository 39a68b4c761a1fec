package packaging_test

import (
	"os/exec"
	"strings"
	"testing"
)

// What the image promises can be read off the Dockerfile where there is no docker.
func TestImageIsStaticAndNotRoot(t *testing.T) {
	_, last, ok := strings.Cut(read(t, "../Dockerfile"), "\nFROM scratch\n")
	if !ok {
		t.Fatal("the last stage is not scratch")
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
	if out, err := exec.CommandContext(t.Context(), "docker", "build", "-q", "-t", tag, "..").CombinedOutput(); err != nil {
		t.Fatalf("docker build: %v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "image", "rm", "-f", tag).Run() })
	out, err := exec.CommandContext(t.Context(), "docker", "run", "--rm", tag, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "ingest ") {
		t.Errorf("docker run %s version: %v\n%s", tag, err, out)
	}
}
