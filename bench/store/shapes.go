package main

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/text"
)

// shape is a kind of search: its purpose, filter and order.
type shape struct {
	name string
	ask  func(c wordlist, rng *rand.Rand) store.SearchQuery
}

func words(pick func(c wordlist, rng *rand.Rand) []string) func(wordlist, *rand.Rand) store.SearchQuery {
	return func(c wordlist, rng *rand.Rand) store.SearchQuery {
		return store.SearchQuery{Text: strings.Join(pick(c, rng), " ")}
	}
}

func with(ask func(wordlist, *rand.Rand) store.SearchQuery, change func(q *store.SearchQuery)) func(wordlist, *rand.Rand) store.SearchQuery {
	return func(c wordlist, rng *rand.Rand) store.SearchQuery {
		q := ask(c, rng)
		change(&q)
		return q
	}
}

// common searches for n of the 40 words that most videos have.
func common(n int) func(wordlist, *rand.Rand) store.SearchQuery {
	return words(func(c wordlist, rng *rand.Rand) (some []string) {
		for _, i := range rng.Perm(len(c.common))[:n] {
			some = append(some, c.common[i])
		}
		return some
	})
}

// begins searches for the first letters of a word.
func begins(letters int) func(wordlist, *rand.Rand) store.SearchQuery {
	return words(func(c wordlist, rng *rand.Rand) []string { return []string{cut(c.pair(rng)[0], letters) + "*"} })
}

func cut(word string, letters int) string {
	r := []rune(word)
	return string(r[:min(letters, len(r))])
}

var shapes = []shape{
	{"a common word", common(1)},
	{"a word of a title", words(func(c wordlist, rng *rand.Rand) []string { return c.pair(rng)[:1] })},
	{"two words of a title", words(func(c wordlist, rng *rand.Rand) []string { return c.pair(rng) })},
	{"a phrase", words(func(c wordlist, rng *rand.Rand) []string { return []string{`"` + strings.Join(c.pair(rng), " ") + `"`} })},
	{"one letter of a word", begins(1)},
	{"two letters", begins(2)},
	{"three letters", begins(3)},
	{"four letters", begins(4)},
	{"five letters", begins(5)},
	{"a word and three letters", words(func(c wordlist, rng *rand.Rand) []string {
		p := c.pair(rng)
		return []string{p[0], cut(p[1], 3)}
	})},
	{"three common words", common(3)},
	{"seven common words", common(7)},
	{"one Chinese character", words(func(c wordlist, rng *rand.Rand) []string { return []string{c.han[rng.IntN(len(c.han))]} })},
	{"a typo", words(func(c wordlist, rng *rand.Rand) []string {
		p := c.pair(rng)
		r := []rune(p[0])
		return []string{string(slices.Delete(r, 2, 3)), p[1]}
	})},
	{"views that nothing has", with(common(1), func(q *store.SearchQuery) { q.MinViews = 1e15 })},
	{"a category that nothing has", with(common(1), func(q *store.SearchQuery) { q.Category = "none" })},
	{"a common word by views", with(common(1), func(q *store.SearchQuery) { q.Order = store.ByViews })},
	{"a common word by freshness", with(common(1), func(q *store.SearchQuery) { q.Order = store.ByFreshness })},
	{"a common word by rise", with(common(1), func(q *store.SearchQuery) { q.Order = store.ByRise })},
}

// fewTitles is how many titles are kept; the searches need no more: see searching.
const fewTitles = 2000

// wordlist holds the words to search for, which all exist.
type wordlist struct {
	common, han []string
	titles      [][]string // some of at least two consecutive words, of four letters or more
}

func wordlistOf(videos []ingest.Video) wordlist {
	var c wordlist
	used, han := map[string]int{}, map[string]bool{}
	for _, v := range videos {
		var title []string
		for _, w := range strings.Fields(text.Normalize(v.Title)) {
			r := []rune(w)
			if unicode.Is(unicode.Han, r[0]) {
				han[string(r[:1])] = true
				continue
			}
			if used[w]++; len(r) >= 4 {
				title = append(title, w)
			}
		}
		if len(title) >= 2 {
			c.titles = append(c.titles, title)
		}
	}
	rand.New(rand.NewPCG(2, 2)).Shuffle(len(c.titles), func(i, j int) { c.titles[i], c.titles[j] = c.titles[j], c.titles[i] }) //nolint:gosec // the same ones every time
	c.titles = slices.Clone(c.titles[:min(len(c.titles), fewTitles)])
	for w := range used {
		c.common = append(c.common, w)
	}
	slices.SortFunc(c.common, func(a, b string) int { return cmp.Or(used[b]-used[a], strings.Compare(a, b)) })
	c.common = c.common[:40]
	for h := range han {
		c.han = append(c.han, h)
	}
	slices.Sort(c.han)
	return c
}

// pair returns two consecutive words of a title.
func (c wordlist) pair(rng *rand.Rand) []string {
	title := c.titles[rng.IntN(len(c.titles))]
	i := rng.IntN(len(title) - 1)
	return []string{title[i], title[i+1]}
}

// latencies are in milliseconds: wall time and processor time, of all threads of the process together.
type latencies struct{ wall, cpu []float64 }

func (l *latencies) add(m latencies) {
	l.wall, l.cpu = append(l.wall, m.wall...), append(l.cpu, m.cpu...)
}

// and is the time of one search and of another.
func (l latencies) and(m latencies) latencies {
	return latencies{[]float64{l.wall[0] + m.wall[0]}, []float64{l.cpu[0] + m.cpu[0]}}
}

// cells are p50 and p99 of both.
func (l latencies) cells() []string {
	if len(l.wall) == 0 {
		return []string{"", "", "", ""}
	}
	return []string{
		ms(report.Quantile(l.wall, 0.5)), ms(report.Quantile(l.wall, 0.99)), ms(report.Quantile(l.cpu, 0.5)), ms(report.Quantile(l.cpu, 0.99)),
	}
}

// clocked returns how long do takes.
func clocked(do func() error) (latencies, error) {
	start, began := time.Now(), processor()
	err := do()
	return latencies{[]float64{float64(time.Since(start)) / 1e6}, []float64{float64(processor()-began) / 1e6}}, err
}

// processor returns the processor time that this process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// asked searches n times in that shape, in one region after the other: the same queries in every run. Some more go
// first and do not count.
func (k shape) asked(ctx context.Context, s searcher, c wordlist, n int) (l latencies, err error) {
	rng := rand.New(rand.NewPCG(1, uint64(len(k.name)))) //nolint:gosec // the same queries every time
	for i := range n + n/10 {
		q := k.ask(c, rng)
		q.Region, q.Limit = eight[i%len(eight)], 20
		took, err := clocked(func() error { return s.find(ctx, q) })
		if err != nil {
			return l, err
		}
		if i >= n/10 {
			l.add(took)
		}
	}
	return l, nil
}

// searcher finds the best 20 and the fields shown of them.
type searcher interface {
	find(ctx context.Context, q store.SearchQuery) error
}
