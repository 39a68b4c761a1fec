package store

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"math"
	"strings"
	"time"
)

// ErrCursor is returned for a Query.After that no search with this query has given.
var ErrCursor = errors.New("it is not a cursor of this search: take next from its last page, and leave the query, the filters and the order as they were")

// cursor is where a page ended, and what its search looked at. Later pages look at the same: videos and
// charts that come in between do not count. What changes of a known video does, so one whose views grow
// past the cursor's is not found twice, but may be missed.
type cursor struct {
	of    uint32 // the query
	at    int64  // Query.At, in seconds; 0 for none
	video int64  // the newest videos.id, and
	slot  int64  // the newest slots.id, that count

	key [2]float64 // of the last hit; the second number is whole
	id  string     // its video id
}

// cursorForm is the first byte of a cursor; another form gets another.
const cursorForm = 1

// text is the cursor as a user carries it: its fields and a checksum, in base64url.
func (c cursor) text() string {
	b := binary.BigEndian.AppendUint32([]byte{cursorForm}, c.of)
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(c.key[0]))
	for _, n := range []int64{int64(c.key[1]), c.at, c.video, c.slot} {
		b = binary.AppendVarint(b, n)
	}
	b = append(b, c.id...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// readCursor reads what text wrote.
func readCursor(text string) (cursor, error) {
	const head, foot = 1 + 4 + 8, 4
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) <= head+foot || b[0] != cursorForm {
		return cursor{}, ErrCursor
	}
	body := b[:len(b)-foot]
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(b[len(body):]) {
		return cursor{}, ErrCursor
	}
	c := cursor{of: binary.BigEndian.Uint32(body[1:])}
	c.key[0] = math.Float64frombits(binary.BigEndian.Uint64(body[5:]))
	var second int64
	rest := body[head:]
	for _, n := range []*int64{&second, &c.at, &c.video, &c.slot} {
		value, size := binary.Varint(rest)
		if size <= 0 {
			return cursor{}, ErrCursor
		}
		*n, rest = value, rest[size:]
	}
	c.key[1], c.id = float64(second), string(rest)
	return c, nil
}

// CursorAt is the Query.At of the search that gave the cursor, zero where it had none: a later page counts
// "since yesterday" from then, not from now.
func CursorAt(after string) (time.Time, error) {
	c, err := readCursor(after)
	if err != nil || c.at == 0 {
		return time.Time{}, err
	}
	return time.Unix(c.at, 0).UTC(), nil
}

// hash tells queries apart; the limit and the cursor are not part of one. The words
// count as they were typed, as for the score.
func (q Query) hash() uint32 {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%q %q %q %q %d", strings.Fields(q.Text), q.Region, q.Category, q.Order, q.MinViews)
	for _, t := range []time.Time{q.PublishedSince, q.PublishedUntil, q.SeenSince} {
		_, _ = fmt.Fprintf(h, " %d", millis(t).Int64)
	}
	return h.Sum32()
}

// covers reports whether a hit stood on an earlier page.
func (c cursor) covers(key [2]float64, id string) bool {
	return compareKeys(key, id, c.key, c.id) <= 0
}
