// Package strictyaml reads the files that a user edits by hand. An unknown field is refused, with the file, the line
// and a suggestion, so that a misspelt field never means its default.
package strictyaml

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/trendvidstream/ingest/internal/plaintext"
)

// PositionError is a mistake in a file: its place, the mistake, and a hint.
type PositionError struct {
	File string
	Line int // 0 when the mistake has no line
	What string
}

func (e *PositionError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.What)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What)
}

// Cause is the name of the cause in the table of standing.
func (*PositionError) Cause() string { return "bad config" }

// Document is a decoded file that still knows its lines.
type Document struct {
	name string
	root ast.Node // nil for an empty file
}

// Decode decodes one YAML document into the struct that into points at. Unknown and repeated keys, wrong types, a
// second document, and input that is too large or nested too deeply are refused with a *PositionError that names the
// file as name. If into has a method Hint(field string) string, its hint about an unknown field comes first.
func Decode(name string, data []byte, into any) (*Document, error) {
	text, file, err := parse(name, data)
	if errors.As(err, new(*PositionError)) {
		return nil, err
	}
	if err != nil {
		return nil, positioned(name, nil, err, into)
	}
	d := &Document{name: name}
	if len(file.Docs) > 1 {
		at := cmp.Or(file.Docs[1].Start, file.Docs[0].End)
		return nil, &PositionError{name, at.Position.Line, "a second document: a file has only one"}
	}
	if len(file.Docs) == 1 {
		d.root = file.Docs[0].Body
	}
	if err := yaml.UnmarshalWithOptions(text, into, yaml.Strict()); err != nil {
		return nil, positioned(name, d.root, err, into)
	}
	if at := fraction(d.root, reflect.TypeOf(into)); at != nil {
		return nil, &PositionError{name, at.Position.Line,
			fmt.Sprintf("%s%q is not a whole number", fieldOf(d.root, at), at.Value)}
	}
	return d, nil
}

// Salvage decodes as much as it can of a text that Decode refuses. It reports whether into may be used.
func Salvage(data []byte, into any) bool {
	text, _, err := parse("", data)
	return err == nil && yaml.Unmarshal(text, into) == nil
}

// Bounds of the input: the parser's time and memory grow with the square of the depth.
const (
	maxSize  = 256 << 10 // bytes
	maxDepth = 32        // of brackets, or of dashes on one line
	maxAlias = 64        // aliases: each is a copy of its anchor
)

// parse returns the text and its syntax tree, if decoding them is within the bounds.
func parse(name string, data []byte) ([]byte, *ast.File, error) {
	text, tokens, err := scan(name, data)
	if err != nil {
		return nil, nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, nil, err
	}
	found := &aliases{name: name}
	for _, doc := range file.Docs {
		ast.Walk(found, doc)
	}
	return text, file, found.err
}

// aliases is an ast.Visitor that counts aliases, and refuses one within an anchor: those multiply.
type aliases struct {
	name   string
	count  int
	within *aliases // the nodes of an anchor are counted by the nodes around it
	err    error
}

func (a *aliases) Visit(node ast.Node) ast.Visitor {
	switch n := node.(type) {
	case *ast.AnchorNode:
		if a.within == nil {
			return &aliases{name: a.name, within: a}
		}
	case *ast.AliasNode:
		line := n.Start.Position.Line
		if a.within != nil {
			a.within.err = &PositionError{a.name, line, "an alias within an anchor: write its content out"}
		}
		if a.count++; a.count > maxAlias {
			a.err = &PositionError{a.name, line, fmt.Sprintf("more than %d aliases: write their content out", maxAlias)}
		}
	}
	return a
}

// pipeWithin is how long ReadFile waits for the content of a pipe.
var pipeWithin = 10 * time.Second

