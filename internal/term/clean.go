package term

import (
	"strings"
	"unicode"
)

// Clean makes text from an upstream safe for a terminal. It removes control and escape characters, and characters
// that change the direction of writing or are invisible; line breaks and tabs become spaces.
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
