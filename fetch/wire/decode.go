package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/trendvidstream/ingest"
)

// maxItems bounds every list: no page has more, and YouTube has some 110 regions and 32 categories.
const maxItems = 300

// Why a list makes no sense.
var (
	ErrNotAList = errors.New("it is not the list that was asked for")
	ErrTooMany  = errors.New("it lists more than was asked for")
	ErrNoIDs    = errors.New("nothing that it lists has an id")
)

// List is a list of an answer. The array has room for one item more than the longest list may have, which reveals a
// longer list and bounds the memory that a hostile one takes.
//
// If a list cannot be decoded, its items are decoded one by one. A field of the wrong type is treated as absent; of
// several in an item, only the first is counted. An item that is not an object counts as "id", as it has none. An
// answer with text that is not UTF-8 (RFC 8259, 8.1), which encoding/json would replace, breaks too. Half of a
// surrogate pair, which JSON can write and UTF-8 cannot, becomes U+FFFD.
type List[T any] struct {
	all       *[maxItems + 1]*T // nil: there is no list
	malformed ingest.Malformed
}

// UnmarshalJSON implements json.Unmarshaler. It never fails: Items reports a value that is not a list.
func (l *List[T]) UnmarshalJSON(b []byte) error {
	if b[0] != '[' {
		return nil
	}
	l.all = new([maxItems + 1]*T)
	if utf8.Valid(b) && json.Unmarshal(b, l.all) == nil {
		return nil
	}
	var raw [maxItems + 1]*json.RawMessage
	_ = json.Unmarshal(b, &raw) // it is a list
	for i := range raw {
		if l.all[i] = nil; raw[i] != nil {
			l.all[i] = decodeItem[T](*raw[i], &l.malformed)
		}
	}
	return nil
}

// Absent reports whether the answer has no list, not even an empty one.
func (l *List[T]) Absent() bool { return l.all == nil }

// Items returns the items without nulls, and counts of the items that were left out of them. A list of more than most
// items is refused as a whole.
func (l *List[T]) Items(most int) ([]*T, ingest.Malformed, error) {
	isNil := func(item *T) bool { return item == nil }
	switch {
	case l.all == nil:
		return nil, nil, ErrNotAList
	case len(slices.DeleteFunc(l.all[most:], isNil)) > 0:
		return nil, nil, ErrTooMany
	}
	return slices.DeleteFunc(l.all[:most], isNil), l.malformed, nil
}

// decodeItem decodes one item of a list, without its wrong fields.
func decodeItem[T any](raw json.RawMessage, malformed *ingest.Malformed) *T {
	item := new(T)
	if !utf8.Valid(raw) {
		malformed.Count("text that is not UTF-8")
		return item
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](json.Unmarshal(raw, item)); ok {
		malformed.Count(cmp.Or(wrong.Field, "id"))
	}
	return item
}

// Keep returns the items converted by read, and counts those without an id as left out. Duplicates are kept. A list
// without any id is refused.
func Keep[T, V any](items []*T, malformed *ingest.Malformed,
	read func(*T, *ingest.Malformed) (v V, ok bool)) ([]V, error) {
	kept := slices.Grow([]V(nil), len(items))
	for _, item := range items {
		if v, ok := read(item, malformed); ok {
			kept = append(kept, v)
		}
	}
	if len(items) > 0 && len(kept) == 0 {
		return nil, ErrNoIDs
	}
	malformed.LeftOut(len(items) - len(kept))
	return kept, nil
}

// Number is a JSON number, or a string that holds one, as written; "" if it is absent or null. Anything else fails
// when it is parsed.
type Number string

// UnmarshalJSON implements json.Unmarshaler. It never fails, so that one malformed number does not lose the page.
func (n *Number) UnmarshalJSON(b []byte) error {
	text := string(b)
	if text == "null" {
		return nil
	}
	if inner := strings.Trim(text, `"`); inner != "" && len(inner) == len(text)-2 {
		text = inner
	}
	*n = Number(text)
	return nil
}

// Count returns a count; nil if it is withheld, that is, absent or null. Anything but a number from 0 to MaxInt64 is
// counted as malformed, and nil too.
func Count(field string, n Number, malformed *ingest.Malformed) *int64 {
	if n == "" {
		return nil
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil || i < 0 {
		malformed.Count(field)
		return nil
	}
	return &i
}

// maxTexts bounds the JSON of a list of texts, in bytes: decoding nothing but commas would take many times the memory.
// YouTube limits the tags of a video to 500 characters (developers.google.com/youtube/v3/docs/videos#snippet.tags[]).
const maxTexts = 64 << 10

// Texts is a list of texts and numbers as written, without nulls and empty texts.
type Texts struct {
	List      []string
	Malformed bool // malformed, and so left out
}

// UnmarshalJSON implements json.Unmarshaler. It never fails, so that the rest of the item is read.
func (t *Texts) UnmarshalJSON(b []byte) error {
	if len(b) > maxTexts {
		t.Malformed = true
		return nil
	}
	if json.Unmarshal(b, &t.List) != nil {
		var all []any
		numbers := json.NewDecoder(bytes.NewReader(b))
		numbers.UseNumber()
		t.Malformed = numbers.Decode(&all) != nil
		t.List = nil
		for _, one := range all {
			switch one := one.(type) {
			case string:
				t.List = append(t.List, one)
			case json.Number:
				t.List = append(t.List, one.String())
			default:
				t.Malformed = t.Malformed || one != nil
			}
		}
	}
	if t.List = slices.DeleteFunc(t.List, func(s string) bool { return s == "" }); len(t.List) == 0 || t.Malformed {
		t.List = nil
	}
	return nil
}

// maxTitle bounds a title, in characters. YouTube's own limit is 100
// (developers.google.com/youtube/v3/docs/videos#snippet.title).
const maxTitle = 1000

// Title returns a title, cut if it is longer than any real one.
func Title(s string) string {
	n := 0
	for i := range s {
		if n == maxTitle {
			return s[:i]
		}
		n++
	}
	return s
}

// FirstHTTPS returns the first https URL; "" if there is none.
func FirstHTTPS(urls ...string) string {
	for _, u := range urls {
		if strings.HasPrefix(u, "https://") {
			return u
		}
	}
	return ""
}
