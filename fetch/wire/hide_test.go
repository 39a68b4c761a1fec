package wire_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/wire"
)

func TestAKeyIsTakenOutOfAnAnswerThatRepeatsIt(t *testing.T) {
	tr, srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"title":"it is %s"}`, r.Header.Get("X-Key"))
	})
	if a := get(t.Context(), tr); a.Err != nil || string(a.Body) != `{"title":"it is ***"}` {
		t.Errorf("%q, %v, want \"{\\\"title\\\":\\\"it is ***\\\"}\"", a.Body, a.Err)
	}
	short := wire.NewTransport(base(t, srv.URL), wire.Headers{KeyName: "X-Key", Key: ingest.NewSecret("title")})
	t.Cleanup(short.Close)
	if a := get(t.Context(), short); a.Err != nil || string(a.Body) != `{"title":"it is title"}` {
		t.Errorf("a key that is too short to be one: %q, %v, want \"{\\\"title\\\":\\\"it is title\\\"}\"", a.Body, a.Err)
	}
}

func TestAKeyIsFoundHoweverJSONSpellsIt(t *testing.T) {
	const odd = `it's "0dd" \ </secret>&`
	quoted, err := json.Marshal(odd)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ key, body, want string }{
		"plain":                     {canary, canary, "***"},
		"twice":                     {canary, "a" + canary + canary + "b", "a******b"},
		"after its beginning":       {canary, canary[:9] + canary, canary[:9] + "***"},
		"escaped":                   {canary, strings.ReplaceAll(canary, "_", `\u005f`), "***"},
		"escaped, 5F":               {canary, strings.ReplaceAll(canary, "_", `\u005F`), "***"},
		"first escaped":             {canary, `\u0043` + canary[1:], "***"},
		"behind a backslash":        {canary, `\\` + canary, `\\***`},
		"by an encoder":             {odd, string(quoted), `"***"`},
		"with slashes escaped":      {odd, strings.ReplaceAll(string(quoted), "/", `\/`), `"***"`},
		"with invisible characters": {canary, canary[:5] + "\u200b\u2060" + canary[5:], "***"},
		"the same, escaped":         {canary, canary[:5] + `\u200B\udb40\udc41` + canary[5:], "***"},
		"in other cases":            {canary, strings.ToLower(canary), "***"},
		"with spaces":               {canary, canary[:5] + "  " + canary[5:], "***"},
		"not quite":                 {canary, canary[:len(canary)-1] + "x", canary[:len(canary)-1] + "x"},
		"cut":                       {canary, canary[:len(canary)-1], canary[:len(canary)-1]},
		"cut in an escape":          {canary, canary[:17] + `\u00`, canary[:17] + `\u00`},
		"not ASCII":                 {canary, canary[:17] + `\u015f` + canary[18:], canary[:17] + `\u015f` + canary[18:]},
		"none":                      {"", "a", "a"},
		"no body":                   {canary, "", ""},
	}
	for name, tt := range tests {
		if got := string(wire.Hide(tt.key, []byte(tt.body))); got != tt.want {
			t.Errorf("%s: %q becomes %q, want %q", name, tt.body, got, tt.want)
		}
	}
}

// FuzzHide: whatever is decoded from an answer holds no key, and nothing but the key changes.
func FuzzHide(f *testing.F) {
	f.Add([]byte(`{"title":"` + canary + `"}`))
	f.Add([]byte(`["\\\u0043` + canary[1:] + `\"",7]`))
	f.Add([]byte(canary[:5] + canary))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := string(wire.Hide(canary, body))
		var decoded any
		if json.Unmarshal([]byte(got), &decoded) == nil && strings.Contains(fmt.Sprint(decoded), canary) {
			t.Errorf("%q becomes %q", body, got)
		}
		if !strings.Contains(got, "***") && got != string(body) {
			t.Errorf("%q becomes %q", body, got)
		}
	})
}