// ReadFile reads a file, but stops once it is too large for Decode: a device never ends. It refuses a file that every
// user of this machine may write: fs.ErrPermission. A container's config is often a link, which is followed; a pipe,
// such as a shell's <(COMMAND), must have a writer and end within pipeWithin.
func ReadFile(path string) ([]byte, error) {
	flag, pipe := os.O_RDONLY, false
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		flag, pipe = flag|syscall.O_NONBLOCK, true
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o002 != 0 &&
		os.PathSeparator == '/' {
		return nil, fmt.Errorf("%w: every user of this machine can write %s: "+
			"see whether it is as you left it, then chmod o-w %s", fs.ErrPermission, path, path)
	}
	if pipe {
		_ = f.SetReadDeadline(time.Now().Add(pipeWithin))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("%s is a pipe whose writer did not end within %v: %w", path, pipeWithin, err)
	case pipe && err == nil && len(data) == 0:
		err = fmt.Errorf("%s is a pipe without a writer", path)
	}
	return data, err
}

// scan returns the text as UTF-8 without its byte order mark, and its tokens, if parsing it is within the bounds.
func scan(name string, data []byte) ([]byte, token.Tokens, error) {
	if len(data) > maxSize {
		return nil, nil, &PositionError{name, 0, fmt.Sprintf("it has more than %d bytes: is it the right file?", maxSize)}
	}
	data = plaintext.Decode(data)
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if !utf8.Valid(line) {
			return nil, nil, &PositionError{name, number, "this is not UTF-8: save the file as UTF-8"}
		}
		if indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]; bytes.ContainsRune(indent, '\t') &&
			len(bytes.TrimSpace(line)) > 0 {
			return nil, nil, &PositionError{name, number, "a tab before the text: YAML is indented with spaces only"}
		}
	}
	tokens := lexer.Tokenize(string(data))
	brackets, dashes, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
		}
		switch t.Type { //nolint:exhaustive // the others do not nest
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if brackets > maxDepth || dashes > maxDepth {
			return nil, nil, &PositionError{name, line, fmt.Sprintf("nested more than %d deep", maxDepth)}
		}
	}
	return data, tokens, nil
}

// Errorf returns a *PositionError at Line(path) for a mistake that only the caller can see.
func (d *Document) Errorf(path []string, format string, args ...any) error {
	return &PositionError{File: d.name, Line: d.Line(path), What: fmt.Sprintf(format, args...)}
}

// Line returns the line of the value at path, made of keys and list indexes, or of the last value on the way, or 0.
func (d *Document) Line(path []string) (line int) {
	node := d.root
	for _, key := range path {
		next, at := child(node, key)
		if at == 0 {
			break
		}
		line, node = at, next
	}
	return line
}

// child returns the value under key of a mapping, or the element of a sequence at index key, and its line: 0 if there
// is none.
func child(node ast.Node, key string) (ast.Node, int) {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			if value, line := child(v, key); line > 0 {
				return value, line
			}
		}
	case *ast.MappingValueNode:
		if k := n.Key.GetToken(); k.Value == key {
			return n.Value, k.Position.Line
		}
	case *ast.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Values) {
			return n.Values[i], n.Values[i].GetToken().Position.Line
		}
	}
	return nil, 0
}

// positioned turns a decoder's error into a PositionError, and suggests the intended name for an unknown field.
func positioned(name string, root ast.Node, err error, into any) error {
	var y yaml.Error
	if !errors.As(err, &y) || y.GetToken() == nil {
		return &PositionError{File: name, What: err.Error()}
	}
	what, at := y.GetMessage(), y.GetToken()
	var unknown *yaml.UnknownFieldError
	var wrongType *yaml.TypeError
	var wrongNode *yaml.UnexpectedNodeTypeError
	switch {
	case errors.As(err, &unknown):
		hint := ""
		if h, ok := into.(interface{ Hint(field string) string }); ok {
			hint = h.Hint(at.Value)
		}
		what = fmt.Sprintf("unknown field %q: %s", at.Value,
			cmp.Or(hint, place(at.Value, pathOf(root, at), reflect.TypeOf(into))))
	case errors.As(err, &wrongType):
		what = fmt.Sprintf("%s%q is not %s", fieldOf(root, at), at.Value,
			cmp.Or(kinds[wrongType.DstType.Kind()], "of the type that belongs here"))
	case errors.As(err, &wrongNode) && wrongNode.Expected == ast.SequenceType:
		what = "a list belongs here, such as [a, b]"
	case errors.As(err, &wrongNode) && wrongNode.Expected == ast.MappingType:
		what = "fields belong here, such as name: value"
	default:
		what = cmp.Or(inPlainWords[what], what)
	}
	return &PositionError{File: name, Line: at.Position.Line, What: what}
}

