package ingest_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goccy/go-yaml"
)

const module = "github.com/trendvidstream/ingest"

// arrows says which packages of ours a package may import in its non-test files: data flows one way. "." is the root
// package, "*" is all. A package that is missing does not belong to the program yet: add it where it belongs.
// .golangci.yml says the same while linting.
var arrows = map[string][]string{
	".":                         {},
	"cmd/ingest":                {"*"},
	"fetch":                     {".", "quota"},
	"fetch/dailymotion":         {".", "fetch", "fetch/wire"},
	"fetch/wire":                {".", "fetch"},
	"fetch/youtube":             {".", "fetch", "fetch/wire"},
	"internal/audit":            {".", "quota"},
	"internal/budget":           {".", "fetch", "quota", "regions"},
	"internal/config":           {".", "fetch/wire", "internal/postgres", "internal/strictyaml", "quota", "quota/httplimit", "regions"},
	"internal/dailymotionsim":   {},
	"internal/doctor":           {".", "fetch", "fetch/wire", "internal/audit", "internal/budget", "internal/config", "internal/policy", "internal/report", "internal/sqlitefile", "internal/term", "quota", "quota/pgledger", "quota/redisledger", "quota/sharedledger", "regions", "store"},
	"internal/faulty":           {},
	"internal/gateway":          {"fetch", "fetch/wire", "internal/recent", "quota", "quota/httplimit"},
	"internal/library":          {".", "internal/config", "internal/report", "internal/term", "regions", "store", "store/text"},
	"internal/pages":            {".", "internal/report", "internal/term", "regions"},
	"internal/policy":           {"quota"},
	"internal/postgres":         {},
	"internal/queue":            {".", "internal/postgres"},
	"internal/recent":           {},
	"internal/report":           {".", "internal/budget", "internal/policy", "internal/term", "quota"},
	"internal/service":          {".", "fetch", "internal/pages", "internal/report", "internal/term", "internal/web", "quota", "regions"},
	"internal/sqlitefile":       {},
	"internal/strictyaml":       {},
	"internal/term":             {},
	"internal/web":              {".", "internal/pages", "internal/recent", "internal/report", "internal/term", "quota", "quota/httplimit"},
	"internal/youtubesim":       {},
	"quota":                     {"internal/strictyaml"},
	"quota/httplimit":           {"quota"},
	"quota/internal/memlog":     {"quota"},
	"quota/internal/micros":     {"quota"},
	"quota/memledger":           {"quota", "quota/internal/memlog"},
	"quota/pgledger":            {"internal/postgres", "quota", "quota/internal/micros", "quota/sharedledger"},
	"quota/quotatest":           {"quota", "quota/sharedledger"},
	"quota/quotatest/memremote": {"quota", "quota/internal/memlog", "quota/sharedledger"},
	"quota/redisledger":         {"quota", "quota/internal/micros", "quota/sharedledger"},
	"quota/sharedledger":        {"quota"},
	"quota/sqliteledger":        {"quota", "quota/sharedledger", "internal/sqlitefile"},
	"regions":                   {"."},
	"store":                     {".", "store/text", "internal/sqlitefile"},
	"store/pgstore":             {".", "internal/postgres", "store"},
	"store/storetest":           {".", "store", "store/text"},
	"store/text":                {},
	"tools/filecycles":          {},
	"tools/testsum":             {},
}

