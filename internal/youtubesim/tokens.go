package youtubesim

import (
	"encoding/base64"
	"encoding/binary"
)

// pageToken returns an opaque token of the API: base64url without padding of the protocol buffer {1: offset, 2: 0 next
// | 1 previous}. CAUQAA is offset 5, CDIQAA offset 50; CAoQAQ is the page before offset 10. Seen in recorded answers,
// not documented.
func pageToken(offset int, previous bool) string {
	b := binary.AppendUvarint([]byte{0x08}, uint64(offset))
	b = append(b, 0x10, 0)
	if previous {
		b[len(b)-1] = 1
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// parsePageToken accepts exactly pageToken's results, up to the largest offset.
func parsePageToken(s string, largest int) (offset int, previous, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) < 4 || b[0] != 0x08 {
		return 0, false, false
	}
	v, n := binary.Uvarint(b[1:])
	if n <= 0 || v > uint64(largest) {
		return 0, false, false
	}
	offset, previous = int(v), b[len(b)-1] == 1
	return offset, previous, pageToken(offset, previous) == s
}

// page is the range [from, to) of a list on one page.
type page struct {
	from, to int
	next     int // offset for the next token; 0: to, if the list goes on there
}

// tokens adds the page's tokens for a list of n. An empty page has no next page, or a caller with pages of size 0 would
// never end.
func (p page) tokens(into object, n int) {
	switch {
	case p.next > 0:
		into["nextPageToken"] = pageToken(p.next, false)
	case p.to < n && p.to > p.from:
		into["nextPageToken"] = pageToken(p.to, false)
	}
	if p.from > 0 {
		into["prevPageToken"] = pageToken(p.from, true)
	}
}
