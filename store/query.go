package store

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
)

// Order is the order of a search's hits.
type Order string

// The orders. Each applies to all matches; ties go by popularity: see keys.
const (
	ByRelevance Order = ""          // best score first
	ByViews     Order = "views"     // most views first
	ByFreshness Order = "freshness" // last seen first, then last published
	ByRise      Order = "rise"      // most views gained between the last two sightings in one chart
)

// DefaultLimit is the limit of a query that names none.
const DefaultLimit = 20

// SearchQuery is a search of the stored videos, at no quota: words and filters. A zero field excludes nothing.
type SearchQuery struct {
	Text     string        // see text.Parse: words, "phrases", prefix*, -not, channel:, tag:
	Region   ingest.Region // only videos in this region's stored charts
	Category string
	MinViews int64
	Length   ingest.Length

	PublishedSince, PublishedUntil time.Time // only videos published within [since, until)
	SeenSince                      time.Time // only videos seen since then: see schema.sql

	Order Order
	Limit int    // 0: DefaultLimit
	Tally bool   // also count the results that each filter would leave
	After string // Result.Next of the previous page; "" is the first page

	// At is the base of relative times in the query, in whole seconds. The cursor keeps it; only a tally uses it.
	At time.Time
}

// picky reports whether a filter other than the region may leave few matches.
func (q SearchQuery) picky() bool {
	return q.Category != "" || q.MinViews > 0 || q.Length != (ingest.Length{}) || !q.PublishedSince.IsZero() ||
		!q.PublishedUntil.IsZero() || !q.SeenSince.IsZero()
}

// hash identifies the query without limit and cursor. Words count as typed, as they do for the score.
func (q SearchQuery) hash() uint32 {
	h := newHash().texts(strings.Join(strings.Fields(q.Text), " "), string(q.Region), q.Category, string(q.Order)).
		numbers(q.MinViews, int64(q.Length.Min), int64(q.Length.Max))
	for _, t := range []time.Time{q.PublishedSince, q.PublishedUntil, q.SeenSince} {
		h = h.numbers(t.UnixMilli())
	}
	return uint32(h ^ h>>32)
}

// Filtered reports whether the query has a filter.
func (q SearchQuery) Filtered() bool { return q.Region != "" || q.picky() }

// ErrCursor is returned for a SearchQuery.After that is not from a search with this query.
var ErrCursor = errors.New("it is not a cursor of this search: " +
	"take next from its last page, and leave the query, the filters and the order as they were")

// cursor is where a page ended, and the scope of its search. Later pages ignore newer videos,
// charts and counts, except counts that no chart brought, as by a backfill.
type cursor struct {
	Of    uint32 // the query
	At    int64  // SearchQuery.At, in seconds; 0 for none
	Seen  int64  // in milliseconds: videos seen later keep older counts
	Video int64  // newest videos.id that counts
	Slot  int64  // newest slots.id that counts

	Last position // of the last hit
}

// position is a candidate's place in a result: greater keys come first, and of equal ones the smaller id.
type position struct {
	Key [3]float64
	ID  int64 // videos.id
}

// compare returns a negative number if p comes before o in a result, and a positive one if it comes after.
func (p position) compare(o position) int {
	for i := range p.Key {
		if p.Key[i] != o.Key[i] {
			return cmp.Compare(o.Key[i], p.Key[i])
		}
	}
	return cmp.Compare(p.ID, o.ID)
}

// cursorForm is the first byte of a cursor; every new format gets a new number.
const cursorForm = 2

// text encodes the cursor: its fields and a checksum, in base64url.
func (c cursor) text() string {
	var b bytes.Buffer
	b.WriteByte(cursorForm)
	_ = binary.Write(&b, binary.BigEndian, c) // cannot fail: a buffer, and fixed-size fields
	_ = binary.Write(&b, binary.BigEndian, crc32.ChecksumIEEE(b.Bytes()))
	return base64.RawURLEncoding.EncodeToString(b.Bytes())
}

// readCursor decodes a cursor that text encoded.
func readCursor(text string) (c cursor, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != 1+binary.Size(c)+4 || b[0] != cursorForm {
		return cursor{}, ErrCursor
	}
	body := b[:len(b)-4]
	if _, err := binary.Decode(body[1:], binary.BigEndian, &c); err != nil ||
		crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(b[len(body):]) {
		return cursor{}, ErrCursor
	}
	return c, nil
}

// CursorAt returns the SearchQuery.At of the cursor's search, zero if it had none: a later page counts "since
// yesterday" from then.
func CursorAt(after string) (time.Time, error) {
	c, err := readCursor(after)
	if err != nil || c.At == 0 {
		return time.Time{}, err
	}
	return time.Unix(c.At, 0).UTC(), nil
}

// start returns the cursor to continue from; a first page's cursor has only the query's hash and the time.
func (q SearchQuery) start(now time.Time) (cursor, error) {
	if q.After == "" {
		c := cursor{Of: q.hash(), Seen: now.UnixMilli()}
		if !q.At.IsZero() {
			c.At = q.At.Unix()
		}
		return c, nil
	}
	c, err := readCursor(q.After)
	if err == nil && c.Of != q.hash() {
		err = ErrCursor
	}
	return c, err
}
