package youtubesim

import (
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

// tongue is how titles of one language are made. A name is a head and a tail. It is the longest word of its title, and
// so rare that a search for it finds the video.
type tongue struct {
	code         string
	heads, tails []string
	words        []string
	forms        []string // {n} a name, {w} and {v} words, {k} a number
	channels     []*channel
}

const channelsPerTongue = 80

// tongues returns the languages of the generated catalogue, with their channels.
func tongues(seed uint64) map[string]*tongue {
	out := map[string]*tongue{}
	for _, v := range vocabularies {
		t := &tongue{
			code:  v.code,
			heads: strings.Fields(v.heads), tails: strings.Fields(v.tails), words: strings.Fields(v.words),
			forms: strings.Split(v.forms, ";"),
		}
		for i := range channelsPerTongue {
			key := standin.Hash(seed, standin.HashText("channel "+t.code), uint64(i))
			d := &dice{key: key}
			t.channels = append(t.channels, &channel{
				id: channelID(key), title: strings.ReplaceAll(pick(d, strings.Split(v.channels, "|")), "{n}", t.name(d)),
				handle:      t.code + "channel" + strconv.Itoa(i+1),
				since:       time.Date(2008+d.intn(15), 1, 1+d.intn(365), d.intn(24), 0, 0, 0, time.UTC),
				subscribers: int64(1000+d.intn(9000)) << d.intn(12),
			})
		}
		out[t.code] = t
	}
	return out
}

func (t *tongue) name(d *dice) string { return pick(d, t.heads) + pick(d, t.tails) }

// title makes a title and tags that match it.
func (t *tongue) title(d *dice) (title string, tags []string) {
	name, word, other := t.name(d), pick(d, t.words), pick(d, t.words)
	title = strings.NewReplacer("{n}", name, "{w}", word, "{v}", other, "{k}", strconv.Itoa(1+d.intn(120))).
		Replace(pick(d, t.forms))
	if d.chance(0.25) {
		title += " " + pick(d, strings.Fields("🔥 😂 😱 🎉 🎮 ❤️ 🇮🇳 ✨ 🏆 🎬 🎵 💔 👀 🚀"))
	}
	tags = []string{name, word, name + " " + word}
	for range d.intn(12) {
		tags = append(tags, pick(d, t.words)+" "+strconv.Itoa(1+d.intn(40)))
	}
	return title, tags
}
