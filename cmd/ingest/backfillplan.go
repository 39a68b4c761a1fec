package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/quota"
)

func (a *app) backfillPlanCommand() *cobra.Command {
	cmd := command("plan", "Price a backfill, keep it as a plan; spends nothing without --ask", noArgs,
		func(context.Context, []string) error {
			return usageError{errors.New("plan what? The kinds are uploads, search, videos and refresh")}
		})
	cmd.AddCommand(a.kindCommands("plan", a.planBackfill)...)
	return cmd
}

func (a *app) planBackfill(ctx context.Context, request backfillRequest) error {
	if err := a.canRefill(); err != nil {
		return err
	}
	connect := openKeyless // planning sends nothing
	if request.ask {
		connect = openUpstream // asking the upstream needs a key
	}
	w, err := a.openWith(ctx, connect)
	if err != nil {
		return err
	}
	defer w.close()
	p, err := a.preparePlan(ctx, w, request)
	if err != nil {
		return err
	}
	if err := a.reprice(ctx, w, p); err != nil {
		return err
	}
	doc, err := a.planDocument(ctx, w, p)
	if err != nil {
		return err
	}
	return a.show(doc)
}

func (a *app) preparePlan(ctx context.Context, w *fetchRuntime, request backfillRequest) (*pricedBackfill, error) {
	p, err := a.findOrAdd(ctx, w, request)
	if err != nil || !request.ask {
		return p, err
	}
	return p, a.askSizes(ctx, w, p)
}

// askSizes asks how many videos each channel of a plan has, stores the answers and prices the plan again. Each channel
// costs one call of purpose backfill. A channel keeps its price range if quota ends before the call for it, or if it
// gives no number. If part of the plan is fetched, nothing is asked: an answer would count videos that are fetched
// already.
func (a *app) askSizes(ctx context.Context, w *fetchRuntime, p *pricedBackfill) error {
	archive, ok := any(w.upstream).(fetch.Archive)
	if !ok || len(p.Spec.Channels) == 0 || p.Open() != len(p.Spec.Channels) {
		return nil
	}
	p.asked = quota.Cost{}
	sizes, err := a.askChannels(ctx, w, p, archive)
	if err := errors.Join(err, saveSizes(ctx, w, p.ID, sizes)); err != nil {
		return err
	}
	if err := p.price(ctx, w); err != nil {
		return err
	}
	for pool, amount := range p.asked {
		p.Left[pool] = max(p.Left[pool]-amount, 0)
	}
	return nil
}

// saveSizes stores the answers even if asking failed or was interrupted: they are paid for.
func saveSizes(ctx context.Context, w *fetchRuntime, id string, sizes map[string]int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return w.store.NoteSizes(ctx, id, sizes)
}

// askChannels asks the upstream for the unknown sizes of channels, until quota ends.
func (a *app) askChannels(ctx context.Context, w *fetchRuntime, p *pricedBackfill,
	archive fetch.Archive) (map[string]int, error) {
	known, err := w.store.OpenSizes(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	sizes := map[string]int{}
	for i, ref := range p.Spec.Channels {
		if _, ok := known[ref]; ok {
			continue
		}
		call := archive.Channel(ref)
		d, err := w.ledger.Take(ctx, quota.Request{Method: call.Method, Purpose: quota.Backfill, Reserve: p.Reserve})
		if err != nil {
			return sizes, err
		}
		if !d.Allowed {
			a.say("ingest: stopped after %d of %d channels: %s", i, len(p.Spec.Channels), w.ledger.Explain(ctx, d))
			break
		}
		for _, pool := range d.Pools {
			p.asked[pool.Pool] += pool.Charged
		}
		channel, err := call.Do(ctx)
		switch answer, ok := errors.AsType[*fetch.Error](err); {
		case ok && answer.Verdict == fetch.Rejected:
			a.say("ingest: %s: %v", ref, err)
			sizes[ref] = budget.NoChannel
		case err != nil:
			return sizes, err
		case channel.Videos != nil:
			sizes[ref] = int(*channel.Videos)
		}
	}
	return sizes, nil
}
