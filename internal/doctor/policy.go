package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/policy"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/store"
)

// Policy says which of the provider's terms are kept. It looks at files, and opens none as what it is.
func (d *Doctor) Policy(ctx context.Context) ([]policy.Verdict, error) {
	t, err := d.Tariff()
	if err != nil {
		return nil, err
	}
	now := d.now()
	f := policy.Facts{Account: d.Config.Account, Reachable: d.Config.Reachable(), OwnFrontEnd: d.Config.OwnFrontEnd, NoMetrics: d.Config.HideDerived, Now: now}
	if l, err := openLocal(ctx, d, d.Config.Data); err == nil {
		f.Others, _ = l.OtherAccounts(ctx, f.Account, t.PoolNames(), now.Add(-t.Horizon()))
		_ = l.Close()
	}
	if s, err := storeSummary(ctx, d); err == nil {
		f.LastUsed = s.DoneAt
	}
	oldest := now.AddDate(0, 0, -t.Policy[quota.Retention].Days)
	for _, dir := range append([]string{d.Config.Data}, d.Config.Backups...) {
		copies, err := store.FindCopies(dir)
		if err != nil {
			f.Unread = append(f.Unread, dir)
			continue
		}
		f.Looked = append(f.Looked, dir)
		for _, c := range copies {
			if c.At.Before(oldest) {
				f.Copies = append(f.Copies, c.Path+" of "+c.At.UTC().Format(time.DateOnly))
			}
		}
	}
	return policy.Judge(t.Policy, f), nil
}

func checkPolicy(ctx context.Context, d *Doctor) Finding {
	verdicts, err := d.Policy(ctx)
	if err != nil || len(verdicts) == 0 {
		return noFinding // costs reports it, or the costs name no clause
	}
	count := map[policy.Status]int{}
	var all, broken, advice []string
	for _, v := range verdicts {
		all, count[v.Status] = append(all, v.String()), count[v.Status]+1
		if v.Status == policy.NotKept {
			broken, advice = append(broken, v.String()), append(advice, v.Advice)
		}
	}
	f := okf("%s", strings.Join(all, "; "))
	f.brief = strings.Join(append(broken, fmt.Sprintf("%d kept, %d yours to answer for: ingest config check lists them", count[policy.Kept], count[policy.Yours])), "; ")
	f.Advice = strings.Join(advice, "; ")
	switch {
	case policy.Refusal(verdicts) != nil:
		f.Status, f.Class = Fail, BadConfig
	case len(advice) > 0:
		f.Status = Warn
	}
	return f
}
