package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is a module of small packages, each with one way to end.
var module = map[string]string{
	"go.mod": "module example.com/m\n\ngo 1.26\n",
	"good/good_test.go": `package good
import "testing"
func TestA(t *testing.T) { t.Log("chatter"); t.Run("sub", func(t *testing.T) {}) }
func TestB(t *testing.T) {}
`,
	"skips/skips_test.go": `package skips
import "testing"
func TestOne(t *testing.T) { t.Log("chatter"); t.Skip("docker: no engine here") }
func TestTwo(t *testing.T) { t.Skipf("redis-server is not here:\nrun make test") }
`,
	"fails/fails_test.go": `package fails
import "testing"
func TestBad(t *testing.T) { t.Run("case", func(t *testing.T) { t.Error("want 4, got 5") }) }
func TestFine(t *testing.T) { t.Log("chatter") }
`,
	"panics/panics_test.go": `package panics
import "testing"
func TestBoom(t *testing.T) { panic("boom") }
`,
	"exits/exits_test.go": `package exits
import ("fmt"; "os"; "testing")
func TestMain(m *testing.M) { m.Run(); fmt.Println("a goroutine leaked"); os.Exit(1) }
func TestQuiet(t *testing.T) {}
`,
	"nobuild/nobuild_test.go": `package nobuild
import "testing"
func TestX(t *testing.T) { undefinedThing() }
`,
	"empty/empty.go": "package empty\n",
	"allow":          "# named\ndocker ^docker: \n",
	"allow-nothing":  "docker\n",
}

func TestLongSummary(t *testing.T) {
	dir := t.TempDir()
	for name, text := range module {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)

	tests := []struct {
		name    string
		args    string
		code    int
		want    []string // in the output
		wantNot []string
		closing string
	}{
		{
			name: "a passing package is one line", args: "-- ./good ./empty",
			want:    []string{"ok    example.com/m/good", "3 passed", "?     example.com/m/empty  [no tests]"},
			wantNot: []string{"chatter", "skipped:"},
			closing: "3 passed, 0 failed, 0 skipped",
		},
		{
			name: "two at once are summed up", args: "-- -run A ./good -- ./fails -- ./skips", code: 1,
			want:    []string{"ok    example.com/m/good", "FAIL  example.com/m/fails", "TestOne: docker: no engine here\n"},
			closing: "3 passed, 2 failed, 2 skipped",
		},
		{
			name: "a skip is listed with its reason", args: "-- ./good ./skips",
			want: []string{
				"example.com/m/skips TestOne: docker: no engine here\n",
				"example.com/m/skips TestTwo: redis-server is not here: run make test\n",
			},
			closing: "3 passed, 0 failed, 2 skipped",
		},
		{
			name: "a skip outside the list fails", args: "-allow allow -- ./good ./skips", code: 1,
			want: []string{
				"TestOne: docker: no engine here\n",
				"TestTwo: redis-server is not here: run make test  <- not allowed by allow\n",
			},
			closing: "3 passed, 0 failed, 2 skipped",
		},
		{
			name: "a skip inside the list passes", args: "-allow allow -- -run One ./skips",
			closing: "0 passed, 0 failed, 1 skipped", code: 1, // but nothing was run
			want: []string{"not one test was run"},
		},
		{
			name: "a failure is told in full", args: "-- ./good ./fails", code: 1,
			want:    []string{"want 4, got 5", "--- FAIL: TestBad/case", "FAIL  example.com/m/fails"},
			wantNot: []string{"chatter", "=== RUN"},
			closing: "4 passed, 2 failed, 0 skipped",
		},
		{
			name: "a panic is told in full", args: "-- ./panics", code: 1,
			want:    []string{"panic: boom", "panics_test.go:3", "FAIL  example.com/m/panics"},
			closing: "0 passed, 1 failed, 0 skipped",
		},
		{
			name: "a package that fails without a failing test counts", args: "-- ./exits", code: 1,
			want:    []string{"a goroutine leaked", "FAIL  example.com/m/exits"},
			closing: "1 passed, 1 failed, 0 skipped",
		},
		{
			name: "a package that does not build counts", args: "-- ./good ./nobuild", code: 1,
			want:    []string{"undefined: undefinedThing", "FAIL  example.com/m/nobuild"},
			closing: "3 passed, 1 failed, 0 skipped",
		},
		{
			name: "a run of nothing fails", args: "-- ./empty", code: 1,
			want:    []string{"not one test was run"},
			closing: "0 passed, 0 failed, 0 skipped",
		},
		{
			name: "a package that is not there fails", args: "-- ./nowhere", code: 1,
			closing: "0 passed, 1 failed, 0 skipped",
		},
		{
			name: "a broken list is refused", args: "-allow allow-nothing -- ./good", code: 2,
			want: []string{`allow-nothing:1: want a name and a regular expression`},
		},
		{name: "an unknown flag is refused", args: "-nope", code: 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			if code := run(strings.Fields(tt.args), &out, &stderr); code != tt.code {
				t.Errorf("exit %d, want %d", code, tt.code)
			}
			out.Write(stderr.Bytes())
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q", want)
				}
			}
			for _, not := range tt.wantNot {
				if strings.Contains(out.String(), not) {
					t.Errorf("has %q", not)
				}
			}
			lines := strings.Split(out.String(), "\n")
			if tt.closing != "" && !slices.Contains(lines, tt.closing) {
				t.Errorf("no line %q", tt.closing)
			}
			if t.Failed() {
				t.Logf("output:\n%s", out.String())
			}
		})
	}
}

// Events of a test binary that was killed: the tests that were running never end.
func TestUnendedTestsFail(t *testing.T) {
	events := `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestHangs"}
{"Action":"output","Package":"p","Test":"TestHangs","Output":"=== RUN   TestHangs\n"}
{"Action":"output","Package":"p","Test":"TestHangs","Output":"    p_test.go:9: waiting\n"}
{"Action":"output","Package":"p","Output":"signal: killed\n"}
{"Action":"fail","Package":"p","Elapsed":600}
`
	var out bytes.Buffer
	sum := newSummary()
	if err := sum.read(strings.NewReader(events), &out); err != nil {
		t.Fatal(err)
	}
	if sum.report(&out, nil) {
		t.Errorf("a failed run: got reported as passed: %s", out.String())
	}
	for _, want := range []string{"p_test.go:9: waiting", "TestHangs (never ended)", "signal: killed", "\n0 passed, 1 failed, 0 skipped\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
