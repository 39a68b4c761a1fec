package strictyaml

import (
	"math"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// fraction returns the first number with a fraction where an integer belongs, which the decoder would cut; nil if there
// is none. A struct may also be written as its first field.
func fraction(node ast.Node, t reflect.Type) (at *token.Token) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Struct && node != nil && node.Type() == ast.FloatType {
		if t.Kind() == reflect.Struct {
			t = t.Field(0).Type
		} else {
			t = t.Elem()
		}
	}
	switch n := node.(type) {
	case *ast.FloatNode:
		if (t.Kind() == reflect.Int || t.Kind() == reflect.Int64) && n.Value != math.Trunc(n.Value) {
			return n.GetToken()
		}
	case *ast.MappingNode:
		for _, v := range n.Values {
			if at = fraction(v, t); at != nil {
				break
			}
		}
	case *ast.MappingValueNode:
		if t.Kind() == reflect.Map {
			return fraction(n.Value, t.Elem())
		}
		for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
			if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); tag == n.Key.GetToken().Value {
				return fraction(n.Value, t.Field(i).Type)
			}
		}
	case *ast.SequenceNode:
		for _, v := range n.Values {
			if at == nil && t.Kind() == reflect.Slice {
				at = fraction(v, t.Elem())
			}
		}
	}
	return at
}
