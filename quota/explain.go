package quota

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Explain says a refusal in words for a person: which window, what the provider's own day still has, who
// spent most, when it frees.
func (g *Governor) Explain(ctx context.Context, d Decision) string {
	if d.Refusal == nil {
		return ""
	}
	r := *d.Refusal
	parts := []string{r.String()}
	if r.RoomIn != "" {
		parts = append(parts, fmt.Sprintf("window %s has room: only our own rule refuses, the line %s: under pools.%s in costs.yaml", r.RoomIn, r.Window, r.Pool))
	}
	for _, p := range d.Pools {
		for _, w := range p.Windows {
			if p.Pool == r.Pool && w.Window.Day() && r.Window != DrainWindow {
				parts = append(parts, fmt.Sprintf("the provider's own day has %d of %d left", max(w.Window.Limit-w.Used, 0), w.Window.Limit))
			}
		}
	}
	if spent, err := g.Ledger.Spent(ctx, g.Account, d.At.Add(-24*time.Hour)); err == nil {
		if i := slices.IndexFunc(spent, func(s Spent) bool { return s.Pool == r.Pool }); i >= 0 {
			parts = append(parts, fmt.Sprintf("most by %s (%d in 24h)", spent[i].Who, spent[i].Amount))
		}
	}
	frees := d.RetryAt.Add(time.Second - 1).Truncate(time.Second) // never too early
	parts = append(parts, "frees at "+frees.UTC().Format(time.RFC3339))
	return strings.Join(parts, "; ")
}

func (w Who) String() string {
	return strings.Join(strings.Fields(string(w.Purpose)+" "+w.Client+" "+w.Region+" "+w.Method), " ")
}
