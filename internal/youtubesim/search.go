package youtubesim

import (
	"cmp"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest/internal/standin"
)

// maxSearch is the most results of a query (search.list).
const maxSearch = 500

// hit is one search result: a video, or a channel when video is nil.
type hit struct {
	video   *video
	channel *channel
	score   int
	key     int64 // sort key, largest first
}

// search is search.list. As in the real API, totals are a guess that changes from page to page, some
// results appear twice, and there are no statistics.
// (https://developers.google.com/youtube/v3/docs/search/list)
func search(cat catalogue, q *request) *answer {
	region := q.region()
	if region == "" {
		region = "US"
	}
	if _, ok := cat.chart(region, q.now); !ok && !knownRegion(region) {
		return badRegion()
	}
	types := q.list("type")
	for _, t := range types {
		if !slices.Contains([]string{"video", "channel", "playlist"}, t) {
			return badRequest("type", "invalidParameter", "Invalid value '"+t+"' for type. Use video, channel, playlist.")
		}
	}
	if q.get("videoCategoryId") != "" && !slices.Equal(types, []string{"video"}) {
		return conflictingFilters("videoCategoryId, type")
	}
	hits := findVideos(cat, q, types, region)
	q.sort(hits)
	hits = repeatSome(append(findChannels(cat, q, types), hits...), standin.HashText(q.get("q")))
	p, bad := q.cut(len(hits), maxSearch)
	if bad != nil {
		return bad
	}
	var items []any
	for _, h := range hits[p.from:p.to] {
		items = append(items, q.hit(h))
	}
	guess := min(1_000_000, len(hits)*int(1+standin.Hash(uint64(len(hits)), uint64(p.from))%900))
	more := object{"regionCode": region, "pageInfo": pageInfo(guess, q.maxResults())}
	p.tokens(more, len(hits))
	return q.listAnswer("searchListResponse", items, more)
}

func findVideos(cat catalogue, q *request, types []string, region string) []hit {
	if len(types) > 0 && !slices.Contains(types, "video") {
		return nil
	}
	after, before := q.time("publishedAfter"), q.time("publishedBefore")
	terms := parseTerms(q.get("q"))
	var hits []hit
	for _, v := range cat.videos(q.now) {
		switch {
		case !after.IsZero() && v.published.Before(after), !before.IsZero() && v.published.After(before):
		case q.get("channelId") != "" && q.get("channelId") != v.channel.id:
		case q.get("videoCategoryId") != "" && q.get("videoCategoryId") != v.category:
		default:
			if score := terms.score(v.foundBy.title, v.foundBy.rest); score > 0 && !slices.Contains(v.blocked, region) {
				hits = append(hits, hit{video: v, channel: v.channel, score: score})
			}
		}
	}
	return hits
}

// findChannels finds the channels whose names match; search lists them before the videos. It finds none for a query
// without words, or with a channel or a time range.
func findChannels(cat catalogue, q *request, types []string) []hit {
	bounded := q.get("channelId")+q.get("publishedAfter")+q.get("publishedBefore") != ""
	if len(types) > 0 && !slices.Contains(types, "channel") || q.get("q") == "" || bounded {
		return nil
	}
	terms := parseTerms(q.get("q"))
	var hits []hit
	channels, _ := channelsOf(cat, q.now)
	for _, c := range channels {
		if terms.score(strings.ToLower(c.title), "") > 0 {
			hits = append(hits, hit{channel: c})
		}
	}
	return hits
}

// sort puts videos into the requested order; equal ones stay newest first.
func (q *request) sort(hits []hit) {
	order := q.get("order")
	if order == "title" {
		slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(a.video.title, b.video.title) })
		return
	}
	for i := range hits {
		h := &hits[i]
		switch order {
		case "date":
			h.key = h.video.published.Unix()
		case "rating":
			h.key = orZero(h.video.counts(q.now).likes)
		case "viewCount", "videoCount":
			h.key = orZero(h.video.counts(q.now).views)
		default:
			h.key = int64(h.score)
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.key, a.key) })
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// repeatSome repeats about every fortieth result a few places later, and cuts the list at 500.
func repeatSome(hits []hit, seed uint64) []hit {
	var out []hit
	for i, h := range hits {
		out = append(out, h)
		if i >= 3 && standin.Hash(seed, uint64(i))%40 == 0 {
			out = append(out, hits[i-3])
		}
	}
	return out[:min(len(out), maxSearch)]
}

func (q *request) hit(h hit) object {
	if h.video == nil {
		c := h.channel
		snippet := object{
			"channelId": c.id, "title": c.title, "description": c.title, "thumbnails": c.thumbnails(),
			"channelTitle": c.title, "liveBroadcastContent": "none",
		}
		if !c.since.IsZero() {
			snippet["publishedAt"] = stamp(c.since)
		}
		return q.resource("searchResult", object{"kind": "youtube#channel", "channelId": c.id},
			c.id, object{"snippet": snippet})
	}
	v := h.video
	snippet := object{
		"channelId": v.channel.id, "title": v.title, "description": v.description, "thumbnails": v.thumbnails(false),
		"channelTitle": v.channel.title, "liveBroadcastContent": v.live,
	}
	if !v.published.IsZero() {
		snippet["publishedAt"] = stamp(v.published)
	}
	return q.resource("searchResult", object{"kind": "youtube#video", "videoId": v.id}, v.id, object{"snippet": snippet})
}
