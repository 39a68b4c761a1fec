package wire

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// minKey is the least length in bytes of a key that is searched for in answers. Google's have 39; a shorter one,
// which only a stand-in accepts, would be found inside other words.
const minKey = 16

// hideKey returns text with every copy of the key replaced by "***". It ignores case, and finds the key in any JSON
// spelling ("\u0041" is "A": RFC 8259, section 7) and with spaces or non-ASCII characters in between, since printing
// removes some of these and would reassemble the key.
func hideKey(key string, text []byte) []byte {
	if key == "" {
		return text
	}
	var clean []byte
	kept := 0 // everything before it is in clean
	for i := 0; i < len(text); {
		n := 0
		if lower(text[i]) == lower(key[0]) || text[i] == '\\' { // every spelling of the key begins so
			n = matchSpelling(text[i:], key)
		}
		if n == 0 {
			i++
			continue
		}
		clean = append(append(clean, text[kept:i]...), "***"...)
		i += n
		kept = i
	}
	if kept == 0 {
		return text
	}
	return append(clean, text[kept:]...)
}

// matchSpelling returns how many bytes at the beginning of b spell s; 0 if they do not.
func matchSpelling(b []byte, s string) int {
	n := 0
	for i := 0; i < len(s); {
		c, size := decodeByte(b[n:])
		switch {
		case size > 0 && lower(c) == lower(s[i]):
			i++
		case size == 0 || i == 0 || c != ' ' && c < utf8.RuneSelf:
			return 0
		}
		n += size
	}
	return n
}

// decodeByte returns the first character of b and how many bytes spell it: 0 if b is empty or ends in an escape. A
// character that is not ASCII gives a byte that is not either.
func decodeByte(b []byte) (c byte, size int) {
	switch {
	case len(b) == 0:
		return 0, 0
	case b[0] != '\\' || len(b) == 1:
		return b[0], 1
	case b[1] == 'u' && len(b) >= len(`\u0041`):
		u, err := strconv.ParseUint(string(b[2:6]), 16, 16)
		if err != nil {
			return 0, 0
		}
		return byte(min(u, 0xff)), 6
	case strings.IndexByte(`"\/`, b[1]) >= 0:
		return b[1], 2
	}
	return b[0], 1
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
