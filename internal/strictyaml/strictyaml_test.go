package strictyaml_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/strictyaml"
)

type file struct {
	Name  string            `yaml:"name"`
	Jobs  []job             `yaml:"jobs"`
	Exact strictyaml.Text   `yaml:"exact"`
	Sizes map[string]string `yaml:"sizes"`
	Hosts int               `yaml:"hosts"`
	Page  struct {
		Tint string `yaml:"tint"`
	} `yaml:"page"`
}

type job struct {
	Every string `yaml:"every"`
}

func TestMistakesSayWhereAndWhatToDo(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a misspelt field", "name: a\njobs:\n- evry: 1h\n", `f.yaml:3: unknown field "evry": did you mean "every"?`},
		{"a field of nowhere", "colour: red\n", `f.yaml:1: unknown field "colour": use one of name, jobs, exact, sizes, hosts, page`},
		{"a field of nowhere, further in", "name: a\njobs:\n- {every: 1h}\n- colour: red\n", `f.yaml:4: unknown field "colour": use one of every`},
		{"a field that belongs further in", "name: a\nevery: 1h\n", `f.yaml:2: unknown field "every": it belongs in jobs:`},
		{"in braces", "name: a\njobs: [{every: 1h}, {colour: red}]\n", `f.yaml:2: unknown field "colour": use one of every`},
		{"a text for a list", "jobs: 1h\n", `f.yaml:1: a list belongs here, such as [a, b]`},
		{"a list for fields", "- name: a\n", `f.yaml:1: fields belong here, such as name: value`},
		{"a text for fields", "name: a\npage: blue\n", `f.yaml:2: fields belong here, such as name: value`},
		{"a letter of another encoding", "hosts: 1\nname: caf\xe9\n", `f.yaml:2: this is not UTF-8: save the file as UTF-8`},
		{"UTF-16, which is read", "\xff\xfen\x00:\x00 \x00a\x00\n\x00", `f.yaml:1: unknown field "n": use one of name, jobs, exact, sizes, hosts, page`},
		{"a text for a number", "name: a\nhosts: two\n", `f.yaml:2: hosts: "two" is not a whole number`},
		{"a repeated field", "name: a\nname: b\n", `f.yaml:2: mapping key "name" already defined at [1:1]`},
		{"a second document", "name: a\n---\nname: b\n", `f.yaml:2: a second document: a file has only one`},
		{"an empty second document", "name: a\n---\n", `f.yaml:2: a second document: a file has only one`},
		{"an empty second document without a line's end", "name: a\n---", `f.yaml:2: a second document: a file has only one`},
		{"a second document behind an end", "name: a\n...\nname: b\n", `f.yaml:2: a second document: a file has only one`},
		{"100 KB of brackets", "name: a\njobs: " + strings.Repeat("[", 100_000), `f.yaml:2: nested more than 32 deep`},
		{"100 KB of braces", "name: a\njobs: " + strings.Repeat("{", 100_000), `f.yaml:2: nested more than 32 deep`},
		{"100 KB of dashes", "name: a\njobs:\n" + strings.Repeat("- ", 50_000), `f.yaml:3: nested more than 32 deep`},
		{"100 KB of question marks", "name: a\njobs:\n" + strings.Repeat("? ", 50_000), `f.yaml:3: nested more than 32 deep`},
		{"a file that is too large", strings.Repeat("# nothing\n", 30_000), `f.yaml: it has more than 262144 bytes: is it the right file?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := strictyaml.Decode("f.yaml", []byte(c.text), &file{})
			var at *strictyaml.PositionError
			if !errors.As(err, &at) || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestAByteOrderMarkIsNoPartOfTheFirstKey(t *testing.T) {
	var f file
	if _, err := strictyaml.Decode("f.yaml", []byte("\ufeffname: a\n"), &f); err != nil || f.Name != "a" {
		t.Errorf("%v, name %q, want \"a\"", err, f.Name)
	}
}

// Salvaging a file for doctor is bounded as well.
func TestDeepNestingCostsLittle(t *testing.T) {
	var before, after runtime.MemStats
	text := []byte("jobs: " + strings.Repeat("[", 100_000))
	runtime.ReadMemStats(&before)
	_, err := strictyaml.Decode("f.yaml", text, &file{})
	if err == nil || strictyaml.Salvage(text, &file{}) {
		t.Errorf("100 KB of brackets were read: %v", err)
	}
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 200 {
		t.Errorf("%d MB for 100 KB of brackets, want at most 200", mb)
	}
}

// An alias stands for a copy of its anchor: nine lines that each name the line before nine times are half a billion copies.
func TestAliasesDoNotMultiply(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 9), ","))
	}
	for name, text := range map[string]string{
		"lists":      bomb,
		"many":       "a: &a [" + strings.Repeat("x,", 5_000) + "x]\nb: [" + strings.Repeat("*a,", 4_000) + "*a]\n",
		"merges":     strings.ReplaceAll(bomb, "[*", "[{<<: *"),
		"itself":     "a: &a [*a]\n",
		"each other": "a: &a {x: *b}\nb: &b {x: *a}\n",
	} {
		began := time.Now()
		into := map[string]any{}
		_, err := strictyaml.Decode("f.yaml", []byte(text), &into)
		if err == nil || strictyaml.Salvage([]byte(text), &into) || time.Since(began) > 5*time.Second {
			t.Errorf("%s: %v after %v", name, err, time.Since(began))
		}
	}
	into := map[string]any{}
	if _, err := strictyaml.Decode("f.yaml", []byte("a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: *a\n"), &into); err != nil {
		t.Error(err)
	}
}

func TestAMistakeOfMeaningIsFoundByItsPath(t *testing.T) {
	var f file
	d, err := strictyaml.Decode("f.yaml", []byte("name: a\nexact: 0x1.50\njobs:\n- every: 1h\n- every: 2h\nsizes:\n  big: 1\n"), &f)
	if err != nil {
		t.Fatal(err)
	}
	if f.Exact != "0x1.50" {
		t.Errorf("read %q, not what was written", f.Exact)
	}
	for _, c := range []struct {
		path []string
		want string
	}{
		{[]string{"jobs", "1", "every"}, "f.yaml:5: wrong"},
		{[]string{"jobs", "1", "cron"}, "f.yaml:5: wrong"},
		{[]string{"sizes", "big"}, "f.yaml:7: wrong"},
		{[]string{"nowhere"}, "f.yaml: wrong"},
	} {
		if err := d.Errorf(c.path, "%s", "wrong"); err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.path, err, c.want)
		}
	}
}
