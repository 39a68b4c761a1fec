package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// checkOnline makes one call, whose unit is taken from the ledger first.
func checkOnline(ctx context.Context, d *Doctor) Finding {
	if d.ConfigErr != nil || d.ClockErr != nil {
		return fail(BadConfig, "not asked, nothing was spent: the config is wrong", "correct the errors above")
	}
	if err := d.Online.CheckClock(ctx); err != nil {
		return failWith(err, "nothing was spent")
	}
	up, err := d.Online.Upstream(ctx)
	if err != nil {
		return failWith(err, "not asked, nothing was spent: give the key")
	}
	defer up.Close()
	const notAsked, ledgerFirst = "not asked, nothing was spent: ", "the ledger comes first: mend it, and ask again"
	q, closeQuota, err := d.Online.Quota(ctx)
	if err != nil {
		return failAs(err, notAsked+err.Error(), ledgerFirst)
	}
	defer closeQuota()
	region := append(d.Config.RegionCodes(), "US")[0] // the first configured region, else US
	call := up.Chart(ingest.Region(region), "", "")
	d.Say("ingest: asking %s for the chart of %s: 1 call of %s, taken from the ledger as %s",
		up.Host(), call.Region, call.Method, quota.Manual)
	taken, err := q.Take(ctx, quota.Request{Method: call.Method, Region: string(call.Region), Purpose: quota.Manual})
	switch {
	case err != nil:
		return failAs(err, notAsked+err.Error(), ledgerFirst)
	case !taken.Allowed:
		return warn(notAsked+q.Explain(ctx, taken), "ask again when there is quota")
	}
	page, err := call.Do(ctx)
	var f Finding
	if err != nil {
		f = judgeFailure(err)
	} else {
		f = d.judgeUpstreamClock(up)
		f.Detail = fmt.Sprintf("%s gave %s; %s", up.Host(), term.Plural(len(page.Videos), "video"), f.Detail)
	}
	spent := refundUnsent(ctx, q, taken, err)
	d.Say("ingest: %s", term.Clean(spent))
	f.Detail += "; " + spent
	return f
}

// refundUnsent refunds a call that was certainly never sent, and says how much was spent.
func refundUnsent(ctx context.Context, q *quota.Governor, taken quota.Decision, err error) string {
	if e, ok := errors.AsType[*fetch.Error](err); ok && e.Verdict == fetch.Unsent {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := q.Refund(ctx, taken); err != nil {
			return "the call never left, but its cost could not be given back: " + err.Error()
		}
		return "the call never left, its cost was given back"
	}
	charged := map[string]int64{}
	for _, p := range taken.Pools {
		if p.Charged > 0 {
			charged[p.Pool] = p.Charged
		}
	}
	return "spent " + term.Amounts(charged)
}

func judgeFailure(err error) Finding {
	var e *fetch.Error
	if !errors.As(err, &e) {
		return failWith(err, "see the network")
	}
	switch e.Verdict {
	case fetch.BadKey:
		return failWith(err, "make a key for this project in the Google Cloud console, and allow it the YouTube Data API v3")
	case fetch.Spent:
		return warn(err.Error(), "other programs spend this project's quota, or its limit is lower: "+
			"ingest quota drain POOL closes it until midnight")
	case fetch.Burst, fetch.NoChart:
		return warn(err.Error(), "the key works; ask again later")
	case fetch.Unsent:
		return failWith(err, "see the network: DNS, firewall, proxy")
	default:
		return failWith(err, "ask again later")
	}
}

func (d *Doctor) judgeUpstreamClock(up dated) Finding {
	if d.Clock.Moved {
		return okf("its clock is not compared with one that was moved")
	}
	theirs, here := up.Date()
	if theirs.IsZero() {
		return okf("its clock is not known: compare your clock with another machine's clock")
	}
	gap := theirs.Sub(here)
	if gap < 0 { // the header leaves out the fraction of a second
		gap = min(gap+time.Second, 0)
	}
	return judgeClockGap(gap, ingest.ClockAhead, "the upstream", "by such a clock a run fetches and deletes nothing")
}
