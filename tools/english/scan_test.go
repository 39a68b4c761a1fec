package english_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// A sentence is what a person reads at once: of a comment, a string, a document or a test's name.
type sentence struct {
	File string
	Line int // where its block begins
	Text string
}

// scan returns the sentences of every Go, Lua, SQL and Markdown file in the tree, and of the help texts. It leaves out
// the changelog and the benches' results, which programs of the tree write.
func scan(tree fs.FS) ([]sentence, error) {
	var all []sentence
	err := fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		base := path.Base(file)
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (base[0] == '.' || base == "testdata" || base == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || file == "CHANGELOG.md" || file == "bench/RESULTS.md" || file == "bench/ECONOMY.md" || strings.HasPrefix(file, "tools/english/"):
			return nil
		}
		read := readers[path.Ext(file)]
		if read == nil {
			return nil
		}
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		found, err := read(file, string(text))
		all = append(all, found...)
		return err
	})
	return all, err
}

var readers = map[string]func(file, text string) ([]sentence, error){
	".go": readGo, ".md": readMarkdown, ".lua": readScript, ".sql": readScript, ".txt": readHelp,
}

func readGo(file, text string) ([]sentence, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(parsed) {
		return nil, err
	}
	var all []sentence
	for _, group := range parsed.Comments {
		all = append(all, split(file, files.Position(group.Pos()).Line, comment(group))...)
	}
	test := strings.HasSuffix(file, "_test.go")
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.FuncDecl:
			if test && n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") {
				all = append(all, sentence{file, files.Position(n.Pos()).Line, unCamel(n.Name.Name[len("Test"):])})
			}
		case *ast.BasicLit:
			if value, err := strconv.Unquote(n.Value); err == nil && !test && n.Kind == token.STRING && strings.Contains(value, " ") {
				all = append(all, split(file, files.Position(n.Pos()).Line, strings.Split(value, "\n"))...)
			}
		}
		return true
	})
	return all, nil
}

// comment returns the lines of a group of comments without their slashes. Indented examples and directives are left empty.
func comment(group *ast.CommentGroup) []string {
	var lines []string
	for _, c := range group.List {
		line, ok := strings.CutPrefix(c.Text, "//")
		switch {
		case !ok:
			lines = append(lines, strings.Split(strings.Trim(c.Text, "/*"), "\n")...)
		case strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "go:"), strings.HasPrefix(line, "nolint"):
			lines = append(lines, "")
		default:
			lines = append(lines, line)
		}
	}
	return lines
}

// readScript reads the comments of SQL and Lua, which begin with two dashes.
func readScript(file, text string) ([]sentence, error) {
	var lines []string
	for line := range strings.Lines(text) {
		_, after, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "--")
		lines = append(lines, after)
	}
	return split(file, 1, lines), nil
}

func readHelp(file, text string) ([]sentence, error) {
	if !strings.HasPrefix(file, "cmd/") {
		return nil, nil
	}
	return split(file, 1, strings.Split(text, "\n")), nil
}

// readMarkdown leaves out blocks of code. A row of a table is a block of its own.
func readMarkdown(file, text string) ([]sentence, error) {
	var lines []string
	code := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			code = !code
			line = ""
		}
		if code {
			line = ""
		}
		lines = append(lines, line)
	}
	return split(file, 1, lines), nil
}

var (
	ends  = regexp.MustCompile(`[.!?:]["”)*_]*\s+|\s\|\s?|^\|\s?`)
	fresh = regexp.MustCompile(`^\s*([|#>]|[-*] |\d+\. )`)
)

// split joins lines into blocks at empty lines and list items, and cuts each block into sentences.
func split(file string, first int, lines []string) []sentence {
	var all []sentence
	var block []string
	start := first
	flush := func() {
		text := strings.Join(strings.Fields(strings.Join(block, " ")), " ")
		for text != "" {
			end := len(text)
			if at := ends.FindStringIndex(text); at != nil {
				end = at[1]
			}
			if part := strings.Trim(text[:end], " |"); part != "" {
				all = append(all, sentence{file, start, part})
			}
			text = text[end:]
		}
		block = nil
	}
	for i, line := range lines {
		if strings.TrimSpace(line) == "" || fresh.MatchString(line) {
			flush()
		}
		if len(block) == 0 {
			start = first + i
		}
		if strings.TrimSpace(line) != "" {
			block = append(block, line)
		}
	}
	flush()
	return all
}

// unCamel turns TheNameOfATest into "the name of a test".
func unCamel(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(strings.ReplaceAll(b.String(), "_", " "))
}
