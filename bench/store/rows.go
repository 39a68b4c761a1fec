package main

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/trendvidstream/ingest"
)

// realRows is the directory of the recorded charts, relative to the benchmarks' module.
var realRows = filepath.Join("..", "..", "shared", "data", "trending")

var eight = []ingest.Region{"US", "GB", "DE", "FR", "IN", "BR", "AU", "CA"}

// chart is the content of a region's chart at a time.
type chart struct {
	region ingest.Region
	at     time.Time
	videos []ingest.Video
}

// recorded reads the recorded charts, in the order of time; fs.ErrNotExist if they are absent.
func recorded() ([]chart, error) {
	var all []chart
	for _, region := range eight {
		charts, err := recordedOf(region)
		if err != nil {
			return nil, err
		}
		all = append(all, charts...)
	}
	slices.SortStableFunc(all, func(a, b chart) int { return a.at.Compare(b.at) })
	return all, nil
}

func recordedOf(region ingest.Region) (charts []chart, err error) {
	f, err := os.Open(filepath.Join(realRows, string(region)+".csv.gz"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(z)
	head, err := r.Read()
	if err != nil {
		return nil, err
	}
	for {
		line, err := r.Read()
		if errors.Is(err, io.EOF) {
			return charts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		row := map[string]string{}
		for i, name := range head {
			row[name] = line[i]
		}
		at, err := time.Parse(time.DateOnly, row["snapshot_date"])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		if n := len(charts); n == 0 || !charts[n-1].at.Equal(at) {
			charts = append(charts, chart{region: region, at: at})
		}
		c := &charts[len(charts)-1]
		c.videos = append(c.videos, recordedVideo(row))
	}
}

// recordedVideo leaves out fields that cannot be read.
func recordedVideo(row map[string]string) ingest.Video {
	number := func(name string) *int64 {
		n, err := strconv.ParseInt(row[name], 10, 64)
		if err != nil {
			return nil
		}
		return &n
	}
	v := ingest.Video{
		ID: row["video_id"], Title: row["title"], Channel: row["channel_title"], ChannelID: row["channel_id"],
		Category: row["category_id"], Language: row["default_language"], Thumbnail: row["thumbnail"], Live: row["is_live"] == "True",
		Views: number("views"), Likes: number("likes"), Comments: number("comments"),
	}
	v.PublishedAt, _ = time.Parse(time.RFC3339, strings.Replace(row["published_at"], " ", "T", 1))
	if n := number("duration"); n != nil {
		v.Duration = time.Duration(*n) * time.Second
	}
	if row["tags"] != "" {
		v.Tags = strings.Split(row["tags"], ", ")
	}
	return v
}

// Every 20th generated video has the first word in its title, half of these and as many others the second.
const (
	commonWord = "common"
	secondWord = "usual"
)

// generator makes videos with words as unevenly spread as in a language: the n-th most frequent word is used about
// 1/n as often as the first.
type generator struct {
	rng  *rand.Rand
	zipf *rand.Zipf
	n    int
}

const vocabulary = 200_000

func newGenerator() *generator {
	rng := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // the same rows every time
	return &generator{rng: rng, zipf: rand.NewZipf(rng, 1.05, 8, vocabulary-1)}
}

// script is an alphabet for generated words, and how many of twenty words use it.
type script struct {
	heads, tails []rune // a syllable is one of each
	share        uint64
	apart        bool // its words are separated by spaces
}

// scripts are the scripts of the recorded charts' titles, in about the same shares. Chinese words have no spaces
// between them.
var scripts = []script{
	{[]rune("bcdfghjklmnprstvwz"), []rune("aeiou"), 12, true},
	{[]rune("bcdfghjklmnñprsçtvwz"), []rune("áéíóúãõäöü"), 2, true},
	{[]rune("бвгджзклмнпрстфхцчш"), []rune("аеиоуыюя"), 2, true},
	{[]rune("कखगघचजटडतदनपबमयरलवसह"), []rune("ािीुूेैोौ"), 1, true},
	{[]rune("بتثجحخدذرزسشصضطعغفقكلمنه"), []rune("اوي"), 1, true},
	{han(0), han(1), 2, false},
}

// han are 400 frequent characters.
func han(half rune) (out []rune) {
	for i := range rune(400) {
		out = append(out, 0x4E00+half*4000+i*9)
	}
	return out
}

// word spells the n-th word: the frequent ones are short.
func word(n uint64) string {
	h, rest := n*0x9E3779B97F4A7C15^n>>7, n%20
	i := 0
	for ; rest >= scripts[i].share; i++ {
		rest -= scripts[i].share
	}
	s := scripts[i]
	var b strings.Builder
	next := func(letters []rune) {
		b.WriteRune(letters[h%uint64(len(letters))])
		h = h/uint64(len(letters)) ^ h<<45
	}
	if !s.apart {
		for range 1 + n%3 {
			next([][]rune{s.heads, s.tails}[n%2])
		}
		return b.String()
	}
	for range 2 + int(math.Log10(float64(n+1)))/2 {
		next(s.heads)
		next(s.tails)
	}
	next(s.heads)
	return b.String()
}

func (g *generator) words(n int) string {
	var b strings.Builder
	for range n {
		w := word(g.zipf.Uint64())
		if b.Len() > 0 && (w[0] < utf8.RuneSelf || !unicode.Is(unicode.Han, []rune(w)[0])) {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}

// next is the next video: a title of six words, a channel, eight tags.
func (g *generator) next() ingest.Video {
	i := g.n
	g.n++
	title := g.words(6)
	if i%20 == 0 {
		title += " " + commonWord
	}
	if i%40 == 0 || i%40 == 1 {
		title = secondWord + " " + title
	}
	channel := g.rng.IntN(20_000)
	views := int64(math.Exp(g.rng.NormFloat64()*2 + 11))
	likes, comments := views/40, views/900
	v := ingest.Video{
		ID: fmt.Sprintf("g%010d", i), Title: title, Channel: "The " + word(uint64(channel)) + " channel", ChannelID: fmt.Sprintf("UCgenerated%06d", channel), //nolint:gosec // not negative
		Category: "10", Language: "en", Thumbnail: fmt.Sprintf("https://i.ytimg.com/vi/g%010d/hqdefault.jpg", i),
		PublishedAt: began.Add(-time.Duration(g.rng.IntN(1000)) * time.Hour), Duration: time.Duration(60+g.rng.IntN(600)) * time.Second,
		Views: &views, Likes: &likes, Comments: &comments,
	}
	for range 8 {
		v.Tags = append(v.Tags, g.words(1+g.rng.IntN(2)))
	}
	return v
}

func (g *generator) take(n int) []ingest.Video {
	out := make([]ingest.Video, n)
	for i := range out {
		out[i] = g.next()
	}
	return out
}

// charts returns charts of 200 videos each, all of them new, region by region.
func (g *generator) charts(videos int) []chart {
	var all []chart
	for i := 0; videos > 0; i++ {
		n := min(200, videos)
		all = append(all, chart{eight[i%len(eight)], began.Add(time.Duration(i/len(eight)) * every), g.take(n)})
		videos -= n
	}
	return all
}

// began is when the first chart was fetched, and every is the time between two charts of a region.
var began = time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)

const every = 30 * time.Minute
