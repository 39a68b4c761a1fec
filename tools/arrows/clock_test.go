package arrows_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"testing"
)

// printers are the packages that print a standing, or compute it from values: the moment is one of those values.
var printers = []string{"internal/standing", "internal/budget", "internal/report", "internal/documents", "internal/pages", "internal/web"}

// clockAllowed are the files of them that may ask for the time, and why.
var clockAllowed = map[string]string{
	"internal/web/accesslog.go":   "how long an answer took",
	"internal/web/connections.go": "how long a connection has been idle",
}

// No mouth computes an age or a wait by a clock of its own: two would differ. A time until which something is kept or
// waited for, time.Now().Add, is no age.
func TestNoMouthAsksTheClock(t *testing.T) {
	files := 0
	eachSource(t, func(file string, source []byte) {
		if !slices.Contains(printers, path.Dir(file)) {
			return
		}
		files++
		if clockAllowed[file] != "" {
			return
		}
		found, err := clockReads(file, source)
		for _, at := range found {
			t.Errorf("%s asks the clock: take the time from the standing", at)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if files < 40 {
		t.Errorf("only %d files were read, want at least 40", files)
	}
}

func TestPlantedReadingOfTheClockIsFound(t *testing.T) {
	for code, want := range map[string]int{
		"time.Since(at)": 1, "time.Until(at)": 1, "time.Now().Sub(at)": 1, "time.Now()": 1, "f(time.Now())": 1,
		"time.Now().Add(keep)": 0, "s.Now.Sub(at)": 0,
	} {
		found, err := clockReads("planted.go", []byte("package planted\nvar _ = "+code+"\n"))
		if err != nil || len(found) != want {
			t.Errorf("%s: found %v, %v, want %d", code, found, err, want)
		}
	}
}

// clockReads returns the places where a file reads the process's clock for anything but a deadline.
func clockReads(file string, source []byte) (found []string, err error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	deadlines := map[ast.Node]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if call, ok := s.X.(*ast.CallExpr); ok && s.Sel.Name == "Add" {
			deadlines[call.Fun] = true
		}
		x, ok := s.X.(*ast.Ident)
		if ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until"}, s.Sel.Name) && !deadlines[s] {
			found = append(found, files.Position(n.Pos()).String())
		}
		return true
	})
	return found, nil
}
