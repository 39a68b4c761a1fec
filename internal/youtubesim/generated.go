package youtubesim

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

const (
	keptDays   = 45  // how far back the generated catalogue goes
	chartDays  = 9   // how old a charted video can be
	rowsPerDay = 30  // videos per day that may chart in one region
	driftSteps = 12  // how many steps a video's place drifts one way
	chartSlack = 0.2 // how far it drifts, in days of age

	upcomingShare = 0.005 // the share of premieres or broadcasts that have not begun
)

// generated is a catalogue determined by a seed: every UTC day has its own videos, made on first use. It is safe for
// concurrent use.
type generated struct {
	seed     uint64
	tongues  map[string]*tongue
	hostiles []hostile

	mu     sync.Mutex
	days   map[int64][]*video // by days since 1970
	byID   map[string]*video
	charts map[string]listed // by region: the last one requested
	all    listed
}

// listed is a list that is valid for one step, in steps since 1970.
type listed struct {
	step   int64
	videos []*video
}

func newGenerated(seed uint64) *generated {
	return &generated{
		seed: seed, tongues: tongues(seed), hostiles: hostiles(seed),
		days: map[int64][]*video{}, byID: map[string]*video{}, charts: map[string]listed{},
	}
}

// audience is a set of regions that share some videos every day, and the languages of those videos.
type audience struct {
	regions string
	videos  int
	tongues string // each is equally likely
}

// audiences make 29 to 30 % of the eight regions' rows repeats of another region's [measured in recorded charts]. Each
// region gets rowsPerDay videos in total.
func audiences() []audience {
	return []audience{
		{"US GB DE FR IN BR AU CA", 4, "en en ko ja"},
		{"US GB AU CA", 11, "en en en en en en en ko ja zh"},
		{"US CA", 4, "en en ja"},
		{"GB AU", 3, "en"},
		{"FR CA", 2, "fr"},
		{"US", 11, "en en en en ko zh he"},
		{"GB", 12, "en en en en hi ta ar"},
		{"AU", 12, "en en en en zh ta he"},
		{"CA", 9, "en en fr zh hi ar"},
		{"DE", 26, "de de de de en"},
		{"FR", 24, "fr fr fr fr en ar"},
		{"IN", 26, "hi hi hi ta ta ta en"},
		{"BR", 26, "pt pt pt pt pt en"},
	}
}

// uncharted is the one region that has a front page and no chart, so that this can be tried.
const uncharted = "LI"

// chart ranks the videos of the last days by appeal minus age, plus a slow drift per region. In half of the blocks of
// 50 places, one to three places are withheld. A region beyond the eight watches one of the eight's videos, in an
// order of its own.
func (g *generated) chart(region string, at time.Time) ([]*video, bool) {
	if region == uncharted || !knownRegion(region) {
		return nil, false
	}
	watches, eight := region, strings.Fields(audiences()[0].regions)
	if !slices.Contains(eight, region) {
		watches = eight[standin.HashText(region)%uint64(len(eight))]
	}
	now, start, today := steps(at)
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.charts[region]; c.videos != nil && c.step == now {
		return c.videos, true
	}
	type ranked struct {
		v     *video
		score float64
	}
	var all []ranked
	for d := today - chartDays + 1; d <= today; d++ {
		for _, v := range g.dayLocked(d) {
			if slices.Contains(v.regions, watches) && !v.published.After(start) {
				age := start.Sub(v.published).Hours() / 24
				all = append(all, ranked{v, v.appeal*8 - age + g.drift(region, v, now)})
			}
		}
	}
	slices.SortFunc(all,
		func(a, b ranked) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.v.id, b.v.id)) })
	places := make([]*video, 0, maxChart)
	for _, r := range all[:min(len(all), maxChart)] {
		places = append(places, r.v)
	}
	for block := 0; block+50 <= len(places); block += 50 {
		d := dice{key: standin.Hash(g.seed, standin.HashText(region), uint64(now), uint64(block))}
		if d.chance(0.5) {
			for range 1 + d.intn(3) {
				places[block+d.intn(50)] = nil
			}
		}
	}
	g.charts[region] = listed{now, places}
	return places, true
}

// steps returns the step of at, when it began, and the day since 1970.
func steps(at time.Time) (now int64, start time.Time, today int64) {
	start = at.Truncate(step)
	return start.Unix() / int64(step/time.Second), start, start.Unix() / 86_400
}

// drift moves in a straight line from one random value to the next.
func (g *generated) drift(region string, v *video, now int64) float64 {
	k, part := now/driftSteps, float64(now%driftSteps)/driftSteps
	at := func(k int64) float64 {
		return standin.Chance(standin.Hash(g.seed, standin.HashText(region+v.id), uint64(k)))
	}
	return chartSlack * (at(k)*(1-part) + at(k+1)*part)
}

