package fetch_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// world is 40 days of a store, a ledger and a moody upstream.
type world struct {
	*rapid.T
	*store.Store
	ctx   context.Context
	bench *bench
	up    *moody
	plan  regions.Schedule
	db    *sql.DB // reads the store

	kept      map[string]bool // the videos after the write before
	refreshes bool            // a job refreshes videos each day
	swept     int64           // units of the slots that sweeps have deleted
	wholeAt   map[numbered]time.Time
}

// numbered is one of a region's charts, from 1.
type numbered struct {
	region ingest.Region
	number int
}

func newWorld(t *testing.T, rt *rapid.T) *world {
	b := newBench(t, 1_000_000)
	w := &world{T: rt, Store: b.onStore(t), ctx: t.Context(), bench: b, wholeAt: map[numbered]time.Time{}}
	w.up = newMoody(rt, b.run.Now)
	day := 24 * time.Hour
	jobs := []ingest.Job{
		{Name: "chart", Kind: ingest.KindChart, Regions: worldly, Every: day, Pages: 1},
		{Name: "cats", Kind: ingest.KindSearch, Query: "cats", Every: day, Pages: 1},
	}
	if w.refreshes = rapid.IntRange(0, 3).Draw(rt, "refresh") > 0; w.refreshes { // without, videos reach their age
		jobs = append(jobs, ingest.Job{Name: "refresh", Kind: ingest.KindRefresh, Every: day})
	}
	var err error
	if w.plan, err = regions.NewSchedule(jobs); err != nil {
		rt.Fatal(err)
	}
	for _, job := range jobs {
		b.run.Jobs[job.Name] = job
	}
	b.run.Schedule, b.run.Upstream, b.run.Sink, b.run.Library = w.plan, w.up, w, w
	if w.db, err = sql.Open("sqlite", "file:"+w.Path()); err != nil {
		rt.Fatal(err)
	}
	t.Cleanup(func() { _ = w.db.Close() })
	return w
}

// Witnesses gives the upstream the witnesses of the next look-up.
func (w *world) Witnesses(ctx context.Context, n int) (ids []string, err error) {
	ids, err = w.Store.Witnesses(ctx, n)
	w.up.witnesses = ids
	return ids, err
}

func (w *world) SavePage(ctx context.Context, slot ingest.Slot, page ingest.Page) (ingest.Slot, error) {
	slot, err := w.Store.SavePage(ctx, slot, page)
	w.look("a chart's page")
	return slot, err
}

func (w *world) SaveVideos(ctx context.Context, slot ingest.Slot, asked ingest.Asked, page ingest.Page) (ingest.Slot, ingest.Absences, error) {
	slot, a, err := w.Store.SaveVideos(ctx, slot, asked, page)
	w.look("a refresh")
	return slot, a, err
}

func (w *world) SaveFound(ctx context.Context, slot ingest.Slot, asked ingest.Asked, page ingest.Page) (ingest.Slot, ingest.Absences, error) {
	slot, a, err := w.Store.SaveFound(ctx, slot, asked, page)
	w.look("a look-up")
	return slot, a, err
}

func (w *world) Sweep(ctx context.Context, now time.Time) (placements, videos int, err error) {
	before := w.charged()
	placements, videos, err = w.Store.Sweep(ctx, now)
	w.swept += before - w.charged()
	w.look("a sweep")
	return placements, videos, err
}

// look finds the videos that the last write has deleted. If the upstream still has one and has shown it in the last 29
// days, the world fails.
func (w *world) look(after string) {
	now := w.bench.now
	kept := make(map[string]bool, len(w.kept)+20)
	for ids, err := range w.Older(w.ctx, now.Add(time.Hour), 999) {
		if err != nil {
			w.Fatal(err)
		}
		for _, id := range ids {
			kept[id] = true
		}
	}
	for id := range w.kept {
		if age := now.Sub(w.up.given[id]); !kept[id] && w.up.has(id) && age < ingest.KeepFor {
			w.Errorf("day %d: %s has deleted %s %v after it came, and the upstream has it", w.up.day(), after, id, age)
		}
	}
	w.kept = kept
}

// number reads one number from the store.
func (w *world) number(query string, args ...any) (n int64) {
	if err := w.db.QueryRowContext(w.ctx, query, args...).Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}

// charged returns the units that slots and backfills have.
func (w *world) charged() int64 {
	return w.number(`SELECT (SELECT coalesce(sum(charges ->> 'units'), 0) FROM slots WHERE kind <> 'backfill') + (SELECT coalesce(sum(charged ->> 'units'), 0) FROM backfills)`)
}

// live runs the due slots and the backfills.
func (w *world) live(o fetch.RunOptions, plans []ingest.Backfill) {
	b := w.bench
	before, charts := w.charged()+w.swept, map[ingest.Region]int{}
	arrived := len(w.up.calls)
	for _, region := range worldly {
		charts[region] = len(w.up.told.charts[region])
	}
	runs := []fetch.RunOptions{o}
	for _, plan := range plans {
		runs = append(runs, fetch.RunOptions{Backfill: &plan})
	}
	var worked []ingest.SlotResult
	for _, o := range runs {
		slots, err := b.run.Run(w.ctx, o)
		if _, failing := errors.AsType[*fetch.Error](err); err != nil && !failing {
			w.Fatalf("day %d: %v", w.up.day(), err)
		}
		worked = append(worked, slots...)
	}
	spent := int64(0)
	for _, slot := range worked {
		spent += slot.Spent
		if region := ingest.Region(slot.Key); slot.Kind == ingest.KindChart && len(w.up.told.charts[region]) > charts[region] {
			w.wholeAt[numbered{region, len(w.up.told.charts[region])}] = slot.DueAt
		}
	}
	units := int64(0)
	for _, call := range w.up.calls[arrived:] {
		units += call.units
	}
	if stored := w.charged() + w.swept - before; spent != units || stored != units {
		w.Errorf("day %d: %d units arrived at the upstream, the run says %d, slots and backfills have %d", w.up.day(), units, spent, stored)
	}
}

