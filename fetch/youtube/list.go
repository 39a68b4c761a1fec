package youtube

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/wire"
)

const (
	// tableSize is the most that we read of a list without pages: YouTube has some 110 regions and 32
	// categories.
	tableSize = 300
	// maxToken bounds a page token, in bytes: it goes into the next request's URL and into the store.
	// The longest recorded one has 90.
	maxToken = 1 << 10
	// mostTotal bounds a total that makes sense: YouTube names no larger one.
	mostTotal = 1_000_000
)

// Why a list makes no sense.
var (
	errNotAList  = errors.New("it is not the list that was asked for")
	errTooMany   = errors.New("it lists more than was asked for")
	errNoIDs     = errors.New("nothing that it lists has an id")
	errToken     = fmt.Errorf("its next page token is longer than %d bytes", maxToken)
	errSameToken = errors.New("its next page is the page itself")

	// errAbsent is for a valid answer which says that the requested thing does not exist.
	errAbsent = errors.New("there is no such thing")
)

// list has the fields that all list responses share, as far as we read them. The array has one item more than the longest
// list may have, which shows that there are more and bounds what a hostile list can make us allocate. Items is nil
// without a list.
type list[T any] struct {
	Kind          string             `json:"kind"`
	Items         *[tableSize + 1]*T `json:"items"`
	NextPageToken string             `json:"nextPageToken"`
	PageInfo      struct {
		TotalResults wire.Number `json:"totalResults"`
	} `json:"pageInfo"`
}

// listed is the content of a whole answer.
type listed[T any] struct {
	items []*T
	next  string // the next page's token
	total int    // results in all, a guess; 0: it does not say
	odd   ingest.Odd
}

// readList is readListed for those who need no total.
func readList[T any](body []byte, most int, kind string) (items []*T, next string, odd ingest.Odd, err error) {
	l, err := readListed[T](body, most, kind)
	return l.items, l.next, l.odd, err
}

// readListed returns the items of a whole answer, at most that many, the next page's token, and what was odd and left
// out of the items. Null items are left out. A list may be empty; an answer without a list, or with more items than
// were asked for, is refused as a whole, so that nothing half-understood is kept. If kind is not "", an answer of that
// kind without a list has no items: some methods leave an empty list out [seen, channels.list].
func readListed[T any](body []byte, most int, kind string) (out listed[T], err error) {
	var l list[T]
	if err := wire.Decode(body, &l); err != nil {
		var raw list[json.RawMessage]
		if json.Unmarshal(body, &raw) != nil || raw.Items == nil {
			return out, fmt.Errorf("%w: %w", errNotAList, err)
		}
		l = list[T]{Kind: raw.Kind, Items: new([tableSize + 1]*T), NextPageToken: raw.NextPageToken, PageInfo: raw.PageInfo}
		out.odd = wire.Items(raw.Items[:], l.Items[:])
	}
	switch {
	case l.Items == nil && (kind == "" || l.Kind != kind):
		return listed[T]{}, errNotAList
	case l.Items == nil:
		return listed[T]{}, nil
	case len(slices.DeleteFunc(l.Items[most:], isNil)) > 0:
		return listed[T]{}, errTooMany
	case len(l.NextPageToken) > maxToken:
		return listed[T]{}, errToken
	}
	out.items, out.next = slices.DeleteFunc(l.Items[:most], isNil), l.NextPageToken
	if total := wire.Count("pageInfo.totalResults", l.PageInfo.TotalResults, new(ingest.Odd)); total != nil {
		out.total = int(min(*total, mostTotal))
	}
	return out, nil
}

func isNil[T any](item *T) bool { return item == nil }

// checkNextToken refuses an answer whose next page is the page at token itself: following it would pay for the same
// page indefinitely. A longer cycle ends where the caller's number of pages does.
func checkNextToken(token, next string) error {
	if next != "" && next == token {
		return errSameToken
	}
	return nil
}

// statistics are JSON strings of digits; "" means that it was not in the answer.
type statistics struct {
	ViewCount    wire.Number `json:"viewCount"`
	LikeCount    wire.Number `json:"likeCount"`
	CommentCount wire.Number `json:"commentCount"`
}

// counts returns nil for a count that is withheld or malformed.
func (s *statistics) counts(odd *ingest.Odd) (views, likes, comments *int64) {
	return wire.Count("statistics.viewCount", s.ViewCount, odd),
		wire.Count("statistics.likeCount", s.LikeCount, odd),
		wire.Count("statistics.commentCount", s.CommentCount, odd)
}