// inPlainWords are the parser's messages about common mistakes, for a person who does not know YAML's grammar.
var inPlainWords = map[string]string{ //nolint:gosec // "token" is the parser's
	"mapping value is not allowed in this context": "a second colon: put a value that has one into quotes, " +
		`as in name: "a: b", or indent the next line as this one`,
	"value is not allowed in this context. map key-value is pre-defined": "this does not belong to the line above: " +
		"check its indentation, and the colon after the field's name",
	"value is not allowed in this context": "this does not belong to the line above: " +
		"check its indentation, and the colon after the field's name",
	"block sequence entries are not allowed in this context": "a list with dashes begins " +
		"on the line after its name",
	"sequence end token ']' not found":                   "a [ without its ]",
	"could not find flow mapping end token '}'":          "a { without its }",
	"could not find end character of double-quoted text": `a " without the second one`,
	"could not find end character of single-quoted text": "a ' without the second one",
	"found character '\t' that cannot start any token":   "a tab where the text begins: use spaces",
	"non-map value is specified":                         "a line without a colon: write name: value",
	"unexpected key name": "this does not belong to the line above: " +
		"check its indentation, and the colon after the field's name",
}

// fieldOf returns the name of the field that has the value, with a colon; "" if no field has it.
func fieldOf(root ast.Node, value *token.Token) string {
	for _, n := range ast.Filter(ast.MappingValueType, root) {
		if v, ok := n.(*ast.MappingValueNode); ok && v.Value.GetToken().Position.Offset == value.Position.Offset {
			return v.Key.GetToken().Value + ": "
		}
	}
	return ""
}

// kinds are names for people of a field's possible content.
var kinds = map[reflect.Kind]string{reflect.Int: "a whole number", reflect.Int64: "a whole number",
	reflect.Bool: "true or false"}

// pathOf returns the names of the fields that a key is in, outermost first.
func pathOf(root ast.Node, key *token.Token) []string {
	for _, n := range ast.Filter(ast.MappingValueType, root) {
		if v, ok := n.(*ast.MappingValueNode); ok && v.Key.GetToken().Position.Offset == key.Position.Offset {
			return strings.FieldsFunc(v.Key.GetPath(), func(r rune) bool { return strings.ContainsRune("$.[]0123456789", r) })
		}
	}
	return nil
}

// place says where an unknown field belongs, or which fields there are in the innermost known field of its path.
func place(unknown string, path []string, t reflect.Type) string {
	var places []string
	fields := map[string][]string{}
	visitFields(t, "", func(parent, field string) {
		switch {
		case field == unknown && parent == "":
			places = append(places, "at the top level")
		case field == unknown:
			places = append(places, "in "+parent+":")
		case !slices.Contains(fields[parent], field):
			fields[parent] = append(fields[parent], field)
		}
	})
	if places != nil {
		return "it belongs " + strings.Join(places, " or ")
	}
	parent := ""
	for _, name := range path {
		if fields[name] != nil {
			parent = name
		}
	}
	return Suggest(unknown, fields[parent])
}

// visitFields calls visit for each yaml name of a struct type and of all types in it, with the name that it is in.
func visitFields(t reflect.Type, parent string, visit func(parent, field string)) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		visitFields(t.Elem(), parent, visit)
	case reflect.Struct:
		for f := range t.Fields() {
			if tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); tag != "" {
				visit(parent, tag)
				visitFields(f.Type, tag, visit)
			}
		}
	default:
	}
}

// Suggest returns a hint for a misspelt word: the nearest of the known ones, or all when none is near.
func Suggest(word string, known []string) string {
	hint, distance := "use one of "+strings.Join(known, ", "), 3
	for _, k := range known {
		if d := editDistance(word, k); d < distance {
			hint, distance = fmt.Sprintf("did you mean %q?", k), d
		}
	}
	return hint
}

// editDistance is the Levenshtein distance in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			if a[i] != b[j] {
				diagonal++
			}
			diagonal, row[j+1] = row[j+1], min(diagonal, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
