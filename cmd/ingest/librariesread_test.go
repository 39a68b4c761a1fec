//go:build linux

package main_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	program "github.com/trendvidstream/ingest/cmd/ingest"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// shownVariables are variables whose values may be shown, and why.
var shownVariables = map[string]string{
	"HOME":       "the default data directory lies in it, and every report names that",
	"PGHOST":     "errors of the server name it",
	"PGPORT":     "the same",
	"PGUSER":     "the same",
	"PGDATABASE": "the same",
}

// unknownNames are readings without a written name, by the package's directory and the expression.
var unknownNames = map[string]string{
	"cobra activeHelpGlobalEnvVar":                         "COBRA_ACTIVE_HELP: whether completion shows hints",
	"cobra activeHelpEnvVar(cmd.Root().Name())":            "INGEST_ACTIVE_HELP: the same",
	"cobra configEnvVar(configEnvVarGlobalPrefix, suffix)": "COBRA_COMPLETION_DESCRIPTIONS: the same",
	"cobra configEnvVar(cmd.Root().Name(), suffix)":        "INGEST_COMPLETION_DESCRIPTIONS: the same",
	"trace key": "OTEL_SPAN_…: numbers, read when a span begins, and none does",
	"sdk key":   "the same",
	"unix key":  "Getenv under another name",
}

// No variable that a library reads is shown, for any purpose: the names are found in the sources of the modules that
// the program is linked with. A canary is given to a run by some of the variables, and to another by all at once.
func TestLongNoVariableOfALibraryIsShown(t *testing.T) {
	some := longShare(t)
	names := variablesOfLibraries(t)
	for _, name := range []string{"PGPASSWORD", "GRPC_GO_LOG_SEVERITY_LEVEL", "GRPC_BINARY_LOG_FILTER", "GOOGLE_APPLICATION_CREDENTIALS", "S2A_ACCESS_TOKEN", "GOOGLE_SDK_GO_LOGGING_LEVEL"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s was not found in the sources", name)
		}
	}
	c := newCanary(unlike)
	sim, err := youtubesim.New(youtubesim.Options{RequireKey: c.key})
	if err != nil {
		t.Fatal(err)
	}
	base := serveHazard(t, "upstream", sim).base
	all := map[string]string{}
	for _, name := range names {
		if shownVariables[name] == "" {
			all[name] = c.key
		}
	}
	h := newHome(t, c.key, base)
	for i, name := range names {
		if all[name] == "" || !some.has(i) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			env := map[string]string{name: c.key, "INGEST_KEY": c.key}
			if strings.HasPrefix(name, "PG") {
				env["INGEST_LEDGER"] = "postgres://127.0.0.1:1/db?connect_timeout=1"
			}
			for name, value := range h.env(handed{env: env}) {
				t.Setenv(name, value)
			}
			var out, messages strings.Builder
			program.Run([]string{"run", "--region", "US", "--pages", "1", "--force"}, &out, &messages, nil)
			c.watch(t, "standard output", []byte(out.String()))
			c.watch(t, "standard error", []byte(messages.String()))
		})
	}
	c.watchFiles(t, "one by one", h.dir)
	all["INGEST_KEY"] = c.key
	h = newHome(t, c.key, base)
	p := h.start(c, way{give: func(*home) handed { return handed{env: all} }}, hazard{name: "all variables"}, []string{"run"})
	h.waits(p) // the values read before main begins
	p.end()
	c.watchFiles(t, "all at once", h.dir)
	t.Logf("%d variables: %s", len(names), strings.Join(names, " "))
}

// sources are the texts of the linked modules' files.
type sources struct {
	t     *testing.T
	texts map[string][]string   // the strings that a name stands for: by name, and by directory and name
	calls map[string][]enclosed // by directory and the function's name
}

// enclosed is a call, and the function that it stands in.
type enclosed struct {
	call *ast.CallExpr
	in   *ast.FuncDecl
}

