package quota

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// PositionError is a mistake in a YAML file: where, what, and what to try.
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

// YAML is a decoded file that still knows its lines.
type YAML struct {
	name string
	root ast.Node // nil for an empty file
}

// DecodeYAML decodes one YAML document into the struct that into points at. Unknown and repeated
// keys, wrong types and a second document are refused with a *PositionError.
func DecodeYAML(name string, data []byte, into any) (*YAML, error) {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, positioned(name, err, into)
	}
	y := &YAML{name: name}
	if len(file.Docs) > 1 {
		return nil, &PositionError{name, file.Docs[1].GetToken().Position.Line, "a second document: one file holds one"}
	}
	if len(file.Docs) == 1 {
		y.root = file.Docs[0].Body
	}
	if err := yaml.UnmarshalWithOptions(data, into, yaml.Strict()); err != nil {
		return nil, positioned(name, err, into)
	}
	return y, nil
}

// Errorf is a *PositionError at the line of the key that path leads to, or of the last key on the
// way that is there.
func (y *YAML) Errorf(format string, path []string, args ...any) error {
	return &PositionError{File: y.name, Line: y.line(path), What: fmt.Sprintf(format, args...)}
}

func (y *YAML) line(path []string) int {
	line := 0
	node := y.root
	for _, key := range path {
		value := child(node, key)
		if value == nil {
			break
		}
		line, node = value.line, value.node
	}
	return line
}

type located struct {
	node ast.Node
	line int
}

// child is the value under key of a mapping, or the element of a sequence at index key.
func child(node ast.Node, key string) *located {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			if v.Key.GetToken().Value == key {
				return &located{v.Value, v.Key.GetToken().Position.Line}
			}
		}
	case *ast.MappingValueNode:
		if n.Key.GetToken().Value == key {
			return &located{n.Value, n.Key.GetToken().Position.Line}
		}
	case *ast.SequenceNode:
		for i, v := range n.Values {
			if fmt.Sprint(i) == key {
				return &located{v, v.GetToken().Position.Line}
			}
		}
	}
	return nil
}

// positioned turns a decoder's error into a PositionError, with the field that may have been meant.
func positioned(name string, err error, into any) error {
	var y yaml.Error
	if !errors.As(err, &y) || y.GetToken() == nil {
		return &PositionError{File: name, What: err.Error()}
	}
	what := y.GetMessage()
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		field := y.GetToken().Value
		what = fmt.Sprintf("unknown field %q: %s", field, closest(field, fieldNames(reflect.TypeOf(into))))
	}
	return &PositionError{File: name, Line: y.GetToken().Position.Line, What: what}
}

// fieldNames are the yaml names of a struct type and of all it holds.
func fieldNames(t reflect.Type) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return fieldNames(t.Elem())
	case reflect.Struct:
		var names []string
		for f := range t.Fields() {
			if tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); tag != "" {
				names = append(append(names, tag), fieldNames(f.Type)...)
			}
		}
		return names
	default:
		return nil
	}
}

// closest is a hint for a misspelt word: the nearest of the known ones, or all when none is near.
func closest(word string, known []string) string {
	best, distance := "", 3
	for _, k := range known {
		if d := editDistance(word, k); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "use one of " + strings.Join(known, ", ")
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
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
