package term

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Clean makes text from an upstream safe for a terminal. It removes control and escape characters, and characters that
// are invisible or change the writing direction. Line breaks and tabs become spaces.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case r == '\u200c' || r == '\u200d': // joiners: Hindi, Tamil and emoji need them
			return r
		case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar, r == '\u2028', r == '\u2029':
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// JSONEscaper passes on whole JSON documents, one per Write. It writes as \u escapes the characters that encoding/json
// leaves unescaped although a terminal acts on them (DEL, controls from U+0080, changes of direction, invisible
// characters), so that the decoded values stay the same.
type JSONEscaper struct{ io.Writer }

func (w JSONEscaper) Write(p []byte) (int, error) {
	if _, err := w.Writer.Write(escapeJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// escapeJSON escapes those characters, which valid JSON has only within strings.
func escapeJSON(p []byte) []byte {
	if !bytes.ContainsFunc(p, needsEscape) {
		return p
	}
	out := make([]byte, 0, len(p)+len(p)/8)
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		switch {
		case !needsEscape(r):
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

// needsEscape reports whether a terminal may act on r instead of showing it. Joiners are exempt because words need
// them.
func needsEscape(r rune) bool {
	return r >= 0x7f && r != '\u200c' && r != '\u200d' && unicode.In(r, unicode.Cc, unicode.Cf)
}

// directories is a path from the root without its last part. A URL's path, as in the site's addresses under /v1/, is
// none.
var directories = regexp.MustCompile(`(^|[\s"'(=,;])/(?:[^\s"'(),:;/]+/)+([^\s"'(),:;/]+)`)

// WithoutDirectories returns a text with the names of files in place of their whole paths.
func WithoutDirectories(s string) string {
	return directories.ReplaceAllStringFunc(s, func(path string) string {
		if part := directories.FindStringSubmatch(path); !strings.HasPrefix(path[len(part[1]):], "/v1/") {
			return part[1] + part[2]
		}
		return path
	})
}
