package youtubesim

import (
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

// hostile is text that breaks a program which prints, stores or exports it carelessly. The real upstream filters some
// of it, but a caller must not rely on that.
type hostile struct {
	title   string
	channel *channel
	tags    []string
}

// taint puts the text into a video and keeps the video in the middle of the chart.
func (h hostile) taint(v *video) {
	v.title, v.localized, v.tags, v.channel = h.title, h.title, h.tags, h.channel
	v.description = h.title
	v.appeal = 0.6 // in the chart for a week, never at the top
}

func hostiles(seed uint64) []hostile {
	texts := []struct{ title, channel, tag string }{
		{`<script>alert("Ravenwood")</script> live`, `<img src=x onerror=alert(1)>`, `"><svg/onload=alert(2)>`},
		{"\x1b[31mred\x1b[0m and \x1b[2J\x1b[H gone", "\x1b[1mbold channel\x1b[0m", "\x1b[5mblink"},
		{"\x1b]0;new window title\x07\x1b]8;;https://example.com/\x1b\\click\x1b]8;;\x1b\\", "\u009b31mC1 channel",
			"\x1b]52;c;cm0=\x07"},
		{"Holiday photos \u202Egnp.exe", "\u2066isolated\u2069 \u202Eknab", "\u200fmark\u200e"},
		{`=HYPERLINK("https://example.com/?"&A1,"prize")`, "@SUM(1+1)*cmd|' /C calc'!A0", "+1+1"},
		{"-2+3+cmd|' /C calc'!A0", "\tTab first", "=1+1"},
		{"NUL\u0000byte in the middle", "Chan\u0000nel", "ta\u0000g"},
		{strings.Repeat("long title ", 454) + "ended.", strings.Repeat("W", 200), strings.Repeat("t", 500)},
		{"'; DROP TABLE videos; --", `Robert"); DROP TABLE channels;--`, `' OR '1'='1`},
		{`title:"unclosed AND ( OR * NEAR/0 ^`, "NOT a channel", `"`},
		{"line one\nline two\r\nline three\u2028line four", "two\nlines", "a\nb"},
		{"{{.Secret}} ${HOME} $(id) `id` %s%n %00", "{{ template }}", "../../etc/passwd"},
		{"Z\u0351\u036b\u0343a\u0363\u0328l\u034eg\u0321o\u0489 \ufeff\u200b\u2060", "\u200b", "\u00ad"},
		{"👩‍👩‍👧‍👦🏳️‍🌈🇩🇪" + strings.Repeat("🔥", 60), "🅒🅗🅐🅝🅝🅔🅛", "🔥"},
	}
	var out []hostile
	for i, t := range texts {
		key := standin.Hash(seed, standin.HashText("hostile"), uint64(i))
		out = append(out, hostile{
			title: t.title,
			channel: &channel{
				id: channelID(key), title: t.channel, handle: "hostile" + string(rune('a'+i)),
				since: time.Date(2015, 1, 1+i, 0, 0, 0, 0, time.UTC), subscribers: int64(key % 1_000_000),
			},
			tags: []string{t.tag, "plain"},
		})
	}
	return out
}
