package quota

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/amount"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Explain describes a refusal for a person: which window, how much of the provider's day is left, who spent most, and
// when there is room again.
func (g *Governor) Explain(ctx context.Context, d Decision) string {
	if d.Refusal == nil {
		return ""
	}
	return d.Sentence(g.TopSpender(ctx, d.Refusal.Pool, d.At))
}

// TopSpender names the spender that drew most from a pool in the last 24 hours; "" if there was none, or the ledger
// cannot say. It is expensive: the ledger adds up a day's charges.
func (g *Governor) TopSpender(ctx context.Context, pool string, at time.Time) string {
	spent, err := g.ledger().Spent(ctx, g.Account, at.Add(-24*time.Hour), 0)
	i := slices.IndexFunc(spent, func(s Spent) bool { return s.Pool == pool })
	if err != nil || i < 0 {
		return ""
	}
	return fmt.Sprintf("most by %s (%s in 24h)", spent[i].Who, amount.Thousands(spent[i].Amount))
}

// Sentence is Explain with a given TopSpender, or "", and without asking the ledger.
func (d Decision) Sentence(topSpender string) string {
	if d.Refusal == nil {
		return ""
	}
	r := *d.Refusal
	frees := d.RetryAt.Add(time.Second - 1).Truncate(time.Second).UTC().Format(time.DateTime + "Z") // never too early
	parts := []string{r.String()}
	until := r.Reserved > 0 && r.AtOnce == 0
	if until {
		parts[0] += " until " + frees
	}
	if r.RoomIn != "" && counted(r.Pool) && r.Reserved == 0 {
		parts = append(parts, fmt.Sprintf("window %s has room: only our own rule refuses, the line %s: "+
			"under pools.%s in costs.yaml", r.RoomIn, r.Window, r.Pool))
	}
	for _, p := range d.Pools {
		for _, w := range p.Windows {
			if p.Pool == r.Pool && w.Window.Day() && r.Window != protocol.DrainWindow && r.Reserved == 0 && counted(p.Pool) {
				parts = append(parts, fmt.Sprintf("the provider's own day has %s of %s left",
					amount.Thousands(max(w.Window.Limit-w.Used, 0)), amount.Thousands(w.Window.Limit)))
			}
		}
	}
	if topSpender != "" && counted(r.Pool) {
		parts = append(parts, topSpender)
	}
	if !until {
		parts = append(parts, "frees at "+frees)
	}
	return strings.Join(parts, "; ")
}

func (w Who) String() string {
	return strings.Join(strings.Fields(string(w.Purpose)+" "+w.Client+" "+w.Region+" "+w.Method), " ")
}
