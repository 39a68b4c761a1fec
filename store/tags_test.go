package store_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/trendvidstream/ingest/store"
)

// A stored text that is no JSON array of texts is a tag itself, so that a damaged row does not hide its video.
func TestTagsAreReadAsAJSONParserReadsThem(t *testing.T) {
	for _, stored := range []string{
		`[]`, `[""]`, `["a"]`, `["a","b c","東京"]`, `["a", "b"]`, ` ["a"]`, `["say \"hi\"","b"]`, `["\u003cb\u003e","\\"]`, `["a\",\"b"]`,
		``, `[`, `["`, `["]`, `"]`, `["a"b"]`, `["a" "b"]`, `["a","b]`, `["a",b"]`, `["a","b"`, `[1]`, `["a",1]`, `null`, "[\"a\nb\"]",
		"[\"a\xff\"]",
	} {
		var want []string
		if json.Unmarshal([]byte(stored), &want) != nil {
			want = []string{stored}
		}
		if got := store.ReadTags(stored); !slices.Equal(got, want) {
			t.Errorf("the tags %s are read as %q, want %q", stored, got, want)
		}
	}
}
