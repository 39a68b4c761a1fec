package dailymotionsim

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

// video holds the constant data of a video; values that change with the clock are computed.
type video struct {
	id, title, owner, ownerID string
	country, channel          string
	language                  any // null if the uploader gave none
	created                   int64
	seconds                   any // null for a live stream
	mode                      string
	tags                      []any
	key                       uint64
	appeal                    float64 // in [0, 1): how high it ranks in the chart
}

// catalogue is every video of a seed. It does not change.
type catalogue struct {
	byCountry map[string][]*video
	byID      map[string]*video
	all       []*video
}

// channels are the categories, by the ids that /channels lists.
var channels = strings.Fields(
	"animals auto people fun creation school videogames kids lifestyle shortfilms music news sport tech travel tv webcam")

// sizes is the number of videos of each country. One country has more than a list can return; countries not listed have
// none.
var sizes = map[string]int{
	"us": 1130, "gb": 420, "de": 310, "fr": 640, "in": 515, "br": 300, "au": 205, "ca": 330,
	"jp": 240, "kr": 200, "mx": 95, "it": 100,
}

var languages = map[string]string{"de": "de", "fr": "fr", "in": "hi", "br": "pt", "jp": "ja",
	"kr": "ko", "mx": "es", "it": "it"}

// epoch is the newest creation time: every video is older, so that any later clock sees the same catalogue.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newCatalogue(seed uint64) *catalogue {
	c := &catalogue{byCountry: map[string][]*video{}, byID: map[string]*video{}}
	for country, size := range sizes {
		for i := range size {
			v := newVideo(seed, country, i)
			c.byCountry[country] = append(c.byCountry[country], v)
			c.byID[v.id] = v
		}
	}
	for _, country := range slices.Sorted(maps.Keys(sizes)) {
		c.all = append(c.all, c.byCountry[country]...)
	}
	return c
}

func newVideo(seed uint64, country string, i int) *video {
	key := standin.Hash(seed, standin.HashText(country), uint64(i))
	n := func(what string, below int) int {
		return int(standin.Hash(key, standin.HashText(what)) % uint64(below))
	}
	owner := standin.Hash(seed, standin.HashText("owner"), uint64(n("owner", 400)))
	v := &video{
		id:      "x" + idText(key, 7),
		owner:   "Studio " + word(owner) + " " + strconv.Itoa(int(owner%90)+10),
		ownerID: "x" + idText(owner, 6),
		title: fmt.Sprintf("%s %s %s, part %d", word(standin.Hash(key, 1)), word(standin.Hash(key, 2)),
			word(standin.Hash(key, 3)), n("part", 40)+1),
		country: country,
		channel: channels[n("channel", len(channels))],
		created: epoch.Unix() - int64(n("age", 90*24*3600)),
		seconds: 15 + n("length", 3600),
		mode:    "vod",
		tags:    []any{},
		key:     key,
		appeal:  float64(n("appeal", 1<<20)) / (1 << 20),
	}
	if l := languages[country]; l != "" && n("language", 10) > 0 {
		v.language = l
	} else if n("language", 3) > 0 {
		v.language = "en"
	}
	for t := range n("tags", 6) {
		v.tags = append(v.tags, word(standin.Hash(key, 10, uint64(t))))
	}
	if n("live", 60) == 0 {
		v.mode, v.seconds = "live", nil
	}
	if h := hostile; i%17 == 5 && i/17 < len(h) {
		v.title, v.owner, v.tags = h[i/17], h[(i/17+1)%len(h)], []any{h[(i/17+2)%len(h)], 2026, "plain"}
	}
	return v
}

// chart returns the country's videos in the order of the hour, which changes slowly.
func (c *catalogue) chart(q query, at time.Time) []*video {
	from := c.all
	if q.country != "" {
		from = c.byCountry[strings.ToLower(q.country)]
	}
	hour := uint64(at.Unix() / 3600)
	score := func(v *video) float64 { return v.appeal + 0.02*standin.Chance(standin.Hash(v.key, hour)) }
	return sorted(from, func(a, b *video) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), strings.Compare(a.id, b.id))
	})
}

func (c *catalogue) find(q query, at time.Time) []*video {
	var found []*video
	switch {
	case q.ids != nil:
		for _, id := range q.ids {
			if v := c.byID[id]; v != nil && !slices.Contains(found, v) {
				found = append(found, v)
			}
		}
	case q.search != "":
		for _, v := range c.all {
			if strings.Contains(strings.ToLower(v.title), strings.ToLower(q.search)) {
				found = append(found, v)
			}
		}
	default:
		found = c.chart(q, at)
	}
	if q.sort == "recent" {
		found = sorted(found, func(a, b *video) int {
			return cmp.Or(cmp.Compare(b.created, a.created), strings.Compare(a.id, b.id))
		})
	}
	return slices.DeleteFunc(slices.Clone(found), func(v *video) bool {
		otherChannel := q.channel != "" && v.channel != q.channel
		otherOwner := q.owners != nil && !slices.Contains(q.owners, v.ownerID)
		return otherChannel || otherOwner || v.created < q.after || q.before != 0 && v.created >= q.before
	})
}

func (c *catalogue) answer(q query, at time.Time) *answer {
	found := c.find(q, at)
	total := len(found)
	found = found[:min(total, maxResults)]
	first := min((q.page-1)*q.limit, len(found))
	last := min(first+q.limit, len(found))
	items := []any{}
	for _, v := range found[first:last] {
		item := object{}
		for _, f := range q.fields {
			item[f] = v.field(f, at)
		}
		items = append(items, item)
	}
	return &answer{status: http.StatusOK, body: object{
		"page": q.page, "limit": q.limit, "explicit": false, "total": total, "has_more": last < len(found), "list": items,
	}}
}

func sorted(videos []*video, by func(a, b *video) int) []*video {
	out := slices.Clone(videos)
	slices.SortFunc(out, by)
	return out
}
