// Package plaintext reads texts as people's programs save them: in UTF-8, or in UTF-16 with its mark, with the line
// ends of Unix, Windows or old Macs.
package plaintext

import (
	"bytes"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// NewReader returns the text of r in UTF-8, without a byte order mark, its lines ended by \n. Bytes that are no UTF-8
// stay as they are, unless r has a mark.
func NewReader(r io.Reader) io.Reader {
	return transform.NewReader(r, transform.Chain(unicode.BOMOverride(transform.Nop), &lineEnds{}))
}

// Decode is NewReader for a text in memory. Wrong bytes after the mark of UTF-8 stay as they are.
func Decode(text []byte) []byte {
	out, err := io.ReadAll(NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff")))))
	if err != nil {
		return text // half a character of UTF-16
	}
	return out
}

// lineEnds is a transformer that ends lines with \n.
type lineEnds struct {
	cr bool // the last byte was \r, which a \n may follow
}

func (l *lineEnds) Reset() { l.cr = false }

func (l *lineEnds) Transform(dst, src []byte, _ bool) (nDst, nSrc int, err error) {
	for ; nSrc < len(src); nSrc++ {
		c := src[nSrc]
		if c == '\n' && l.cr {
			l.cr = false
			continue
		}
		if nDst == len(dst) {
			return nDst, nSrc, transform.ErrShortDst
		}
		if l.cr = c == '\r'; l.cr {
			c = '\n'
		}
		dst[nDst] = c
		nDst++
	}
	return nDst, nSrc, nil
}
