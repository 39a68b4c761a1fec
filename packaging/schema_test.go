package packaging_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	configSchema = "schema/config.schema.json"
	costsSchema  = "schema/costs.schema.json"
	config       = "ingest.example.yaml"
	costs        = "../costs.yaml"
)

func TestShippedFilesMatchTheirSchemas(t *testing.T) {
	for file, schema := range map[string]string{config: configSchema, costs: costsSchema} {
		if err := validate(t, schema, read(t, file)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestSchemasRefuseMistakes(t *testing.T) {
	tests := []struct {
		name, schema, file, old, new string
	}{
		{"a field misspelt", configSchema, config, "ledger: sqlite", "leger: sqlite"},
		{"another upstream", configSchema, config, "upstream: youtube", "upstream: vimeo"},
		{"plain http elsewhere", configSchema, config, "# upstream_url: http://127.0.0.1:8080/", "upstream_url: http://example.com/"},
		{"a key in a field of its own", configSchema, config, "account: default", "key: AIza"},
		{"a job's field misspelt", configSchema, config, "pages: 4", "page: 4"},
		{"too many pages", configSchema, config, "pages: 4", "pages: 5"},
		{"every and cron", configSchema, config, "every: 30m", `every: 30m, cron: "0 * * * *"`},
		{"neither every nor cron", configSchema, config, ", every: 24h", ""},
		{"an interval without a unit", configSchema, config, "every: 30m", "every: 30"},
		{"regions of a refresh", configSchema, config, "kind: refresh", "kind: refresh, regions: [US]"},
		{"a plan's window misspelt", configSchema, config, "starter: {1m: 3000}", "starter: {1mo: 3000}"},
		{"a token in clear", configSchema, config, "tokens: []", "tokens: [{client: acme, token: abc}]"},
		{"an unknown kind", configSchema, config, "kind: chart", "kind: charts"},
		{"a purpose misspelt", costsSchema, costs, "backfill: 70%", "backfil: 70%"},
		{"a version to come", costsSchema, costs, "version: 1", "version: 2"},
		{"a window misspelt", costsSchema, costs, "units: {24h: 10000, day: 10000}", "units: {24h: 10000, dya: 10000}"},
		{"an earlier name that is no list", costsSchema, costs, "units: {24h: 10000, day: 10000}", "units: {was: points, 24h: 10000, day: 10000}"},
		{"a share without a sign", costsSchema, costs, "manual: 99.5%", "manual: 99.5"},
		{"a route that is no path", costsSchema, costs, "route: GET /youtube/v3/videos}", "route: videos}"},
		{"a cost of nothing", costsSchema, costs, "videos.list: {units: 1,", "videos.list: {units: 0,"},
		{"a cost in parts", costsSchema, costs, "videos.list: {units: 1,", "videos.list: {units: 0.5,"},
		{"a clause misspelt", costsSchema, costs, "one_project:", "one_projct:"},
		{"a clause without a source", costsSchema, costs, "attribution: {source:", "attribution: {sorce:"},
		{"no zone", costsSchema, costs, "    zone: America/Los_Angeles\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			good := read(t, tt.file)
			bad := strings.Replace(good, tt.old, tt.new, 1)
			if bad == good {
				t.Fatalf("%s has no %q to spoil", tt.file, tt.old)
			}
			if err := validate(t, tt.schema, bad); err == nil {
				t.Errorf("%s with a bad value: got accepted, want refused", tt.file)
			}
		})
	}
}

// The program reads its files into structs; a field that only one side knows is a schema out of date.
func TestSchemasNameTheFieldsOfTheProgram(t *testing.T) {
	tests := []struct {
		source, typ, schema string
		path                []string // to the object in the schema
	}{
		{"../internal/config/file.go", "configFile", configSchema, nil},
		{"../internal/config/file.go", "jobFile", configSchema, []string{"$defs", "job"}},
		{"../internal/config/api.go", "apiFile", configSchema, []string{"$defs", "api"}},
		{"../internal/config/api.go", "tokenFile", configSchema, []string{"$defs", "token"}},
		{"../quota/costs.go", "costsFile", costsSchema, nil},
		{"../quota/costs.go", "upstreamFile", costsSchema, []string{"$defs", "upstream"}},
		{"../quota/costs.go", "failureFile", costsSchema, []string{"$defs", "upstream", "properties", "failure"}},
		{"../quota/costs.go", "tableFile", costsSchema, []string{"$defs", "table"}},
		{"../internal/terms/terms.go", "Clause", costsSchema, []string{"$defs", "clause"}},
	}
	for _, tt := range tests {
		t.Run(tt.typ, func(t *testing.T) {
			object := document(t, tt.schema)
			for _, key := range append(tt.path, "properties") {
				next, ok := object[key].(map[string]any)
				if !ok {
					t.Fatalf("%s has no %s at %v", tt.schema, key, tt.path)
				}
				object = next
			}
			schema, program := slices.Sorted(maps.Keys(object)), yamlFields(t, tt.source, tt.typ)
			if !slices.Equal(schema, program) {
				t.Errorf("schema: %v\nprogram: %v", schema, program)
			}
		})
	}
}

// yamlFields lists the yaml names of a struct's fields, in order of name.
func yamlFields(t *testing.T, source, typ string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != typ {
			return true
		}
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			tag, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			name, _, _ := strings.Cut(reflect.StructTag(tag).Get("yaml"), ",")
			names = append(names, name)
		}
		return false
	})
	if names == nil {
		t.Fatalf("%s has no struct %s", source, typ)
	}
	slices.Sort(names)
	return names
}

func validate(t *testing.T, schema, text string) error {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource(schema, document(t, schema)); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile(schema)
	if err != nil {
		t.Fatal(err)
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate(value)
}

func document(t *testing.T, file string) map[string]any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(read(t, file)))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return value.(map[string]any)
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