// variablesOfLibraries returns the names of the variables that the linked modules read.
func variablesOfLibraries(t *testing.T) (names []string) {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{if not .Module.Main}}{{range .GoFiles}}{{$.Dir}}/{{.}}\n{{end}}{{end}}{{end}}", ".")
	out, err := list.Output()
	if err != nil {
		t.Skipf("go: %v", err)
	}
	s := sources{t, map[string][]string{}, map[string][]enclosed{}}
	reads, texts := map[string]bool{}, map[string][]byte{}
	for path := range strings.FieldsSeq(string(out)) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = text
		dir := filepath.Dir(path)
		reads[dir] = reads[dir] || bytes.Contains(text, []byte("Getenv(")) || bytes.Contains(text, []byte("LookupEnv("))
	}
	for path, text := range texts {
		if reads[filepath.Dir(path)] || bytes.Contains(text, []byte("EnvVar")) {
			s.add(path, text)
		}
	}
	for dir := range reads {
		for _, read := range []string{"Getenv", "LookupEnv"} {
			for _, c := range s.calls[dir+" "+read] {
				names = append(names, s.strings(dir, c.in, c.call.Args[0], 3)...)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// add parses a file and remembers its strings and calls.
func (s sources) add(path string, text []byte) {
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		s.t.Fatal(err)
	}
	dir := filepath.Dir(path)
	name := func(left, right ast.Expr) {
		if id, ok := left.(*ast.Ident); ok {
			s.texts[id.Name] = append(s.texts[id.Name], literals(right)...)
			s.texts[dir+" "+id.Name] = append(s.texts[dir+" "+id.Name], literals(right)...)
		}
	}
	for _, decl := range file.Decls {
		in, _ := decl.(*ast.FuncDecl)
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i := range n.Values {
					name(n.Names[i], n.Values[i])
				}
			case *ast.AssignStmt:
				for i := range n.Rhs {
					name(n.Lhs[i], n.Rhs[i])
				}
			case *ast.RangeStmt: // over a table of names, which is a local variable
				if of, ok := n.X.(*ast.Ident); ok && n.Key != nil {
					for _, text := range s.texts[dir+" "+of.Name] {
						name(n.Key, &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(text)})
					}
				}
			case *ast.CallExpr:
				of := dir + " " + exprName(n.Fun)
				s.calls[of] = append(s.calls[of], enclosed{n, in})
			}
			return true
		})
	}
}

// strings returns an expression's possible values. A function's argument is looked up where the function is called,
// and where that is called, the given number of times.
func (s sources) strings(dir string, in *ast.FuncDecl, e ast.Expr, times int) (all []string) {
	if all = literals(e); len(all) > 0 {
		return all
	}
	if in != nil && exprName(e) != "" && times > 0 {
		at := 0
		for _, field := range in.Type.Params.List {
			for _, param := range field.Names {
				if param.Name == exprName(e) {
					for _, c := range s.calls[dir+" "+in.Name.Name] {
						all = append(all, s.strings(dir, c.in, c.call.Args[at], times-1)...)
					}
				}
				at++
			}
		}
	}
	if id, ok := e.(*ast.Ident); ok {
		all = append(all, s.texts[dir+" "+id.Name]...)
	} else {
		all = append(all, s.texts[exprName(e)]...)
	}
	base, _, _ := strings.Cut(filepath.Base(dir), "@")
	if text := base + " " + types.ExprString(e); len(all) == 0 && unknownNames[text] == "" {
		s.t.Errorf("%s: which variable is that? Give it a reason in unknownNames", text)
	}
	return all
}

// exprName returns the last name of a name or selector; "" for other expressions.
func exprName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// literals returns the string that an expression is, or the keys of a table.
func literals(e ast.Expr) (all []string) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			all = append(all, text)
		}
	case *ast.CompositeLit:
		for _, el := range e.Elts {
			if pair, ok := el.(*ast.KeyValueExpr); ok {
				el = pair.Key
			}
			all = append(all, literals(el)...)
		}
	}
	return all
}
