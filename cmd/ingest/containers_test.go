package main_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// pod is the manifests' description of a pod.
type pod struct {
	Containers []struct {
		Args          []string `yaml:"args"`
		LivenessProbe struct {
			HTTPGet struct{ Path string } `yaml:"httpGet"`
		} `yaml:"livenessProbe"`
		ReadinessProbe struct {
			HTTPGet struct{ Path string } `yaml:"httpGet"`
		} `yaml:"readinessProbe"`
	}
}

// manifest reads the first object of a file. tools/manifests checks the objects as Kubernetes does.
func manifest[T any](t *testing.T, file string) (object T) {
	t.Helper()
	data, err := os.ReadFile("../../packaging/kubernetes/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&object); err != nil {
		t.Fatal(err)
	}
	return object
}

// TestTheManifestsRun: with the config and the arguments of packaging/kubernetes, in a volume with the mode of
// fsGroup and with a key that a group may read, the CronJob fetches, and ends with 0 when quota stops it; the
// Deployment answers its probes and the name of its Service.
func TestTheManifestsRun(t *testing.T) {
	upstream := standIn(t, youtubesim.Options{Seed: 7})
	t.Setenv("INGEST_DATA", "")
	volume, config := t.TempDir(), filepath.Join(t.TempDir(), "ingest.yaml")
	if err := os.Chmod(volume, 0o775|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "youtube.key")
	address := fmt.Sprintf("127.0.0.1:%d", faulty.FreePort(t))
	settings := manifest[struct{ Data map[string]string }](t, "common.yaml").Data["ingest.yaml"]
	settings = strings.NewReplacer("/etc/ingest-key/youtube.key", key, "/var/lib/ingest", volume, "0.0.0.0:8080", address).Replace(settings)
	for path, text := range map[string]string{config: settings, key: "k3y-of-a-pod"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o440); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("INGEST_CONFIG", config)

	job := manifest[struct {
		Spec struct {
			JobTemplate struct {
				Spec struct{ Template struct{ Spec pod } }
			} `yaml:"jobTemplate"`
		}
	}](t, "cronjob.yaml").Spec.JobTemplate.Spec.Template.Spec.Containers[0]
	t.Setenv("INGEST_PACING", "off")
	t.Setenv("INGEST_COSTS", limits(t, "20"))
	ingestCode(t, exitOK, job.Args...)
	if units := upstream.Ledger().Units["units"]; units != 19 { // 95 % of 20: stopped by quota
		t.Errorf("the CronJob spent %d units, want 19", units)
	}

	t.Setenv("INGEST_PACING", "")
	server := manifest[struct {
		Spec struct{ Template struct{ Spec pod } }
	}](t, "serve.yaml").Spec.Template.Spec.Containers[0]
	d := startCommand(t, exec.Command(self(t), server.Args...))
	d.until("it says where it listens", func() bool { return listens.MatchString(d.stderr.String()) })
	ask := func(host, path string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	for _, a := range []struct {
		host, path string
		want       int
	}{
		{"10.1.2.3:8080", server.LivenessProbe.HTTPGet.Path, http.StatusOK},
		{"10.1.2.3:8080", server.ReadinessProbe.HTTPGet.Path, http.StatusOK},
		{"ingest:8080", "/", http.StatusOK},
		{"elsewhere.example.com", "/", http.StatusMisdirectedRequest},
	} {
		if got := ask(a.host, a.path); got != a.want {
			t.Errorf("%s of %s: %d, want %d", a.path, a.host, got, a.want)
		}
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	<-d.gone
	if _, err := os.Stat(filepath.Join(volume, "data", ledgerFile)); err != nil {
		t.Error(err)
	}
}
