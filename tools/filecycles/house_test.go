package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The limits of a reader's memory. The command's package wires everything together, so it may have more.
const (
	maxCycle        = 8
	maxCommandCycle = 15
	maxCommandLines = 5500
	maxFileLines    = 400
	maxFuncLines    = 60
	maxDocLines     = 30 // of a package comment: a screen, at most 120 columns wide
)

const house = "../.."

func TestPackagesFormNoKnots(t *testing.T) {
	found, err := Measure(t.Context(), house, "./...")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 20 {
		t.Fatalf("only %d packages were measured, want at least 20", len(found))
	}
	for _, p := range found {
		most := maxCycle
		if p.Dir == "cmd/ingest" {
			most = maxCommandCycle
			if p.Lines > maxCommandLines {
				t.Errorf("%s has %d lines, at most %d: what could another package own?", p.Dir, p.Lines, maxCommandLines)
			}
		}
		if len(p.Cycle) > most {
			t.Errorf("%s: %d files use each other's names, at most %d: %s", p.Dir, len(p.Cycle), most, strings.Join(p.Cycle, " "))
		}
	}
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	files := 0
	err := filepath.WalkDir(house, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != house && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		for _, long := range tooLong(t, path) {
			t.Error(long)
		}
		return nil
	})
	if err != nil || files < 200 {
		t.Errorf("%d files were read, %v, want at least 200", files, err)
	}
}

// tooLong returns the long parts of a file, and the file if it is long itself.
func tooLong(t *testing.T, path string) []string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	if n := fset.File(f.FileStart).LineCount(); n > maxFileLines {
		found = append(found, path+" is too long: which second idea is in it?")
	}
	if f.Doc != nil && fset.Position(f.Doc.End()).Line-fset.Position(f.Doc.Pos()).Line+1 > maxDocLines {
		found = append(found, path+": the package comment is more than a screen")
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fset.Position(fn.End()).Line-fset.Position(fn.Pos()).Line+1 > maxFuncLines {
			found = append(found, path+": func "+fn.Name.Name+" is too long")
		}
	}
	return found
}

// TestAPlantedKnotIsFound: three files that need each other through a method, a field and a constant, and one that only
// uses them.
func TestAPlantedKnotIsFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module planted\n\ngo 1.26\n",
		"a.go":      "package planted\n\ntype A struct{ b B }\n\nfunc (A) Do() {}\n",
		"b.go":      "package planted\n\ntype B struct{ n [size]int }\n",
		"c.go":      "package planted\n\nconst size = 3\n\nfunc C(a A) { a.Do() }\n",
		"d.go":      "package planted\n\nfunc D() { C(A{}) }\n",
		"a_test.go": "package planted\n\nfunc use() { D() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Measure(t.Context(), dir, "./...")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Files != 4 || found[0].Lines != 16 || strings.Join(found[0].Cycle, " ") != "a.go b.go c.go" {
		t.Errorf("found %+v", found)
	}
}

// A long function is found in a file that is one line too long (by wc -l), and so are the file and its long comment.
func TestALongFunctionIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.go")
	text := strings.Repeat("// Package long.\n", maxDocLines+1) + "package long\n\nfunc f() {\n"
	text += strings.Repeat("\tprintln()\n", maxFileLines-strings.Count(text, "\n")) + "}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := tooLong(t, path); len(found) != 3 {
		t.Errorf("found %q, want the file, its function and its package comment", found)
	}
}
