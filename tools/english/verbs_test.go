package english_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// verbs are everyday words that had several meanings here, with their forms.
var verbs = map[string]string{
	"lift": "lift", "lifts": "lift", "lifted": "lift",
	"meet": "meet", "meets": "meet", "met": "meet",
	"raise": "raise", "raises": "raise", "raised": "raise",
	"net": "net", "nets": "net", "netted": "net",
	"owe": "owe", "owes": "owe", "owed": "owe", "owing": "owe",
	"look": "look", "looks": "look", "looked": "look", "looking": "look",
	"rest": "rest", "rests": "rest", "rested": "rest", "resting": "rest",
	"settle": "settle", "settles": "settle", "settled": "settle", "settler": "settle",
	"hold": "hold", "holds": "hold", "held": "hold", "holding": "hold",
	"share": "share", "shares": "share", "shared": "share", "sharing": "share",
	"odd": "odd", "again": "again",
	"tell": "tell", "tells": "tell", "told": "tell", "teller": "tell",
}

var (
	verbRow  = regexp.MustCompile(`(?m)^\| ([a-z]+) \| [^|]+ \| ([^|]*) \|$`)
	codeName = regexp.MustCompile("`(\\w+)`")
)

// An exported name may have such a verb only if the verb's row in the glossary lists the name: so each use was decided,
// and each verb keeps the one meaning of its row.
func TestVerbsInNamesStandInTheGlossary(t *testing.T) {
	glossary, err := fs.ReadFile(os.DirFS(root), "docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	listed, used := map[string][]string{}, map[string][]string{}
	for _, row := range verbRow.FindAllStringSubmatch(string(glossary), -1) {
		for _, name := range codeName.FindAllStringSubmatch(row[2], -1) {
			listed[row[1]] = append(listed[row[1]], name[1])
		}
	}
	names, err := exportedNames(os.DirFS(root))
	if err != nil || len(names) < 1000 {
		t.Fatalf("read %d names, %v: the scan is broken, want at least 1000", len(names), err)
	}
	for name, file := range names {
		for word := range strings.FieldsSeq(unCamel(name)) {
			verb := verbs[word]
			if verb == "" {
				continue
			}
			used[verb] = append(used[verb], name)
			if !slices.Contains(listed[verb], name) {
				t.Errorf("%s: %s: no row %q of docs/glossary.md lists it: use the field's term", file, name, verb)
			}
		}
	}
	for verb, names := range listed {
		for _, name := range names {
			if !slices.Contains(used[verb], name) {
				t.Errorf("docs/glossary.md: row %q lists %s, which no exported name is", verb, name)
			}
		}
	}
}

// exportedNames returns each exported name of the product with a file that declares it.
func exportedNames(tree fs.FS) (map[string]string, error) {
	names := map[string]string{}
	err := fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		switch base := path.Base(file); {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (base[0] == '.' || slices.Contains([]string{"testdata", "node_modules", "bench", "tools"}, base)):
			return fs.SkipDir
		case path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		add := func(all ...*ast.Ident) {
			for _, one := range all {
				if one.IsExported() {
					names[one.Name] = file
				}
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				add(n.Name)
			case *ast.TypeSpec:
				add(n.Name)
			case *ast.ValueSpec:
				add(n.Names...)
			case *ast.Field:
				add(n.Names...)
			}
			return true
		})
		return nil
	})
	return names, err
}
