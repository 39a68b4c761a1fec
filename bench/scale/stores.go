package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/bench/report"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/pgstore"
)

const (
	inChart  = 200
	perPage  = 50
	passes   = 15 // of each store, alternating; medians
	searches = 120
)

var eight = []string{"US", "GB", "DE", "FR", "IN", "BR", "AU", "CA"}

// both are stores with the same rows in SQLite and in PostgreSQL.
type both struct {
	names  [2]string
	stores [2]*store.Store
	words  *rand.Zipf
	rng    *rand.Rand
	made   int
	now    time.Time
	charts map[string][]ingest.Video // the newest by region
}

// stores compares a store in PostgreSQL with one in SQLite that writes to the same place: a pass over eight regions,
// and searches among that many videos.
func stores(ctx context.Context, servers []server, videos int, r *report.Report) error {
	var passed, searched [][]string
	for i, s := range servers {
		b, closing, err := openBoth(ctx, s, fmt.Sprint("stores", i))
		if err != nil {
			return errors.Join(err, closing())
		}
		var rows [][]string
		if rows, err = b.passes(ctx, s.name, r); err == nil {
			passed = append(passed, rows...)
		}
		if err == nil && i == len(servers)-1 {
			searched, err = b.searches(ctx, s, videos, r)
		}
		if err = errors.Join(err, closing()); err != nil {
			return err
		}
	}
	r.Section("A pass of 8 x 200 rows", fmt.Sprintf("Eight charts of %d videos in pages of %d, a quarter of them new, each slot added, claimed and saved page by page; %d passes of each store, in turns. Medians.", inChart, perPage, passes))
	r.Table([]string{"", "SQLite ms", "PostgreSQL ms", "x SQLite"}, passed)
	r.Section(fmt.Sprintf("Searches in %d videos", videos), fmt.Sprintf("%s. %d searches of each kind, in turns over both stores, one at a time; the second is a copy of the first.", servers[len(servers)-1].name, searches))
	r.Table([]string{"", "SQLite p50 ms", "p99", "PostgreSQL p50 ms", "p99", "p99 x SQLite"}, searched)
	return sizes(ctx, servers[len(servers)-1], "copied", r)
}

func openBoth(ctx context.Context, s server, database string) (b *both, closing func() error, err error) {
	b = &both{names: [2]string{"SQLite", "PostgreSQL"}, rng: rand.New(rand.NewPCG(7, 7)), now: time.Now().Add(-24 * time.Hour), charts: map[string][]ingest.Video{}} //nolint:gosec // the same rows every time
	b.words = rand.NewZipf(b.rng, 1.05, 8, 50_000)
	var dir string
	closing = func() error {
		var errs []error
		for _, s := range b.stores {
			if s != nil {
				errs = append(errs, s.Close())
			}
		}
		return errors.Join(append(errs, os.RemoveAll(dir))...)
	}
	if dir, err = os.MkdirTemp(s.dir, "scale"); err != nil {
		return b, closing, err
	}
	o := store.Options{Upstream: "bench"}
	if b.stores[0], err = store.Open(ctx, dir, o); err == nil {
		b.stores[1], err = b.postgres(ctx, s, database, o)
	}
	return b, closing, err
}

// postgres opens a store in its own database.
func (b *both) postgres(ctx context.Context, s server, database string, o store.Options) (*store.Store, error) {
	url, err := s.CreateDatabase(ctx, database)
	if err != nil {
		return nil, err
	}
	return pgstore.Open(ctx, url, o)
}

// word spells the n-th word. Neighbouring words look different.
func word(n uint64) string {
	h := n*0x9E3779B97F4A7C15 ^ n>>7
	var out []byte
	for range 3 + n%3 {
		out = append(out, "bcdfghjklmnprstvwz"[h%18], "aeiou"[h/18%5])
		h = h/90 ^ h<<45
	}
	return string(out)
}

func (b *both) some(n int) string {
	var all []string
	for range n {
		all = append(all, word(b.words.Uint64()))
	}
	return strings.Join(all, " ")
}

func (b *both) video() ingest.Video {
	b.made++
	views := int64(b.rng.IntN(1e7))
	channel := b.rng.IntN(20_000)
	return ingest.Video{
		ID: fmt.Sprintf("g%010d", b.made), Title: b.some(6), Channel: "The " + word(uint64(channel)), ChannelID: fmt.Sprint("UC", channel),
		Category: "10", Language: "en", Thumbnail: fmt.Sprintf("https://i.ytimg.com/vi/g%010d/hqdefault.jpg", b.made),
		PublishedAt: b.now.Add(-time.Hour), Duration: 3 * time.Minute, Views: &views, Likes: &views, Comments: &views, Tags: strings.Fields(b.some(8)),
	}
}

// chart is a region's next chart: the first stay videos of the present one stay.
func (b *both) chart(region string, stay, n int) []ingest.Video {
	next := append([]ingest.Video{}, b.charts[region][:min(stay, len(b.charts[region]))]...)
	for len(next) < n {
		next = append(next, b.video())
	}
	b.charts[region] = next
	return next
}

