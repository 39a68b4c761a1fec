package arrows_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// errorTextAllowed are the files that may search the text of an error, and why.
var errorTextAllowed = map[string]string{
	"store/repair.go":         "SQLite has no code for a damaged index",
	"internal/queue/queue.go": "River logs some errors as text",
}

// Tell errors apart by errors.Is or errors.As. Their text is for people: a search may match other errors too.
func TestNoErrorIsKnownByItsText(t *testing.T) {
	eachSource(t, func(path string, source []byte) {
		if errorTextAllowed[path] != "" {
			return
		}
		found, err := errorTextSearches(path, source)
		for _, at := range found {
			t.Errorf("%s searches the text of an error: make a typed error where it arises, and use errors.Is or errors.As", at)
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// eachSource reads the product's source files.
func eachSource(t *testing.T, do func(path string, source []byte)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(d.Name(), ".") && path != "."
		switch {
		case err != nil:
			return err
		case d.IsDir() && (hidden || slices.Contains([]string{"bench", "testdata", "storetest", "quotatest"}, d.Name())):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(os.DirFS(root), path)
		if err == nil {
			do(path, source)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPlantedSearchOfErrorTextIsFound(t *testing.T) {
	for code, want := range map[string]int{
		`strings.Contains(err.Error(), "is missing")`: 1, `strings.HasPrefix(strings.ToLower(s.Err.Error()), "no")`: 1, `err.Error() == "gone"`: 1, `strings.Cut(err.Error(), ": ")`: 1, `"gone" != err.Error()`: 1,
		`strings.Contains(text, "is missing")`: 0, `errors.Is(err, fs.ErrNotExist)`: 0, `fmt.Sprint(err.Error())`: 0,
	} {
		found, err := errorTextSearches("planted.go", []byte("package planted\nvar _ = "+code+"\n"))
		if err != nil || len(found) != want {
			t.Errorf("%s: found %v, %v, want %d", code, found, err, want)
		}
	}
}

// errorTextSearches returns the places where a file compares or searches the result of an Error method.
func errorTextSearches(path string, source []byte) (found []string, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	searches := []string{"Contains", "HasPrefix", "HasSuffix", "Index", "EqualFold", "MatchString", "Cut"}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(searches, f.Sel.Name) && slices.ContainsFunc(n.Args, hasErrorText) {
				found = append(found, files.Position(n.Pos()).String())
			}
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && (hasErrorText(n.X) || hasErrorText(n.Y)) {
				found = append(found, files.Position(n.Pos()).String())
			}
		}
		return true
	})
	return found, nil
}

// hasErrorText reports whether an expression contains the text of an error.
func hasErrorText(e ast.Expr) (has bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		has = has || ok && f.Sel.Name == "Error" && len(call.Args) == 0
		return true
	})
	return has
}
