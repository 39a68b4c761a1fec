package youtubesim

import (
	"cmp"
	"slices"
	"strings"
)

// maxSearch is how many results a query gives at most (search.list).
const maxSearch = 500

// hit is one search result: a video, or a channel when video is nil.
type hit struct {
	video   *video
	channel *channel
	score   int
	key     int64 // by which it is sorted, the largest first
}

// search is search.list. As at the real one, totals are a guess that changes from page to page,
// some results come twice, and there are no statistics.
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
	hits = repeatSome(append(findChannels(cat, q, types), hits...), hashText(q.get("q")))
	p, bad := q.cut(len(hits), maxSearch)
	if bad != nil {
		return bad
	}
	var items []any
	for _, h := range hits[p.from:p.to] {
		items = append(items, q.hit(h))
	}
	guess := min(1_000_000, len(hits)*int(1+hash(uint64(len(hits)), uint64(p.from))%900))
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

// findChannels are the channels whose name matches; they come before the videos. A query without
// words, a category or a time range asks for no channels.
func findChannels(cat catalogue, q *request, types []string) []hit {
	if len(types) > 0 && !slices.Contains(types, "channel") || q.get("q") == "" || q.get("channelId") != "" ||
		q.get("publishedAfter") != "" || q.get("publishedBefore") != "" {
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

// sort puts videos into the order asked for; what is equal stays newest first.
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

// repeatSome puts every fortieth result or so in twice, a few places on, and cuts at 500.
func repeatSome(hits []hit, seed uint64) []hit {
	var out []hit
	for i, h := range hits {
		out = append(out, h)
		if i >= 3 && hash(seed, uint64(i))%40 == 0 {
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
		return q.resource("searchResult", object{"kind": "youtube#channel", "channelId": c.id}, c.id, object{"snippet": snippet})
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

// terms is a query: every group must match by one of its words, and no word of not may.
// (search.list, "q": | is or, - is not)
type terms struct {
	groups [][]string
	not    []string
}

func parseTerms(q string) terms {
	var t terms
	or := false
	for w := range strings.FieldsSeq(strings.ToLower(strings.ReplaceAll(q, "|", " | "))) {
		w = strings.Trim(w, `"`)
		switch {
		case w == "|":
			or = len(t.groups) > 0
			continue
		case len(w) > 1 && w[0] == '-':
			t.not = append(t.not, w[1:])
		case or:
			t.groups[len(t.groups)-1] = append(t.groups[len(t.groups)-1], w)
		case w != "":
			t.groups = append(t.groups, []string{w})
		}
		or = false
	}
	return t
}

// searchable is a video's text in lower case.
type searchable struct{ title, rest string }

// index makes the video findable. It is called once, when the video is complete.
func (v *video) index() {
	rest := strings.Join(v.tags, " ") + " " + v.channel.title + " " + v.description
	v.foundBy = searchable{strings.ToLower(v.title), strings.ToLower(rest)}
}

// score is 0 for no match; a word in the title counts three times one elsewhere. Texts and terms are
// in lower case.
func (t terms) score(title, rest string) int {
	if len(t.groups)+len(t.not) == 0 {
		return 1
	}
	in := func(text string) func(string) bool { return func(w string) bool { return strings.Contains(text, w) } }
	if slices.ContainsFunc(t.not, in(title)) || slices.ContainsFunc(t.not, in(rest)) {
		return 0
	}
	score := 1
	for _, g := range t.groups {
		switch {
		case slices.ContainsFunc(g, in(title)):
			score += 3
		case slices.ContainsFunc(g, in(rest)):
			score++
		default:
			return 0
		}
	}
	return score
}
