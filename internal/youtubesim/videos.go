package youtubesim

import (
	"fmt"
	"time"
)

// listVideos is videos.list: a chart, or up to 50 ids.
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

// listChart returns one page of a region's chart. A withheld place counts for the offset but is not on the page, so a
// short page need not be the last one.
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
