package web_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/report"
)

// openapi.json describes each field that a document can have, in any state: also the fields that only a gateway's
// client, a drain or an emergency brings. A field that may be absent is not required, and one that may be null may be
// null.
func TestTheContractHasEveryField(t *testing.T) {
	site, _ := newAPI(t)
	var doc map[string]any
	if err := json.Unmarshal([]byte(body(t, ask(site.Handler(), "GET", "/v1/openapi.json"))), &doc); err != nil {
		t.Fatal(err)
	}
	w := contractWalk{t: t, doc: doc, seen: map[string]bool{}}
	for name, of := range map[string]any{
		"Search": report.SearchDocument{}, "Chart": report.MovesDocument{}, "Video": report.HistoryDocument{},
		"Regions": report.RegionsDocument{}, "Slot": report.SlotDocument{}, "Quota": report.QuotaDocument{},
	} {
		w.compare(name, reflect.TypeOf(of), map[string]any{"$ref": "#/components/schemas/" + name})
	}
	if w.fields < 100 {
		t.Errorf("%d fields were compared, want at least 100", w.fields)
	}
}

type contractWalk struct {
	t      *testing.T
	doc    map[string]any
	seen   map[string]bool // types, by the path of their schema
	fields int
}

// resolve follows references.
func (w *contractWalk) resolve(schema map[string]any) map[string]any {
	for {
		ref, ok := schema["$ref"].(string)
		if !ok {
			return schema
		}
		at := any(w.doc)
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			at = at.(map[string]any)[part]
		}
		schema = at.(map[string]any)
	}
}

// schemas returns the schema, or its alternatives.
func (w *contractWalk) schemas(schema map[string]any) (all []map[string]any) {
	schema = w.resolve(schema)
	for _, key := range []string{"anyOf", "oneOf"} {
		for _, one := range list(schema[key]) {
			all = append(all, w.resolve(one.(map[string]any)))
		}
	}
	return append(all, schema)
}

func list(v any) []any { l, _ := v.([]any); return l }

func (w *contractWalk) nullable(schema map[string]any) bool {
	return slices.ContainsFunc(w.schemas(schema), func(s map[string]any) bool {
		return s["type"] == "null" || slices.Contains(list(s["type"]), any("null")) || len(s) == 0 || s["type"] == nil && s["properties"] == nil && s["anyOf"] == nil && s["oneOf"] == nil
	})
}

// compare compares a type with its schema.
func (w *contractWalk) compare(path string, of reflect.Type, schema map[string]any) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case of == reflect.TypeFor[time.Time]() || of == reflect.TypeFor[json.RawMessage]():
	case of.Kind() == reflect.Slice || of.Kind() == reflect.Array:
		for _, s := range w.schemas(schema) {
			if items, ok := s["items"].(map[string]any); ok {
				w.compare(path+"[]", of.Elem(), items)
			}
		}
	case of.Kind() == reflect.Map:
		for _, s := range w.schemas(schema) {
			if values, ok := s["additionalProperties"].(map[string]any); ok {
				w.compare(path+"{}", of.Elem(), values)
			}
		}
	case of.Kind() == reflect.Struct && !w.seen[path+of.String()]:
		w.seen[path+of.String()] = true
		w.fieldsOf(path, of, schema)
	}
}

func (w *contractWalk) fieldsOf(path string, of reflect.Type, schema map[string]any) {
	for i := range of.NumField() {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			w.fieldsOf(path, field.Type, schema)
			continue
		}
		if !field.IsExported() || name == "-" {
			continue
		}
		w.fields++
		found, required := map[string]any(nil), false
		for _, s := range w.schemas(schema) {
			if properties, ok := s["properties"].(map[string]any); ok && properties[name] != nil {
				found, required = properties[name].(map[string]any), slices.Contains(list(s["required"]), any(name))
			}
		}
		where := path + "." + name
		switch {
		case found == nil:
			w.t.Errorf("%s is not in the contract", where)
			continue
		case strings.Contains(options, "omitempty") && required:
			w.t.Errorf("%s may be absent, and the contract requires it", where)
		case field.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omitempty") && !w.nullable(found):
			w.t.Errorf("%s may be null, and in the contract it may not", where)
		}
		w.compare(where, field.Type, found)
	}
}