func (g *generated) videos(at time.Time) []*video {
	now, start, today := steps(at)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all.videos != nil && g.all.step == now {
		return g.all.videos
	}
	var all []*video
	for d := today; d > today-keptDays; d-- {
		for _, v := range g.dayLocked(d) { // newest first
			if !v.published.After(start) {
				all = append(all, v)
			}
		}
	}
	g.all = listed{now, all}
	g.forgetLocked(today - 2*keptDays)
	return all
}

func (g *generated) video(id string, at time.Time) *video {
	g.videos(at) // makes the days that can contain it
	g.mu.Lock()
	defer g.mu.Unlock()
	v := g.byID[id]
	if v == nil || v.published.After(at.Truncate(step)) || at.Sub(v.published) > keptDays*day {
		return nil
	}
	return v
}

// forgetLocked drops the days before d, so that a clock that runs for years needs the memory of a few months. A dropped
// day is made again on demand.
func (g *generated) forgetLocked(d int64) {
	for old, vs := range g.days {
		if old < d {
			delete(g.days, old)
			for _, v := range vs {
				delete(g.byID, v.id)
			}
		}
	}
}

// dayLocked returns the videos of one UTC day, newest first.
func (g *generated) dayLocked(d int64) []*video {
	if vs, ok := g.days[d]; ok {
		return vs
	}
	var vs []*video
	for i, a := range audiences() {
		for j := range a.videos {
			v := g.newVideo(d, a, standin.Hash(g.seed, uint64(d), uint64(i), uint64(j)))
			if j == 0 && len(a.regions) == 2 { // one per day for every region
				g.hostiles[int(d+int64(3*i))%len(g.hostiles)].taint(v)
			}
			v.index()
			vs = append(vs, v)
		}
	}
	slices.SortFunc(vs, func(a, b *video) int {
		return cmp.Or(b.published.Compare(a.published), cmp.Compare(a.id, b.id))
	})
	for _, v := range vs {
		g.byID[v.id] = v
	}
	g.days[d] = vs
	return vs
}

// newVideo makes one video of day d. Its key alone determines it.
func (g *generated) newVideo(d int64, a audience, key uint64) *video {
	dc := &dice{key: key}
	language := pick(dc, strings.Fields(a.tongues))
	t := g.tongues[language]
	v := &video{
		id: idText(key), channel: pick(dc, t.channels), language: language, audio: language,
		category:  pick(dc, []string{"10", "10", "10", "20", "20", "24", "24", "1", "17", "22", "23", "25", "26", "28"}),
		published: time.Unix(d*86_400+int64(dc.intn(86_400)), 0).UTC(),
		duration:  time.Duration(15+dc.intn(1800)) * time.Second,
		live:      "none", definition: "hd", caption: dc.chance(0.3), licensed: dc.chance(0.5),
		appeal: standin.Chance(dc.next()), grows: true, regions: strings.Fields(a.regions),
	}
	if dc.chance(0.1) {
		v.duration += time.Duration(1+dc.intn(30)) * time.Hour
	}
	if dc.chance(0.02) {
		v.duration, v.live = 0, "live"
	}
	if dc.chance(0.4) {
		v.language = "" // most uploaders leave it out
	}
	for _, r := range strings.Fields(audiences()[0].regions) {
		if !slices.Contains(v.regions, r) && dc.chance(0.02) {
			v.blocked = append(v.blocked, r)
		}
	}
	v.title, v.tags = t.title(dc)
	if dc.chance(0.2) {
		v.tags = nil
	}
	v.localized = v.title
	v.description = v.title + "\n\nhttps://www.youtube.com/@" + v.channel.handle
	v.final = finalCounts(dc)
	if standin.Chance(standin.Hash(key, standin.HashText("upcoming"))) < upcomingShare {
		v.duration, v.live, v.final = 0, "upcoming", counts{new(int64), new(int64), new(int64)}
		v.begins = v.published.Add(keptDays * day)
	}
	return v
}

// finalCounts withholds views in 1 %, likes in 1.5 % and comments in 4 % of all videos [measured in recorded charts].
func finalCounts(dc *dice) counts {
	views := int64(20_000) << dc.intn(9)
	views += int64(dc.intn(int(views)))
	likes, comments := views/int64(15+dc.intn(60)), views/int64(200+dc.intn(900))
	c := counts{&views, &likes, &comments}
	if dc.chance(0.01) {
		c.views = nil
	}
	if dc.chance(0.015) {
		c.likes = nil
	}
	if dc.chance(0.04) {
		c.comments = nil
	}
	return c
}
