package youtube

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/trendvidstream/ingest/fetch/wire"
)

const (
	// tableSize is the most that we read of a list without pages: YouTube has some 110 regions and 32
	// categories.
	tableSize = 300
	// maxToken bounds a page token, in bytes: it goes into the next request's URL and into the store.
	// The longest recorded one has 90.
	maxToken = 1 << 10
)

// What makes no sense in a list.
var (
	errNotAList  = errors.New("it is not the list that was asked for")
	errTooMany   = errors.New("it lists more than was asked for")
	errToken     = fmt.Errorf("its next page token is longer than %d bytes", maxToken)
	errSameToken = errors.New("its next page is the page itself")

	// errAbsent is for an answer that makes sense and says that there is no such thing.
	errAbsent = errors.New("there is no such thing")
)

// list is what all list responses have in common, as far as we read it. The array holds one item more
// than the longest list may have: it shows that there are more, and what a hostile list can make us
// allocate ends with it. Items is nil without a list.
type list[T any] struct {
	Kind          string             `json:"kind"`
	Items         *[tableSize + 1]*T `json:"items"`
	NextPageToken string             `json:"nextPageToken"`
}

// readList is the items of a whole answer, at most so many, and the next page's token. Items that
// are null are left out. A list with no items is a list; anything without one, with more than was asked for, or with a
// field of another type is an error for the whole answer, so that nothing half-understood is kept. Where
// kind is not "", an answer of that kind without a list has no items: some methods leave an empty list
// out [seen, channels.list].
func readList[T any](body []byte, most int, kind string) (items []*T, next string, err error) {
	var l list[T]
	if err := wire.Decode(body, &l); err != nil {
		return nil, "", fmt.Errorf("%w: %w", errNotAList, err)
	}
	switch {
	case l.Items == nil && (kind == "" || l.Kind != kind):
		return nil, "", errNotAList
	case l.Items == nil:
		return nil, "", nil
	case len(slices.DeleteFunc(l.Items[most:], isNil)) > 0:
		return nil, "", errTooMany
	case len(l.NextPageToken) > maxToken:
		return nil, "", errToken
	}
	return slices.DeleteFunc(l.Items[:most], isNil), l.NextPageToken, nil
}

func isNil[T any](item *T) bool { return item == nil }

// onward refuses an answer to token whose next page is that of token again: whoever follows would pay
// for the same page indefinitely. A longer circle ends where the caller's number of pages does.
func onward(token, next string) error {
	if next != "" && next == token {
		return errSameToken
	}
	return nil
}

// statistics are JSON strings of digits; one that is "" was not in the answer.
type statistics struct {
	ViewCount    json.Number `json:"viewCount"`
	LikeCount    json.Number `json:"likeCount"`
	CommentCount json.Number `json:"commentCount"`
}

// counts are nil where they are withheld.
func (s *statistics) counts() (views, likes, comments *int64, err error) {
	views, err = wire.Count("viewCount", s.ViewCount)
	if err == nil {
		likes, err = wire.Count("likeCount", s.LikeCount)
	}
	if err == nil {
		comments, err = wire.Count("commentCount", s.CommentCount)
	}
	return views, likes, comments, err
}
