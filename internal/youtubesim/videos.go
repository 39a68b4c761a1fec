package youtubesim

import (
	"fmt"
	"strconv"
	"time"
)

// maxChart is how many items a chart has at most: four pages of 50 [seen].
const maxChart = 200

// listVideos is videos.list: a chart or up to 50 ids.
// (https://developers.google.com/youtube/v3/docs/videos/list)
func listVideos(cat catalogue, q *request) *answer {
	ids, bad := q.ids()
	switch {
	case bad != nil:
		return bad
	case len(ids) > 0 && q.get("chart") != "":
		return conflictingFilters("chart, id")
	case len(ids) > 0:
		var items []any
		for _, id := range ids {
			if v := cat.video(id, q.now); v != nil {
				items = append(items, q.video(v))
			}
		}
		return q.listAnswer("videoListResponse", items, object{"pageInfo": pageInfo(len(items), len(items))})
	case q.get("chart") != "":
		return listChart(cat, q)
	}
	return noFilter("chart, id, myRating")
}

// listChart is one page of a region's chart. A place of the chart can be withheld: it counts for
// the offset and not for the page, so a page may be short and not the last.
func listChart(cat catalogue, q *request) *answer {
	region, category := q.region(), q.get("videoCategoryId")
	if region == "" {
		region = "US"
	}
	places, ok := cat.chart(region, q.now)
	if !ok && !knownRegion(region) {
		return badRegion()
	}
	if category != "" && category != "0" {
		var in []*video
		for _, v := range places {
			if v != nil && v.category == category {
				in = append(in, v)
			}
		}
		places = in
	}
	if len(places) == 0 {
		return chartNotFound()
	}
	p, bad := q.cut(len(places), maxChart)
	if bad != nil {
		return bad
	}
	var items []any
	for _, v := range places[p.from:p.to] {
		if v != nil {
			items = append(items, q.video(v))
		}
	}
	more := object{"pageInfo": pageInfo(len(places), len(items))}
	p.tokens(more, len(places))
	return q.listAnswer("videoListResponse", items, more)
}

// batchGetStats is videos.batchGetStats, since 2026-06-03: publish time, duration and three counts
// of up to 50 videos, without titles. Its duration is a google-duration, "215s".
func batchGetStats(cat catalogue, q *request) *answer {
	ids, bad := q.ids()
	if bad != nil {
		return bad
	}
	if len(ids) == 0 {
		return noFilter("id")
	}
	var items []any
	for _, id := range ids {
		v := cat.video(id, q.now)
		if v == nil {
			continue
		}
		statistics := object{}
		v.counts(q.now).put(statistics)
		items = append(items, q.resource("videoStat", v.id, v.id, object{
			"snippet":        object{"publishTime": stamp(v.published)},
			"contentDetails": object{"duration": fmt.Sprintf("%ds", v.duration/time.Second)},
			"statistics":     statistics,
		}))
	}
	return q.listAnswer("batchGetStatsResponse", items, nil)
}

// video is v as videos.list gives it.
func (q *request) video(v *video) object {
	statistics := object{"favoriteCount": "0"}
	v.counts(q.now).put(statistics)
	details := object{
		"dimension": "2d", "definition": v.definition, "caption": strconv.FormatBool(v.caption),
		"licensedContent": v.licensed, "contentRating": object{}, "projection": "rectangular",
	}
	if v.live != "upcoming" || hash(hashText(v.id))%2 == 0 { // what has not begun is given P0D, or no duration at all
		details["duration"] = isoDuration(v.duration)
	}
	parts := object{
		"snippet": v.snippet(), "statistics": statistics, "contentDetails": details,
		"status": object{
			"uploadStatus": "processed", "privacyStatus": "public", "license": "youtube",
			"embeddable": true, "publicStatsViewable": true, "madeForKids": false,
		},
	}
	switch v.live {
	case "live":
		parts["liveStreamingDetails"] = object{"actualStartTime": stamp(v.published), "scheduledStartTime": stamp(v.published)}
	case "upcoming":
		parts["liveStreamingDetails"] = object{"scheduledStartTime": stamp(v.published.Add(keptDays * day))}
	}
	return q.resource("video", v.id, v.id, parts)
}

func (v *video) snippet() object {
	o := object{
		"channelId": v.channel.id, "title": v.title, "description": v.description, "thumbnails": v.thumbnails(true),
		"channelTitle": v.channel.title, "categoryId": v.category, "liveBroadcastContent": v.live,
		"localized": object{"title": v.localized, "description": v.description},
	}
	if !v.published.IsZero() {
		o["publishedAt"] = stamp(v.published)
	}
	if len(v.tags) > 0 {
		o["tags"] = v.tags
	}
	if v.language != "" {
		o["defaultLanguage"] = v.language
	}
	if v.audio != "" {
		o["defaultAudioLanguage"] = v.audio
	}
	return o
}

// thumbnails are where YouTube keeps them; search results have the first three only. A quarter of the
// videos has the sizes that the discovery document of 2026 adds. Their file names are a guess.
func (v *video) thumbnails(all bool) object {
	most := 3
	if all {
		most = 5
	}
	if all && hash(hashText(v.id), 1)%4 == 0 {
		most = 8
	}
	o := object{}
	for _, t := range []struct {
		name, file    string
		width, height int
	}{
		{"default", "default", 120, 90}, {"medium", "mqdefault", 320, 180}, {"high", "hqdefault", 480, 360},
		{"standard", "sddefault", 640, 480}, {"maxres", "maxresdefault", 1280, 720},
		{"fhd", "fhddefault", 1920, 1080}, {"qhd", "qhddefault", 2560, 1440}, {"uhd", "uhddefault", 3840, 2160},
	}[:most] {
		o[t.name] = object{"url": "https://i.ytimg.com/vi/" + v.id + "/" + t.file + ".jpg", "width": t.width, "height": t.height}
	}
	return o
}

// put writes the counts as the API does: as strings, and not at all when they are withheld.
func (c counts) put(into object) {
	for name, n := range map[string]*int64{"viewCount": c.views, "likeCount": c.likes, "commentCount": c.comments} {
		if n != nil {
			into[name] = strconv.FormatInt(*n, 10)
		}
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// isoDuration writes whole seconds as the API does: PT2H7M14S, P1DT2H, and P0D for a broadcast that
// has no length yet.
func isoDuration(d time.Duration) string {
	s := int64(d / time.Second)
	if s == 0 {
		return "P0D"
	}
	out := "P"
	if days := s / 86_400; days > 0 {
		out += fmt.Sprintf("%dD", days)
	}
	if s%86_400 == 0 {
		return out
	}
	out += "T"
	for _, u := range []struct {
		n    int64
		name string
	}{{s / 3600 % 24, "H"}, {s / 60 % 60, "M"}, {s % 60, "S"}} {
		if u.n > 0 {
			out += fmt.Sprintf("%d%s", u.n, u.name)
		}
	}
	return out
}
