package youtubesim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

// video returns v in the form of videos.list.
func (q *request) video(v *video) object {
	statistics := object{"favoriteCount": "0"}
	v.counts(q.now).put(statistics)
	details := object{
		"dimension": "2d", "definition": v.definition, "caption": strconv.FormatBool(v.caption),
		"licensedContent": v.licensed, "contentRating": object{}, "projection": "rectangular",
	}
	// an upcoming video has P0D, or no duration at all
	if v.live != "upcoming" || standin.Hash(standin.HashText(v.id))%2 == 0 {
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
		parts["liveStreamingDetails"] = object{"actualStartTime": stamp(v.published),
			"scheduledStartTime": stamp(v.published)}
	case "upcoming":
		parts["liveStreamingDetails"] = object{"scheduledStartTime": stamp(v.begins)}
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

// thumbnails returns URLs in YouTube's form. Search results have only the first three sizes. A quarter of the videos
// have the sizes that the discovery document of 2026 adds, whose file names are a guess.
func (v *video) thumbnails(all bool) object {
	sizes := 3
	if all {
		sizes = 5
	}
	if all && standin.Hash(standin.HashText(v.id), 1)%4 == 0 {
		sizes = 8
	}
	o := object{}
	for _, t := range []struct {
		name, file    string
		width, height int
	}{
		{"default", "default", 120, 90}, {"medium", "mqdefault", 320, 180}, {"high", "hqdefault", 480, 360},
		{"standard", "sddefault", 640, 480}, {"maxres", "maxresdefault", 1280, 720},
		{"fhd", "fhddefault", 1920, 1080}, {"qhd", "qhddefault", 2560, 1440}, {"uhd", "uhddefault", 3840, 2160},
	}[:sizes] {
		o[t.name] = object{"url": "https://i.ytimg.com/vi/" + v.id + "/" + t.file + ".jpg",
			"width": t.width, "height": t.height}
	}
	return o
}

func (c *channel) thumbnails() object {
	o := object{}
	for name, size := range map[string]int{"default": 88, "medium": 240, "high": 800} {
		o[name] = object{"url": "https://yt3.ggpht.com/ytc/" + c.id + "=s" + strconv.Itoa(size),
			"width": size, "height": size}
	}
	return o
}

// put writes the counts as the API does: as strings, without withheld ones.
func (c counts) put(into object) {
	for name, n := range map[string]*int64{"viewCount": c.views, "likeCount": c.likes, "commentCount": c.comments} {
		if n != nil {
			into[name] = strconv.FormatInt(*n, 10)
		}
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// isoDuration writes whole seconds as the API does: PT2H7M14S, P1DT2H, and P0D for a broadcast without a length.
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
