package wire

import (
	"strconv"
	"strings"
)

// minKey is how long a key must be, in bytes, to be looked for in answers: Google's have 39, and a shorter
// one, which only a stand-in takes, is found in other words.
const minKey = 16

// hide is a body with "***" in place of a key that the upstream repeats: what an answer says is kept as it
// comes. The key is found however JSON spells it: "\u0041" is "A" (RFC 8259, section 7).
func hide(key string, body []byte) []byte {
	if len(key) < minKey {
		return body
	}
	var clean []byte
	kept := 0 // all before it is in clean
	for i := 0; i < len(body); {
		n := spelt(body[i:], key)
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

// spelt is how many bytes at the head of b spell s; 0 when they do not.
func spelt(b []byte, s string) int {
	n := 0
	for i := range len(s) {
		c, size := head(b[n:])
		if size == 0 || c != s[i] {
			return 0
		}
		n += size
	}
	return n
}

// head is the character that b begins with, and how many bytes spell it: 0 where there is none, or an escape
// of one that is not ASCII.
func head(b []byte) (c byte, size int) {
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
