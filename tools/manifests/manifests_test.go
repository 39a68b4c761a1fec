// Package manifests_test reads the files in packaging/ for Kubernetes and Docker Compose, as they read it. It is a
// module of its own, so that their code stays out of ours.
package manifests_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	yamlstream "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

// manifests are all the objects that packaging/kubernetes makes.
type manifests struct {
	config *corev1.ConfigMap
	claim  *corev1.PersistentVolumeClaim
	serve  *appsv1.Deployment
	front  *corev1.Service
	runs   *batchv1.CronJob
}

// read decodes the files strictly: a field that Kubernetes does not know is an error.
func read(t *testing.T) (m manifests) {
	t.Helper()
	into := map[string]any{
		"v1 ConfigMap": &m.config, "v1 PersistentVolumeClaim": &m.claim, "v1 Service": &m.front,
		"apps/v1 Deployment": &m.serve, "batch/v1 CronJob": &m.runs,
	}
	for _, file := range []string{"common.yaml", "serve.yaml", "cronjob.yaml"} {
		data, err := os.ReadFile("../../packaging/kubernetes/" + file)
		if err != nil {
			t.Fatal(err)
		}
		documents := yamlstream.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for {
			text, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			var of struct{ APIVersion, Kind string }
			if err := yaml.Unmarshal(text, &of); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			object, ok := into[of.APIVersion+" "+of.Kind]
			if !ok {
				t.Fatalf("%s: a second %s %s, or one that this test does not know", file, of.APIVersion, of.Kind)
			}
			delete(into, of.APIVersion+" "+of.Kind)
			if err := yaml.UnmarshalStrict(text, object); err != nil {
				t.Fatalf("%s: %s: %v", file, of.Kind, err)
			}
		}
	}
	for kind := range into {
		t.Errorf("no %s", kind)
	}
	return m
}

func TestPodsKeepTheRestrictedProfile(t *testing.T) {
	m := read(t)
	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for name, pod := range map[string]corev1.PodTemplateSpec{"Deployment": m.serve.Spec.Template, "CronJob": m.runs.Spec.JobTemplate.Spec.Template} {
		for _, found := range checks.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
			if !found.Allowed {
				t.Errorf("%s: %s: %s", name, found.ForbiddenReason, found.ForbiddenDetail)
			}
		}
		one := pod.Spec.Containers[0]
		if user := *pod.Spec.SecurityContext.RunAsUser; user != 65532 || !*one.SecurityContext.ReadOnlyRootFilesystem {
			t.Errorf("%s: it runs as %d, and its root can be written: %v", name, user, !*one.SecurityContext.ReadOnlyRootFilesystem)
		}
		lowered := pod.Spec.DeepCopy()
		lowered.Containers[0].SecurityContext.Capabilities = nil
		if refused := policy.AggregateCheckResults(checks.EvaluatePod(restricted, &pod.ObjectMeta, lowered)); refused.Allowed {
			t.Errorf("%s: the profile allows a pod with all capabilities: this test sees nothing", name)
		}
	}
}

func TestPodsNameExistingFiles(t *testing.T) {
	m := read(t)
	for name, pod := range map[string]corev1.PodSpec{"Deployment": m.serve.Spec.Template.Spec, "CronJob": m.runs.Spec.JobTemplate.Spec.Template.Spec} {
		mounted := map[string]string{}
		for _, mount := range pod.Containers[0].VolumeMounts {
			mounted[mount.Name] = mount.MountPath
		}
		for _, v := range pod.Volumes {
			if mounted[v.Name] == "" {
				t.Errorf("%s: nothing mounts %s", name, v.Name)
			}
			switch {
			case v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == m.claim.Name:
			case v.ConfigMap != nil && v.ConfigMap.Name == m.config.Name && mounted[v.Name] == "/etc/ingest": // where ingest looks for its config
			case v.Secret != nil && *v.Secret.DefaultMode == 0o440:
			default:
				t.Errorf("%s: the volume %s is of nothing that the manifests make", name, v.Name)
			}
		}
	}
	labels := m.serve.Spec.Template.Labels
	for _, selector := range []map[string]string{m.serve.Spec.Selector.MatchLabels, m.front.Spec.Selector} {
		if len(selector) == 0 || selector["app"] != labels["app"] {
			t.Errorf("a selector of %v finds no pod with %v", selector, labels)
		}
	}
	if m.runs.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent || m.serve.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("two pods at once would wait for one volume: got %s and %s, want Forbid and Recreate",
			m.runs.Spec.ConcurrencyPolicy, m.serve.Spec.Strategy.Type)
	}
}

func TestComposeReadsItsFile(t *testing.T) {
	const file = "../../packaging/compose.yaml"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{WorkingDir: t.TempDir(), ConfigFiles: []types.ConfigFile{{Filename: file, Content: data}}},
		func(o *loader.Options) { o.SetProjectName("ingest", true) })
	if err != nil {
		t.Fatal(err)
	}
	one := project.Services["ingest"]
	if one.User != "65532:65532" || !one.ReadOnly || len(one.CapDrop) != 1 || one.CapDrop[0] != "ALL" || len(one.Volumes) != 1 ||
		one.Volumes[0].Target != "/var/lib/ingest" {
		t.Errorf("the service is not confined: %+v", one)
	}
}
