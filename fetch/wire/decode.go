package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/trendvidstream/ingest"
)

var errNotText = errors.New("it is not UTF-8")

// Decode reads a whole body into v. It refuses invalid UTF-8 (RFC 8259, 8.1), which encoding/json would replace.
// Half of a surrogate pair, which JSON can write and UTF-8 cannot, becomes U+FFFD.
func Decode(body []byte, v any) error {
	if !utf8.Valid(body) {
		return errNotText
	}
	return json.Unmarshal(body, v)
}

// Items decodes the items of a list one by one, after the whole list could not be decoded. A field of the wrong type,
// or a text that is not UTF-8, is treated as absent. Of an item with several, only the first that encoding/json meets
// is counted; an item that is not an object counts as "id", since it has none.
func Items[T any](from []*json.RawMessage, to []*T) (odd ingest.Odd) {
	for i, raw := range from {
		if raw == nil {
			continue
		}
		clean, field := dropInvalidUTF8(*raw)
		to[i] = new(T)
		wrong, _ := errors.AsType[*json.UnmarshalTypeError](json.Unmarshal(clean, to[i]))
		if wrong != nil {
			field = cmp.Or(wrong.Field, "id")
		}
		if field != "" {
			odd.Count(field)
		}
	}
	return odd
}

// dropInvalidUTF8 replaces each string of a JSON text that is not UTF-8: a name by "", a value by null. what is "" if
// there was none.
func dropInvalidUTF8(raw []byte) (clean []byte, what string) {
	if utf8.Valid(raw) {
		return raw, ""
	}
	for rest := raw; len(rest) > 0; {
		begin := bytes.IndexByte(rest, '"')
		if begin < 0 {
			return append(clean, rest...), "text that is not UTF-8"
		}
		end := begin + 1
		for end < len(rest)-1 && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		clean = append(clean, rest[:begin]...)
		text, after := rest[begin:end+1], bytes.TrimLeft(rest[end+1:], " \t\r\n")
		switch {
		case utf8.Valid(text):
			clean = append(clean, text...)
		case bytes.HasPrefix(after, []byte(":")):
			clean = append(clean, `""`...)
		default:
			clean = append(clean, "null"...)
		}
		rest = rest[end+1:]
	}
	return clean, "text that is not UTF-8"
}

// Number is a JSON number, or a string that holds one, as it was written; "" if it is absent or null. Anything else is
// found out when it is parsed.
type Number string

// UnmarshalJSON implements json.Unmarshaler. It never fails: one odd number is no reason to lose a page.
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

// Count returns a count; nil if it is withheld: absent or null. What is not a count, or is beyond int64, is odd, and
// nil too.
func Count(field string, n Number, odd *ingest.Odd) *int64 {
	if n == "" {
		return nil
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil || i < 0 {
		odd.Count(field)
		return nil
	}
	return &i
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

// FirstHTTPS returns the first of the URLs that is served over https; "" if none is.
func FirstHTTPS(urls ...string) string {
	for _, u := range urls {
		if strings.HasPrefix(u, "https://") {
			return u
		}
	}
	return ""
}
