// Package plaintext reads texts as people's programs save them: in UTF-8, or in UTF-16 with its mark or beginning
// with ASCII, with the line ends of Unix, Windows or old Macs.
package plaintext

import (
	"bufio"
	"bytes"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// NewReader returns the text of r in UTF-8, without a byte order mark, its lines ended by \n. Bytes that are no UTF-8
// stay as they are, unless r has a mark.
func NewReader(r io.Reader) io.Reader {
	text := bufio.NewReader(r)
	var unmarked transform.Transformer = transform.Nop
	if begin, _ := text.Peek(4); len(begin) == 4 { // an error comes again
		switch zero := [4]bool{begin[0] == 0, begin[1] == 0, begin[2] == 0, begin[3] == 0}; zero {
		case [4]bool{false, true, false, true}:
			unmarked = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder()
		case [4]bool{true, false, true, false}:
			unmarked = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder()
		}
	}
	return transform.NewReader(text, transform.Chain(unicode.BOMOverride(unmarked), &lineEnds{}))
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
