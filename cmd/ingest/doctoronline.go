package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
)

// dated is an upstream that tells its own clock, by the Date header of its last answer.
type dated interface {
	// Date is the header, and when the answer came by this machine's clock; zero for none.
	Date() (upstream, here time.Time)
}

// lookOnline makes one call: its unit is taken from the ledger first.
func lookOnline(ctx context.Context, d *doctor) finding {
	if d.configErr != nil || d.clockErr != nil {
		return fail(exitConfig, "not asked, nothing was spent: the config is wrong", "correct what is said above")
	}
	if err := d.checkClock(ctx); err != nil {
		return broken(err, "nothing was spent")
	}
	up, err := d.upstream(ctx)
	if err != nil {
		return broken(err, "not asked, nothing was spent: give the key")
	}
	defer up.Close()
	g, closeLedger, err := d.governor(ctx)
	if err != nil {
		return broken(err, "not asked, nothing was spent: the ledger comes first")
	}
	defer closeLedger()
	call := up.Chart(d.anyRegion(), "", "")
	d.say("ingest: asking %s for the chart of %s: 1 call of %s, taken from the ledger as %s", up.Host(), call.Region, call.Method, quota.Manual)
	taken, err := g.Take(ctx, quota.Request{Method: call.Method, Region: string(call.Region), Purpose: quota.Manual})
	switch {
	case err != nil:
		return broken(err, "not asked, nothing was spent: the ledger comes first")
	case !taken.Allowed:
		return warn("not asked, nothing was spent: "+g.Explain(ctx, taken), "ask again when there is quota")
	}
	page, err := call.Do(ctx)
	f := answered(page, err, up, d.clock.Moved)
	f.detail += "; " + d.settle(ctx, g, taken, err)
	return f
}

// settle gives the unit back where the call surely never left, and says what was spent.
func (d *doctor) settle(ctx context.Context, g *quota.Governor, taken quota.Decision, err error) string {
	charged := map[string]int64{}
	for _, p := range taken.Pools {
		if p.Charged > 0 {
			charged[p.Pool] = p.Charged
		}
	}
	text := "spent " + term.Amounts(charged)
	var e *fetch.Error
	if errors.As(err, &e) && e.Verdict == fetch.Unsent {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		text = "the call never left, its cost was given back"
		if err := g.Refund(ctx, taken); err != nil {
			text = "the call never left, but its cost could not be given back: " + err.Error()
		}
	}
	d.say("ingest: %s", term.Clean(text))
	return text
}

// answered judges what came back.
func answered(page ingest.Page, err error, up upstream, moved bool) finding {
	var e *fetch.Error
	switch {
	case err == nil:
		f := fine("its clock is not compared with one that was moved")
		if !moved {
			f = judgeDate(up)
		}
		f.detail = fmt.Sprintf("%s gave %s; %s", up.Host(), term.Plural(len(page.Videos), "video"), f.detail)
		return f
	case !errors.As(err, &e):
		return broken(err, "see the network")
	}
	switch e.Verdict {
	case fetch.BadKey:
		return broken(err, "make a key for this project in the Google Cloud console, and allow it the YouTube Data API v3")
	case fetch.Spent:
		return warn(err.Error(), "other programs spend of this project, or its limit is lower: ingest quota drain POOL closes it until midnight")
	case fetch.Burst, fetch.NoChart:
		return warn(err.Error(), "the key works; ask again later")
	case fetch.Unsent:
		return broken(err, "see the network: DNS, firewall, proxy")
	default:
		return broken(err, "ask again later")
	}
}

// judgeDate compares the clocks, where the upstream's is known.
func judgeDate(up any) finding {
	if u, ok := up.(dated); ok {
		if theirs, here := u.Date(); !theirs.IsZero() {
			return judgeGap(theirs.Sub(here), "the upstream")
		}
	}
	return fine("its clock is not known: compare yours with another machine's")
}

// anyRegion is the first that is configured.
func (d *doctor) anyRegion() ingest.Region {
	for _, job := range d.cfg.Jobs {
		for _, r := range job.Regions {
			return r
		}
	}
	return "US"
}
