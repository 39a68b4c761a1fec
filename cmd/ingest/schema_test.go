package main_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/trendvidstream/ingest"
	program "github.com/trendvidstream/ingest/cmd/ingest"
	"github.com/trendvidstream/ingest/internal/doctor"
	terms "github.com/trendvidstream/ingest/internal/policy"
	"github.com/trendvidstream/ingest/quota"
)

// The schemas of the documents are the golden files of --json: they are generated from the program's output, so that
// removing a field, or changing its type, shows in a diff.
const schemas = "../../docs/schema"

var update = flag.Bool("update", false, "write the schemas of the documents again")

// words are the values of the types with few values.
var words = map[reflect.Type][]any{
	reflect.TypeFor[ingest.State](): {"", string(ingest.Due), string(ingest.Claimed), string(ingest.Done), string(ingest.Stopped),
		string(ingest.Failed), string(ingest.Skipped), string(ingest.Missed)},
	reflect.TypeFor[quota.Purpose](): purposes(),
	reflect.TypeFor[doctor.Status](): {"", "ok", "warn", "fail"},
	reflect.TypeFor[terms.Status]():  {"kept", "not kept", "yours"},
}

func purposes() (of []any) {
	for _, p := range quota.Purposes() {
		of = append(of, string(p))
	}
	return of
}

// Each document has a schema, which docs/json.md names.
func TestSchemasMatchTheDocuments(t *testing.T) {
	listed, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(schemas, "*.json"))
	if err != nil || !*update && len(files) != len(program.Documents) {
		t.Errorf("%d schemas for %d documents, %v", len(files), len(program.Documents), err)
	}
	for name, doc := range program.Documents {
		schema := schemaOf(reflect.TypeOf(doc))
		schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		text, err := json.MarshalIndent(schema, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(schemas, name+".json")
		if *update {
			if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(path)
		if err != nil || string(golden) != string(text)+"\n" {
			t.Errorf("%s is not what the program prints: fields are only ever added; go test ./cmd/ingest -run Schemas -update (%v)", path, err)
		}
		if !strings.Contains(string(listed), "(schema/"+name+".json)") {
			t.Errorf("docs/json.md does not name schema/%s.json", name)
		}
	}
}

func schemaOf(t reflect.Type) map[string]any {
	if of, ok := words[t]; ok {
		return map[string]any{"type": "string", "enum": of}
	}
	switch t.Kind() {
	case reflect.Pointer:
		of := schemaOf(t.Elem())
		if is, ok := of["type"].(string); ok {
			of["type"] = []string{is, "null"}
		}
		return of
	case reflect.Interface: // a window's only one: a time or null
		return schemaOf(reflect.TypeFor[*time.Time]())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Array:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return map[string]any{"type": "string", "format": "date-time", "pattern": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`}
		}
		properties, required := map[string]any{}, map[string]bool{}
		addFields(t, properties, required)
		return map[string]any{"type": "object", "properties": properties, "required": slices.Sorted(maps.Keys(required)), "additionalProperties": false}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.String:
		return map[string]any{"type": "string"}
	}
	return map[string]any{"type": "integer"}
}

// addFields adds a struct's fields, and the fields of embedded structs that it does not have itself.
func addFields(t reflect.Type, properties map[string]any, required map[string]bool) {
	for field := range t.Fields() {
		name, options, tagged := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() || field.Anonymous {
			continue
		}
		if !tagged || !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			required[name] = true
		}
		properties[name] = schemaOf(field.Type)
	}
	for field := range t.Fields() {
		if !field.Anonymous {
			continue
		}
		inner, must := map[string]any{}, map[string]bool{}
		addFields(field.Type, inner, must)
		for name, schema := range inner {
			if _, hidden := properties[name]; !hidden {
				properties[name] = schema
				if must[name] {
					required[name] = true
				}
			}
		}
	}
}

// schemaScript validates each line of the last command's output: schema NAME, or schema NAME stderr.
func schemaScript(ts *testscript.TestScript, neg bool, args []string) {
	from := "stdout"
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: schema NAME [stderr]")
	}
	if len(args) == 2 {
		from = args[1]
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(here, schemas, args[0]+".json"))
	ts.Check(err)
	lines := 0
	for line := range strings.Lines(ts.ReadFile(from)) {
		if !strings.HasPrefix(line, "{") {
			continue // a message
		}
		lines++
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		ts.Check(err)
		if err := schema.Validate(doc); err != nil {
			ts.Fatalf("%s is no %s: %v", line, args[0], err)
		}
	}
	if lines == 0 {
		ts.Fatalf("no document in %s", from)
	}
}
