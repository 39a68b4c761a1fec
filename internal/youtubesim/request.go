package youtubesim

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

// request is a call's checked parameters, and when it arrived.
type request struct {
	values url.Values
	fields *tree // the field mask, nil for every field
	pretty bool  // indent the answer; the API does so by default
	now    time.Time
	call   int64 // the call's number, from 1
	lie    string
}

func (q *request) get(name string) string { return q.values.Get(name) }

// region returns the region that the call names, "" if none.
func (q *request) region() string { return q.get("regionCode") }

// list returns the elements of a repeated or comma separated parameter, each once, in the caller's order.
func (q *request) list(name string) []string {
	var out []string
	for _, v := range q.values[name] {
		for e := range strings.SplitSeq(v, ",") {
			if e = strings.TrimSpace(e); e != "" && !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	return out
}

// part reports whether the caller asked for the part.
func (q *request) part(name string) bool { return slices.Contains(q.list("part"), name) }

// maxResults returns the page size, 5 by default.
func (q *request) maxResults() int {
	if n, err := strconv.Atoi(q.get("maxResults")); err == nil {
		return n
	}
	return 5
}

// time returns an instant parameter, zero if it is not given.
func (q *request) time(name string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, q.get(name)) // checked by parse
	return t
}

// maxIDs is how many ids one call may name (videos.list, "id").
const maxIDs = 50

// ids returns the id parameter, or the answer that refuses it.
func (q *request) ids() ([]string, *answer) {
	ids := q.list("id")
	if len(ids) > maxIDs {
		return nil, badRequest("id", "invalidParameter",
			fmt.Sprintf("The request names %d ids; it may name %d.", len(ids), maxIDs))
	}
	return ids, nil
}

// cut returns the requested page of a list of n; largest is the largest offset.
func (q *request) cut(n, largest int) (page, *answer) {
	size, offset := q.maxResults(), 0
	if t := q.get("pageToken"); t != "" {
		o, previous, ok := parsePageToken(t, largest)
		if q.lie != "" && !previous { // a lying list's tokens go further than its results
			o, previous, ok = parsePageToken(t, maxPlaylist)
		}
		if !ok {
			return page{}, badPageToken()
		}
		offset = o
		if previous {
			offset, size = max(0, o-size), min(o, size)
		}
	}
	if p, ok := cutLying(q.lie, n, offset, size); ok && q.get("chart") == "" {
		return p, nil
	}
	offset = min(offset, n)
	return page{from: offset, to: min(n, offset+size)}, nil
}

// listAnswer returns a list response: its kind, its items, and the fields that the method adds.
func (q *request) listAnswer(kind string, items []any, more object) *answer {
	if items == nil {
		items = []any{}
	}
	body := object{"kind": "youtube#" + kind, "etag": q.etag(kind), "items": items}
	maps.Copy(body, more)
	return &answer{status: http.StatusOK, body: body}
}

// resource returns one item of a list, with the parts that the caller asked for.
func (q *request) resource(kind string, id any, etagOf string, parts object) object {
	o := object{"kind": "youtube#" + kind, "etag": q.etag(kind + etagOf), "id": id}
	for name, v := range parts {
		if v != nil && q.part(name) {
			o[name] = v
		}
	}
	return o
}

// etag changes with every call, as in the API [seen].
func (q *request) etag(text string) string {
	return idText(standin.Hash(uint64(q.call), standin.HashText(text))) +
		idText(standin.Hash(uint64(q.call), standin.HashText(text), 1)) + "w"
}

func pageInfo(total, perPage int) object {
	return object{"totalResults": total, "resultsPerPage": perPage}
}
