package arrows_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	module = "github.com/trendvidstream/ingest"
	root   = "../.."
)

// arrows says which packages of ours a package may import in its non-test files: data flows one way. "." is the root
// package, "*" is all. A package that is missing does not belong to the program yet: add it where it belongs.
var arrows = map[string][]string{
	".":                         {},
	"cmd/ingest":                {"*"},
	"fetch":                     {".", "quota"},
	"fetch/dailymotion":         {".", "fetch", "fetch/wire"},
	"fetch/wire":                {".", "fetch"},
	"fetch/youtube":             {".", "fetch", "fetch/wire", "internal/plaintext", "internal/quiet"},
	"internal/amount":           {},
	"internal/audit":            {".", "quota"},
	"internal/budget":           {".", "fetch", "internal/amount", "internal/strictyaml", "quota", "regions"},
	"internal/config":           {".", "fetch/wire", "internal/hooks", "internal/ownfile", "internal/plaintext", "internal/postgres", "internal/strictyaml", "quota", "quota/httplimit", "regions"},
	"internal/dailymotionsim":   {"internal/standin"},
	"internal/demo":             {".", "fetch", "internal/report", "internal/term", "internal/youtubesim", "quota", "regions", "store"},
	"internal/doctor":           {".", "fetch", "fetch/wire", "internal/audit", "internal/budget", "internal/config", "internal/ownfile", "internal/policy", "internal/postgres", "internal/report", "internal/sqlitefile", "internal/standing", "internal/term", "internal/terms", "quota", "quota/pgledger", "quota/redisledger", "quota/sharedledger", "regions", "store"},
	"internal/faulty":           {},
	"internal/gateway":          {"fetch", "fetch/wire", "internal/recent", "quota", "quota/httplimit"},
	"internal/documents":        {".", "internal/config", "internal/report", "internal/term", "regions", "store", "store/text"},
	"internal/ownfile":          {},
	"internal/pages":            {".", "internal/report", "internal/standing", "internal/term", "regions"},
	"internal/policy":           {".", "internal/terms"},
	"internal/certificate":      {},
	"internal/hide":             {},
	"internal/hooks":            {".", "internal/term"},
	"internal/postgres":         {"internal/certificate", "internal/hide"},
	"internal/queue":            {".", "internal/postgres"},
	"internal/quiet":            {},
	"internal/recent":           {},
	"internal/report":           {".", "internal/budget", "internal/ownfile", "internal/policy", "internal/standing", "internal/strictyaml", "internal/term", "quota"},
	"internal/service":          {".", "fetch", "internal/budget", "internal/hooks", "internal/pages", "internal/report", "internal/standing", "internal/term", "internal/web", "quota", "regions"},
	"internal/sqlitefile":       {"internal/ownfile"},
	"internal/standing":         {".", "internal/budget", "quota", "regions"},
	"internal/plaintext":        {},
	"internal/strictyaml":       {"internal/plaintext"},
	"internal/term":             {"internal/amount"},
	"internal/terms":            {},
	"internal/web":              {".", "internal/pages", "internal/recent", "internal/report", "internal/standing", "internal/term", "quota", "quota/httplimit"},
	"internal/youtubesim":       {"internal/standin"},
	"internal/standin":          {},
	"quota":                     {"internal/amount", "internal/strictyaml", "internal/terms", "quota/internal/protocol"},
	"quota/httplimit":           {"internal/strictyaml", "quota", "quota/internal/protocol", "quota/memledger"},
	"quota/internal/memlog":     {"quota", "quota/internal/protocol"},
	"quota/internal/micros":     {"quota", "quota/internal/protocol"},
	"quota/internal/protocol":   {},
	"quota/memledger":           {"quota", "quota/internal/memlog"},
	"quota/pgledger":            {"internal/postgres", "quota", "quota/internal/micros", "quota/internal/protocol", "quota/sharedledger"},
	"quota/quotatest":           {"quota", "quota/internal/protocol", "quota/sharedledger"},
	"quota/quotatest/memremote": {"quota", "quota/internal/memlog", "quota/sharedledger"},
	"quota/redisledger":         {"internal/certificate", "internal/hide", "quota", "quota/internal/micros", "quota/internal/protocol", "quota/sharedledger"},
	"quota/sharedledger":        {"quota", "quota/internal/protocol"},
	"quota/sqliteledger":        {"quota", "quota/internal/protocol", "quota/sharedledger", "internal/ownfile", "internal/sqlitefile"},
	"regions":                   {"."},
	"store":                     {".", "store/text", "internal/ownfile", "internal/sqlitefile"},
	"store/pgstore":             {".", "internal/postgres", "store"},
	"store/storetest":           {".", "store"},
	"store/text":                {},
	"tools/filecycles":          {},
	"tools/testsum":             {},
}

// foreign says where packages of others may be imported, by the beginning of their path.
var foreign = map[string][]string{
	"google.golang.org": {"fetch/youtube"},
	"cloud.google.com":  {"fetch/youtube"},
	"testing":           {"quota/quotatest", "store/storetest"}, // that the tests of several packages use
}

func TestImportsFollowTheArrows(t *testing.T) {
	wrong, err := wrongArrows(os.DirFS(root))
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
		{"quota/httplimit/planted.go", "quota/sqliteledger", "quota/httplimit/planted.go: quota/httplimit may not import quota/sqliteledger"},
		{"internal/doctor/planted.go", "quota/sqliteledger", "internal/doctor/planted.go: internal/doctor may not import quota/sqliteledger"},
		{"internal/audit/planted.go", "store", "internal/audit/planted.go: internal/audit may not import store"},
		{"internal/budget/planted.go", "store", "internal/budget/planted.go: internal/budget may not import store"},
		{"internal/queue/planted.go", "fetch", "internal/queue/planted.go: internal/queue may not import fetch"},
		{"internal/report/planted.go", "internal/web", "internal/report/planted.go: internal/report may not import internal/web"},
		{"internal/web/planted.go", "store", "internal/web/planted.go: internal/web may not import store"},
		{"internal/youtubesim/planted.go", "quota", "internal/youtubesim/planted.go: internal/youtubesim may not import quota"},
		{"store/planted.go", "google.golang.org/api/youtube/v3", "store/planted.go: store may not import google.golang.org/api/youtube/v3"},
		{"cmd/ingest/planted.go", "testing", "cmd/ingest/planted.go: cmd/ingest may not import testing"},
		{"util/planted.go", ".", "util/planted.go: package util is not in the table of arrows"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			tree := copyOfTree(t)
			// A build tag hides a file from go list, not from us.
			text := fmt.Sprintf("//go:build plan9\n\npackage planted\n\nimport _ %q\n", importPath(tt.imports))
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

// importPath returns the whole path of a package of ours, or of a foreign one.
func importPath(pkg string) string {
	if host, _, _ := strings.Cut(pkg, "/"); foreign[host] != nil {
		return pkg
	}
	return path.Join(module, pkg)
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
			host, _, _ := strings.Cut(to, "/")
			switch importers, bound := foreign[host]; {
			case bound && !slices.Contains(importers, pkg), !bound && !slices.Contains(allowed, to) && !slices.Contains(allowed, "*"):
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

// importsOf lists the packages that the file imports: packages of this module relative to its root, and foreign ones.
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
		} else if host, _, _ := strings.Cut(name, "/"); foreign[host] != nil {
			ours = append(ours, name)
		}
	}
	return ours, nil
}

// copyOfTree returns the module's own Go files, in memory.
func copyOfTree(t *testing.T) fstest.MapFS {
	t.Helper()
	from, tree := os.DirFS(root), fstest.MapFS{}
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