// save adds, claims and saves a chart as a run does.
func save(ctx context.Context, s *store.Store, region string, at time.Time, videos []ingest.Video, size int) error {
	due := ingest.Slot{SlotKey: ingest.SlotKey{Job: "chart", Key: region, DueAt: at}, Kind: ingest.KindChart, State: ingest.Due}
	if err := s.AddDue(ctx, []ingest.Slot{due}); err != nil {
		return err
	}
	slot, ok, err := s.Claim(ctx, ingest.Claim{Owner: "bench", Now: at, Lease: 5 * time.Minute, Series: map[ingest.Series]bool{due.Series(): true}})
	if err == nil && !ok {
		err = errors.New("the slot is not to be claimed")
	}
	for i := 0; i < len(videos) && err == nil; i += size {
		slot.Charge(map[string]int64{"units": 1}, false)
		slot.Pages, slot.FetchedAt = slot.Pages+1, at
		if i+size >= len(videos) {
			slot.State = ingest.Done
		}
		slot, err = s.SavePage(ctx, slot, ingest.Page{Videos: videos[i:min(i+size, len(videos))]})
	}
	return err
}

func (b *both) passes(ctx context.Context, name string, r *report.Report) ([][]string, error) {
	var took [2][]float64
	var ratios []float64
	for i := range passes + 1 {
		b.now = b.now.Add(time.Minute)
		pass := map[string][]ingest.Video{}
		for _, region := range eight {
			pass[region] = b.chart(region, inChart*3/4, inChart)
		}
		var now [2]float64
		for k, s := range b.stores {
			began := time.Now()
			for _, region := range eight {
				if err := save(ctx, s, region, b.now, pass[region], perPage); err != nil {
					return nil, fmt.Errorf("%s: %w", b.names[k], err)
				}
			}
			if now[k] = time.Since(began).Seconds() * 1000; i > 0 { // in the first chart everything is new
				took[k] = append(took[k], now[k])
			}
		}
		ratios = append(ratios, now[1]/now[0])
	}
	ratio := report.Median(ratios[1:])
	r.Goal("a pass of 8 x 200 rows, "+name, "<= 3 x SQLite's time", report.Ratio(ratio), ratio <= 3)
	return [][]string{{name, fmt.Sprintf("%.0f", report.Median(took[0])), fmt.Sprintf("%.0f", report.Median(took[1])), report.Ratio(ratio)}}, nil
}

// searches fills the first store, copies it into another database, and searches both.
func (b *both) searches(ctx context.Context, s server, videos int, r *report.Report) (rows [][]string, err error) {
	for b.made < videos && err == nil {
		b.now = b.now.Add(time.Minute)
		region := eight[b.made/1000%len(eight)]
		err = save(ctx, b.stores[0], region, b.now, b.chart(region, 0, 1000), 1000)
	}
	if err == nil {
		err = b.stores[1].Close()
	}
	if b.stores[1] = nil; err == nil {
		b.stores[1], err = b.postgres(ctx, s, "copied", store.Options{Upstream: "bench"})
	}
	if err == nil {
		_, err = b.stores[0].CopyInto(ctx, b.stores[1], store.CopyOptions{})
	}
	if err == nil {
		_, err = s.QueryIn(ctx, "copied", "VACUUM ANALYZE")
	}
	if err != nil {
		return nil, err
	}
	var all [2][]float64
	for _, kind := range []struct {
		name string
		ask  func() string
	}{
		{"a common word", func() string { return word(b.rng.Uint64N(40)) }},
		{"a word of a title", func() string { return b.some(1) }},
		{"two words", func() string { return b.some(2) }},
		{"three common words", func() string {
			return word(b.rng.Uint64N(20)) + " " + word(b.rng.Uint64N(20)) + " " + word(b.rng.Uint64N(20))
		}},
		{"two letters", func() string { return b.some(1)[:2] + "*" }},
		{"a word and three letters", func() string { return b.some(1) + " " + b.some(1)[:3] }},
	} {
		var took [2][]float64
		for range searches {
			q := store.SearchQuery{Text: kind.ask()}
			for k, s := range b.stores {
				began := time.Now()
				if _, err := s.Search(ctx, q); err != nil {
					return nil, fmt.Errorf("%s: %q: %w", b.names[k], q.Text, err)
				}
				took[k] = append(took[k], time.Since(began).Seconds()*1000)
			}
		}
		row := []string{kind.name}
		for k := range took {
			all[k] = append(all[k], took[k]...)
			row = append(row, fmt.Sprintf("%.1f", report.Quantile(took[k], 0.5)), fmt.Sprintf("%.1f", report.Quantile(took[k], 0.99)))
		}
		rows = append(rows, append(row, report.Ratio(report.Quantile(took[1], 0.99)/report.Quantile(took[0], 0.99))))
	}
	ratio := report.Quantile(all[1], 0.99) / report.Quantile(all[0], 0.99)
	r.Goal(fmt.Sprintf("searches in %d videos: p99", videos), "<= 2 x SQLite's time", report.Ratio(ratio), ratio <= 2)
	return rows, nil
}
