package main

import (
	"context"
	"errors"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// perPage is how many videos an upstream's page holds.
const perPage = 50

// upstream is the host that the stores remember.
const upstream = "localhost"

// saver is a design that keeps charts: ours, or one that it is compared with.
type saver interface {
	// begin does a chart's work before its first page is there.
	begin(ctx context.Context, c chart) error
	// save stores one chart, page by page, each in its own transaction.
	save(ctx context.Context, c chart) error
	Close() error
}

// slotless is embedded by a design without slots.
type slotless struct{}

func (slotless) begin(context.Context, chart) error { return nil }

// ours is the store as a run uses it: a slot is added, claimed, and saved page by page.
type ours struct {
	*store.Store

	perPage int // perPage, unless a store is only to be filled
	slot    ingest.Slot
}

func openOurs(ctx context.Context, dir string) (*ours, error) {
	s, err := store.Open(ctx, dir, store.Options{Upstream: upstream})
	if err != nil {
		return nil, err
	}
	return &ours{Store: s, perPage: perPage}, nil
}

func (s *ours) begin(ctx context.Context, c chart) error {
	return s.claim(ctx, ingest.Slot{SlotKey: ingest.SlotKey{Job: "chart", Key: string(c.region), DueAt: c.at}, Kind: ingest.KindChart, State: ingest.Due})
}

// claim adds a slot and claims it.
func (s *ours) claim(ctx context.Context, slot ingest.Slot) error {
	if err := s.AddDue(ctx, []ingest.Slot{slot}); err != nil {
		return err
	}
	claimed, ok, err := s.Claim(ctx, ingest.Claim{Owner: "bench", Now: slot.DueAt, Lease: 5 * time.Minute, Series: map[ingest.Series]bool{slot.Series(): true}})
	if err == nil && !ok {
		err = errors.New("the slot is not to be claimed")
	}
	s.slot = claimed
	return err
}

func (s *ours) save(ctx context.Context, c chart) error {
	slot := s.slot
	return inPages(c.videos, s.perPage, func(videos []ingest.Video, last bool) error {
		slot.Charge(map[string]int64{"units": 1}, false)
		slot.Pages, slot.FetchedAt = slot.Pages+1, c.at
		if last {
			slot.State = ingest.Done
		}
		var err error
		slot, err = s.SavePage(ctx, slot, ingest.Page{Videos: videos})
		return err
	})
}

// keep begins and saves a chart.
func (s *ours) keep(ctx context.Context, c chart) error {
	if err := s.begin(ctx, c); err != nil {
		return err
	}
	return s.save(ctx, c)
}

// refresh stores a daily refresh without a changed video. Without it serve would begin with four days' videos at
// once, and delete them, as the stand-in knows none of them.
func (s *ours) refresh(ctx context.Context, at time.Time, known map[string]ingest.Video) error {
	if err := s.claim(ctx, ingest.Slot{SlotKey: ingest.SlotKey{Job: "refresh", DueAt: at}, Kind: ingest.KindRefresh, State: ingest.Due}); err != nil {
		return err
	}
	slot := s.slot
	slot.FetchedAt = at
	for {
		ids, err := s.VideosToRefresh(ctx, at, 0, perPage)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			slot.State = ingest.Done
			_, err := s.SavePage(ctx, slot, ingest.Page{})
			return err
		}
		var page ingest.Page
		for _, id := range ids {
			page.Videos = append(page.Videos, known[id])
		}
		slot.Pages++
		if slot, _, err = s.SaveVideos(ctx, slot, ingest.Asked{IDs: ids}, page); err != nil {
			return err
		}
	}
}

// inPages passes the videos on in pages of that size.
func inPages(videos []ingest.Video, size int, do func(videos []ingest.Video, last bool) error) error {
	for len(videos) > 0 {
		n := min(size, len(videos))
		if err := do(videos[:n], n == len(videos)); err != nil {
			return err
		}
		videos = videos[n:]
	}
	return nil
}