// judge compares the charts and the ledger with the upstream's own notes.
func (w *world) judge(t *testing.T) {
	latest, err := w.Latest(w.ctx, w.bench.now)
	if err != nil {
		w.Fatal(err)
	}
	now := standing.At(standing.Facts{Now: w.bench.now, Pace: budget.PacedSchedule{Schedule: w.plan}, StaleAfter: 2, Latest: latest})
	for _, one := range now.Series {
		region := ingest.Region(one.Key)
		if one.Kind != ingest.KindChart {
			continue
		}
		want := w.wholeAt[numbered{region, w.up.told.whole[region]}]
		if whole := latest.Whole(one.Series); !whole.DueAt.Equal(want) {
			w.Errorf("day %d: the newest whole chart of %s is of %v, and %v was the last that was complete: %v", w.up.day(), region, whole.DueAt, want, w.up.told.charts[region])
		}
		newest := w.up.told.whole[region] == len(w.up.told.charts[region]) && !want.IsZero()
		if good := one.Mood() == standing.Good; good && (!newest || w.bench.now.Sub(want) > 2*24*time.Hour) {
			w.Errorf("day %d: %s is %s, and its last complete chart is of %v: %v", w.up.day(), region, one.State, want, w.up.told.charts[region])
		}
	}
	if lost := w.number(`
		SELECT count(*) FROM slots WHERE kind = 'chart' AND state = 'done' AND due_at >= ?
		AND videos <> (SELECT count(*) FROM placements WHERE slot = slots.id)`, w.bench.now.Add(-ingest.KeepFor).Unix()+1); lost > 0 {
		w.Errorf("day %d: %d charts have lost places, want none", w.up.day(), lost)
	}
	if used, arrived := w.bench.used(t), w.up.units(w.bench.now.Add(-24*time.Hour-30*time.Second)); used != arrived {
		w.Errorf("day %d: the ledger has %d units in 24 hours, %d have arrived", w.up.day(), used, arrived)
	}
}

// liveThrough plays 40 days: no video that the upstream still has is deleted before day 29, the newest whole chart is one
// that was complete, no chart is fresh that was not, and each unit that arrived is in the ledger, and in a slot or a
// backfill.
func liveThrough(t *testing.T, rt *rapid.T) (w *world) {
	w = newWorld(t, rt)
	var plans []ingest.Backfill
	for day := range 40 {
		w.bench.now = start.AddDate(0, 0, day).Add(time.Duration(day) * time.Minute)
		w.up.bad = rapid.IntRange(0, 2).Draw(rt, "bad") > 0
		if rapid.IntRange(0, 5).Draw(rt, "backfill") == 0 {
			plans = append(plans, w.planBackfill())
		}
		w.live(fetch.RunOptions{}, plans)
		after := rapid.SampledFrom([]time.Duration{0, 0, 20 * time.Minute, 50 * time.Minute, 70 * time.Minute}).Draw(rt, "again after")
		if after > 0 && w.refreshes {
			w.bench.now = w.bench.now.Add(after)
			w.live(fetch.RunOptions{Force: true, Series: []ingest.Series{{Job: "refresh"}}}, plans)
		}
		w.judge(t)
	}
	return w
}

// planBackfill plans a backfill of some of the videos, and of some that no chart has had yet.
func (w *world) planBackfill() ingest.Backfill {
	kind := rapid.SampledFrom([]ingest.BackfillKind{ingest.BackfillVideos, ingest.BackfillRefresh}).Draw(w.T, "backfill of")
	from := rapid.IntRange(0, 4*w.up.day()+30).Draw(w.T, "backfill from")
	b, _, err := w.AddBackfill(w.ctx, ingest.Backfill{Kind: kind, Created: w.bench.now}, func(yield func(ingest.Piece, error) bool) {
		var ids []string
		for i := range 30 {
			ids = append(ids, videoName(from+i))
		}
		yield(ingest.IDPiece(0, ids), nil) // one, since the passes of two would race for the draws
	})
	if err != nil {
		w.Fatal(err)
	}
	return b
}

// worlds plays n random worlds.
func worlds(t *testing.T, n int) {
	t.Helper()
	before := flag.Lookup("rapid.checks").Value.String()
	if err := flag.Set("rapid.checks", "1"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = flag.Set("rapid.checks", before) }()
	for i := range n {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				w := liveThrough(t, rt)
				t.Logf("%d units, %d answers lacked videos", w.up.units(start), w.up.lookUps)
			})
		})
	}
}

func TestNoRandomAnswersDeleteExistingVideos(t *testing.T) { worlds(t, 1) }

// SOAK has a thousand worlds.
func TestLongNoRandomAnswersDeleteExistingVideos(t *testing.T) {
	n := 20
	if os.Getenv("SOAK") != "" {
		n = 1000
	}
	worlds(t, n)
}