func TestImportsFollowTheArrows(t *testing.T) {
	wrong, err := wrongArrows(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

func TestPlantedImportsAreFound(t *testing.T) {
	tests := []struct{ file, imports, want string }{
		{"planted.go", "quota", "planted.go: . may not import quota"},
		{"store/planted.go", "fetch", "store/planted.go: store may not import fetch"},
		{"fetch/planted.go", "store", "fetch/planted.go: fetch may not import store"},
		{"fetch/youtube/planted.go", "quota", "fetch/youtube/planted.go: fetch/youtube may not import quota"},
		{"fetch/dailymotion/planted.go", "fetch/youtube", "fetch/dailymotion/planted.go: fetch/dailymotion may not import fetch/youtube"},
		{"fetch/youtube/planted.go", "fetch/dailymotion", "fetch/youtube/planted.go: fetch/youtube may not import fetch/dailymotion"},
		{"fetch/wire/planted.go", "fetch/youtube", "fetch/wire/planted.go: fetch/wire may not import fetch/youtube"},
		{"internal/dailymotionsim/planted.go", "internal/youtubesim", "internal/dailymotionsim/planted.go: internal/dailymotionsim may not import internal/youtubesim"},
		{"regions/planted.go", "fetch", "regions/planted.go: regions may not import fetch"},
		{"quota/planted.go", ".", "quota/planted.go: quota may not import ."},
		{"quota/sqliteledger/planted.go", "quota/redisledger", "quota/sqliteledger/planted.go: quota/sqliteledger may not import quota/redisledger"},
		{"quota/httplimit/planted.go", "quota/memledger", "quota/httplimit/planted.go: quota/httplimit may not import quota/memledger"},
		{"internal/doctor/planted.go", "quota/sqliteledger", "internal/doctor/planted.go: internal/doctor may not import quota/sqliteledger"},
		{"internal/audit/planted.go", "store", "internal/audit/planted.go: internal/audit may not import store"},
		{"internal/budget/planted.go", "store", "internal/budget/planted.go: internal/budget may not import store"},
		{"internal/queue/planted.go", "fetch", "internal/queue/planted.go: internal/queue may not import fetch"},
		{"internal/report/planted.go", "internal/web", "internal/report/planted.go: internal/report may not import internal/web"},
		{"internal/web/planted.go", "store", "internal/web/planted.go: internal/web may not import store"},
		{"internal/youtubesim/planted.go", "quota", "internal/youtubesim/planted.go: internal/youtubesim may not import quota"},
		{"util/planted.go", ".", "util/planted.go: package util is not in the table of arrows"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			tree := copyOfTree(t)
			// A build tag hides a file from go list, not from us.
			text := fmt.Sprintf("//go:build plan9\n\npackage planted\n\nimport _ %q\n", path.Join(module, tt.imports))
			tree[tt.file] = &fstest.MapFile{Data: []byte(text)}
			wrong, err := wrongArrows(tree)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(wrong, tt.want) {
				t.Errorf("found %q, want %q", wrong, tt.want)
			}
		})
	}
}

// TestTheLinterHasTheSameArrows: depguard refuses while linting what this table refuses, package by package.
func TestTheLinterHasTheSameArrows(t *testing.T) {
	text, err := os.ReadFile(".golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range differingArrows(t, text) {
		t.Error(wrong)
	}
	planted := bytes.Replace(text, []byte("allow: [github.com/trendvidstream/ingest$, "), []byte("allow: [github.com/trendvidstream/ingest$, github.com/trendvidstream/ingest/cmd/ingest$, "), 1)
	if len(differingArrows(t, planted)) == 0 {
		t.Error("a rule that allows too much is not noticed")
	}
}

// differingArrows compares depguard's rules with the table.
func differingArrows(t *testing.T, config []byte) (wrong []string) {
	t.Helper()
	var file struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct{ Files, Allow []string }
				}
			}
		}
	}
	if err := yaml.Unmarshal(config, &file); err != nil {
		t.Fatal(err)
	}
	ruled := map[string][]string{}
	for name, rule := range file.Linters.Settings.Depguard.Rules {
		allowed := []string{}
		for _, to := range rule.Allow {
			to = strings.TrimPrefix(strings.TrimSuffix(to, "$"), module)
			allowed = append(allowed, cmp.Or(strings.TrimPrefix(to, "/"), "."))
		}
		slices.Sort(allowed)
		for _, files := range rule.Files {
			if dir, ok := strings.CutPrefix(files, "${base-path}/"); ok {
				pkg := path.Dir(dir)
				if ruled[pkg] != nil || path.Base(dir) != "*.go" {
					wrong = append(wrong, fmt.Sprintf("depguard's rule %s: %s: want one rule for all files of a package", name, files))
				}
				ruled[pkg] = allowed
			}
		}
	}
	for pkg, want := range arrows {
		want = slices.Sorted(slices.Values(want))
		if got, ok := ruled[pkg]; !slices.Contains(want, "*") && (!ok || !slices.Equal(got, want)) {
			wrong = append(wrong, fmt.Sprintf("%s may import %q, and depguard allows %q", pkg, want, got))
		}
	}
	return wrong
}

func TestStoreHasNothingOfGoogle(t *testing.T) {
	if found := googlePackages(t, "./store"); len(found) > 0 {
		t.Errorf("go list -deps ./store has %v", found)
	}
	if len(googlePackages(t, "./fetch/youtube")) == 0 {
		t.Error("nothing found in ./fetch/youtube either: the check sees nothing")
	}
}

// wrongArrows reads the imports of every non-test file of the module in tree.
func wrongArrows(tree fs.FS) ([]string, error) {
	var wrong []string
	err := fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipDir(tree, file):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		pkg := path.Dir(file)
		allowed, ok := arrows[pkg]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s: package %s is not in the table of arrows", file, pkg))
			return nil
		}
		imports, err := importsOf(tree, file)
		if err != nil {
			return err
		}
		for _, to := range imports {
			if !slices.Contains(allowed, to) && !slices.Contains(allowed, "*") {
				wrong = append(wrong, fmt.Sprintf("%s: %s may not import %s", file, pkg, to))
			}
		}
		return nil
	})
	return wrong, err
}

// skipDir reports whether go's own ./... leaves the directory out.
func skipDir(tree fs.FS, dir string) bool {
	if dir == "." {
		return false
	}
	base := path.Base(dir)
	if base == "testdata" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	return err == nil // a module of its own
}

// importsOf lists the packages of this module that the file imports, relative to its root.
func importsOf(tree fs.FS, file string) ([]string, error) {
	text, err := fs.ReadFile(tree, file)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var ours []string
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if name == module {
			ours = append(ours, ".")
		} else if rest, ok := strings.CutPrefix(name, module+"/"); ok {
			ours = append(ours, rest)
		}
	}
	return ours, nil
}

// copyOfTree returns the module's own Go files, in memory.
func copyOfTree(t *testing.T) fstest.MapFS {
	t.Helper()
	from, tree := os.DirFS("."), fstest.MapFS{}
	err := fs.WalkDir(from, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && skipDir(from, file) {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(file) != ".go" {
			return nil
		}
		data, err := fs.ReadFile(from, file)
		tree[file] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func googlePackages(t *testing.T, pkg string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", pkg)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v\n%s", pkg, err, stderr.String())
	}
	var found []string
	for dep := range strings.FieldsSeq(string(out)) {
		host, _, _ := strings.Cut(dep, "/")
		if host == "google.golang.org" || host == "cloud.google.com" {
			found = append(found, dep)
		}
	}
	return found
}
