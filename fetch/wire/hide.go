package wire

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// minKey is the length in bytes from which a key is looked for in answers. Google's have 39; a shorter one, which only
// a stand-in accepts, would be found inside other words.
const minKey = 16

// hideKey returns a body with "***" in place of every copy of the key that the upstream sent back, and otherwise
// unchanged. It finds the key however JSON spells it, "\u0041" being "A" (RFC 8259, section 7), and with format
// characters in between.
func hideKey(key string, body []byte) []byte {
	if len(key) < minKey {
		return body
	}
	var clean []byte
	kept := 0 // everything before it is in clean
	for i := 0; i < len(body); {
		n := 0
		if body[i] == key[0] || body[i] == '\\' { // no spelling of the key begins otherwise
			n = matchEscaped(body[i:], key)
		}
		if n == 0 {
			i++
			continue
		}
		clean = append(append(clean, body[kept:i]...), "***"...)
		i += n
		kept = i
	}
	if kept == 0 {
		return body
	}
	return append(clean, body[kept:]...)
}

// matchEscaped returns how many bytes at the head of b spell s; 0 if they do not.
func matchEscaped(b []byte, s string) int {
	n := 0
	for i := range len(s) {
		for i > 0 {
			size := invisibleLen(b[n:])
			if size == 0 {
				break
			}
			n += size
		}
		c, size := decodeByte(b[n:])
		if size == 0 || c != s[i] {
			return 0
		}
		n += size
	}
	return n
}

// decodeByte returns the character that b begins with, and how many bytes spell it: 0 if there is none, or if it is an
// escape of one that is not ASCII.
func decodeByte(b []byte) (c byte, size int) {
	switch {
	case len(b) == 0:
		return 0, 0
	case b[0] != '\\' || len(b) == 1:
		return b[0], 1
	case b[1] == 'u' && len(b) >= len(`\u0041`):
		u, err := strconv.ParseUint(string(b[2:6]), 16, 7)
		if err != nil {
			return 0, 0
		}
		return byte(u), 6
	case strings.IndexByte(`"\/`, b[1]) >= 0:
		return b[1], 2
	}
	return b[0], 1
}

// invisibleLen returns how many bytes at the head of b spell a character that no screen shows, raw or escaped; 0 if
// they do not. Printing such text removes these characters, and would put a key together again.
func invisibleLen(b []byte) int {
	if len(b) == 0 || b[0] < utf8.RuneSelf && b[0] != '\\' {
		return 0
	}
	if r, size := utf8.DecodeRune(b); size > 1 {
		if unicode.Is(unicode.Cf, r) {
			return size
		}
		return 0
	}
	unit := func(b []byte) rune {
		if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
			return -1
		}
		u, err := strconv.ParseUint(string(b[2:6]), 16, 16)
		if err != nil {
			return -1
		}
		return rune(u)
	}
	r, size := unit(b), 6
	if utf16.IsSurrogate(r) {
		r, size = utf16.DecodeRune(r, unit(b[6:])), 12
	}
	if unicode.Is(unicode.Cf, r) {
		return size
	}
	return 0
}
