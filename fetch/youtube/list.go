package youtube

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/wire"
)

const (
	// tableSize bounds a list without pages: YouTube has 32 categories.
	tableSize = 300
	// maxToken bounds a page token, in bytes: it goes into the next request's URL and into the store.
	// The longest recorded one has 90.
	maxToken = 1 << 10
	// mostTotal bounds a total: YouTube names no larger one.
	mostTotal = 1_000_000
)

// anID matches an id of a video in an answer, even if YouTube's ids become longer than VideoID.
var anID = regexp.MustCompile(`^[-_0-9A-Za-z]{1,64}$`)

var (
	errToken     = fmt.Errorf("its next page token is longer than %d bytes", maxToken)
	errSameToken = errors.New("its next page is the page itself")
)

// list has the fields of all list responses that we read.
type list[T any] struct {
	Kind     string       `json:"kind"`
	Error    *struct{}    `json:"error"`
	Items    wire.List[T] `json:"items"`
	Next     string       `json:"nextPageToken"`
	PageInfo struct {
		TotalResults wire.Number `json:"totalResults"`
	} `json:"pageInfo"`
}

// readList reads a whole answer of at most most items. If kind is not "", an answer of that kind may lack the list:
// some methods leave an empty list out [seen, channels.list].
func readList[T any](body []byte, most int, kind string) (l list[T], items []*T,
	malformed ingest.Malformed, err error) {
	err = json.Unmarshal(body, &l)
	switch {
	case err != nil:
		return l, nil, nil, fmt.Errorf("%w: %w", wire.ErrNotAList, err)
	case l.Error != nil:
		return l, nil, nil, wire.ErrNotAList
	case l.Items.Absent() && kind != "" && l.Kind == kind:
		return l, nil, nil, nil
	case len(l.Next) > maxToken:
		return l, nil, nil, errToken
	}
	items, malformed, err = l.Items.Items(most)
	return l, items, malformed, err
}

// checkNextToken refuses an answer whose next page is the page at token itself, as following it would pay for the same
// page forever. The caller's number of pages ends longer cycles.
func checkNextToken(token, next string) error {
	if next != "" && next == token {
		return errSameToken
	}
	return nil
}

// statistics are JSON strings of digits; "" if absent.
type statistics struct {
	ViewCount    wire.Number `json:"viewCount"`
	LikeCount    wire.Number `json:"likeCount"`
	CommentCount wire.Number `json:"commentCount"`
}

// counts returns nil for a count that is withheld or malformed.
func (s *statistics) counts(malformed *ingest.Malformed) (views, likes, comments *int64) {
	return wire.Count("statistics.viewCount", s.ViewCount, malformed),
		wire.Count("statistics.likeCount", s.LikeCount, malformed),
		wire.Count("statistics.commentCount", s.CommentCount, malformed)
}
