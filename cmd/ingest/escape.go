package main

import (
	"bytes"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// escaping passes whole JSON documents on. What encoding/json leaves as it is and a terminal obeys, DEL,
// the controls from U+0080 and what turns the direction of writing or is not seen, it writes as \u
// escapes: the values stay what they are.
type escaping struct{ io.Writer }

func (w escaping) Write(p []byte) (int, error) {
	if _, err := w.Writer.Write(escapeJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// escapeJSON is p with those characters escaped; in valid JSON they are all within strings.
func escapeJSON(p []byte) []byte {
	if !bytes.ContainsFunc(p, obeyed) {
		return p
	}
	out := make([]byte, 0, len(p)+len(p)/8)
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		switch {
		case !obeyed(r):
			out = append(out, p[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		p = p[n:]
	}
	return out
}

// obeyed reports whether a terminal may do something else with r than show it. Line breaks are between the
// documents; joiners belong to words.
func obeyed(r rune) bool {
	return r >= 0x7f && r != '\u200c' && r != '\u200d' && unicode.In(r, unicode.Cc, unicode.Cf)
}
