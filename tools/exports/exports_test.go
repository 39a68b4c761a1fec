// Package exports_test holds the names that a user of package quota has to learn.
package exports_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	root     = "../.."
	maxNames = 65
)

func TestQuotaExportsFewNamesAndEachIsUsed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "quota", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	unused := map[string]bool{}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			for _, name := range exported(parse(t, file)) {
				unused[name] = true
			}
		}
	}
	if n := len(unused); n > maxNames || n < 20 {
		t.Errorf("package quota exports %d names, at most %d: what only its backends need belongs in quota/internal/protocol", n, maxNames)
	}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && file != root || d.Name() == "testdata"):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && path.Base(path.Dir(file)) != "quota":
			for _, name := range uses(parse(t, file)) {
				delete(unused, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	library, err := os.ReadFile(filepath.Join(root, "docs", "library.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(unused)) {
		if !strings.Contains(string(library), "`"+name+"`") {
			t.Errorf("quota.%s is used by no other package, and docs/library.md does not name it", name)
		}
	}
}

func TestPlantedNamesAreFound(t *testing.T) {
	file := filepath.Join(t.TempDir(), "planted.go")
	text := "package planted\n\nimport \"github.com/trendvidstream/ingest/quota\"\n\ntype A struct{ B int }\n\nfunc (A) C() {}\n\nfunc D() {}\n\nfunc e() {}\n\nconst (\n\tF, g = 1, 2\n)\n\nvar H quota.Cost\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := exported(parse(t, file)); strings.Join(got, " ") != "A D F H" {
		t.Errorf("exported: %q, want \"A D F H\"", got)
	}
	if got := uses(parse(t, file)); strings.Join(got, " ") != "Cost" {
		t.Errorf("used: %q, want \"Cost\"", got)
	}
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// exported returns the exported top-level names of a file; methods and fields are not among them.
func exported(file *ast.File) (names []string) {
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				names = append(names, id.Name)
			}
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name)
				case *ast.ValueSpec:
					add(spec.Names...)
				}
			}
		}
	}
	return names
}

// uses returns the names that a file takes from package quota.
func uses(file *ast.File) (names []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "quota" {
				names = append(names, s.Sel.Name)
			}
		}
		return true
	})
	return names
}
