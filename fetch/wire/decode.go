package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

var errNotText = errors.New("it is not UTF-8")

// Decode reads a whole body into v. What is not UTF-8 (RFC 8259, 8.1) is refused: encoding/json would replace it.
// Half of a surrogate pair, which JSON can write and UTF-8 cannot, becomes U+FFFD.
func Decode(body []byte, v any) error {
	if !utf8.Valid(body) {
		return errNotText
	}
	return json.Unmarshal(body, v)
}

// Count is nil for a count that is withheld: absent or null. One beyond int64 is refused.
func Count(field string, n json.Number) (*int64, error) {
	if n == "" {
		return nil, nil
	}
	i, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil || i < 0 {
		return nil, fmt.Errorf("%s %.40q is not a count", field, n.String())
	}
	return &i, nil
}

// FirstHTTPS is the first of the URLs that is served over https; "" where none is.
func FirstHTTPS(urls ...string) string {
	for _, u := range urls {
		if strings.HasPrefix(u, "https://") {
			return u
		}
	}
	return ""
}
