package httplimit

import (
	"context"
	"encoding/hex"
	"hash/maphash"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"

	"github.com/trendvidstream/ingest/quota"
)

// Windows returns the counts of every window. Their number depends on the Config only.
func (l *Limiter) Windows() []WindowStats {
	out := make([]WindowStats, len(l.windows))
	for i, w := range l.windows {
		out[i] = w.labels
		out[i].Allowed, out[i].Near, out[i].Refused = w.allowed.Load(), w.near.Load(), w.refused.Load()
	}
	return out
}

// counted makes the counters of the question's windows, which its copies share.
func (q *question) counted(limit, route string, observed bool) (all []*window) {
	for _, c := range q.charges {
		var of []*window
		for _, b := range c.Bounds {
			of = append(of, &window{labels: WindowStats{Limit: limit, Route: route, Window: b.Window.Name, Observed: observed}})
		}
		q.windows, all = append(q.windows, of), append(all, of...)
	}
	return all
}

// allow counts an admitted request.
func (q *question) allow(d quota.Decision) {
	for i, of := range q.windows {
		for j, w := range of {
			w.allowed.Add(1)
			if state := d.Pools[i].Windows[j]; 20*(state.Ceiling-state.Used) <= state.Ceiling {
				w.near.Add(1)
			}
		}
	}
}

// refusing returns the windows that refuse. The ledger has no decision about a cost that never fits.
func (q *question) refusing(d quota.Decision) (all []*window) {
	for i, of := range q.windows {
		for j, w := range of {
			b := q.charges[i].Bounds[j]
			if d.Pools == nil && q.charges[i].Amount > b.Ceiling || d.Pools != nil && q.refusedBy(i, d.Pools[i].Windows[j]) {
				all = append(all, w)
			}
		}
	}
	return all
}

func names(of []*window) (all []string) {
	for _, w := range of {
		all = append(all, w.labels.Window)
	}
	return all
}

// denied counts and logs a request that a client's limit refuses, or would refuse.
func (l *Limiter) denied(ctx context.Context, r request, p part, d quota.Decision, observed bool) {
	refusing := p.question.refusing(d)
	for _, w := range refusing {
		w.refused.Add(1)
	}
	if p.account == l.all {
		return
	}
	n, leftOut := l.denials.add(p.account, observed, l.Now())
	if n == 0 || l.Log == nil {
		return
	}
	l.Log.LogAttrs(ctx, slog.LevelInfo, "client limited", slog.String("limit", strings.Join(names(refusing), " ")),
		slog.String("route", r.route),
		slog.String("client", l.clientName(p.account)), slog.Int64("cost", r.cost),
		slog.Int64("reset_s", seconds(d.RetryAfter)),
		slog.Bool("observed", observed), slog.Int64("refused", n), slog.Int64("left_out", leftOut))
}

// ClientNames is how limited clients are named in logs: Hashed keeps addresses of people out of them.
type ClientNames string

// The choices.
const (
	Hashed ClientNames = "hashed" // 16 hex digits, the same until this process ends
	// the address or the name; a name longer than 40 or with other than letters, digits, '.', '-', '_' is hashed
	Plain ClientNames = "plain"
)

func (l *Limiter) clientName(account string) string {
	if l.ClientNames != Plain {
		hash := strconv.FormatUint(maphash.String(l.known.seed, account), 16)
		return strings.Repeat("0", 16-len(hash)) + hash
	}
	kind, name, _ := strings.Cut(account[len(l.Prefix)+1:], "-")
	if b, err := hex.DecodeString(name); kind == "ip" && err == nil {
		if addr, ok := netip.AddrFromSlice(b); ok {
			return addr.String()
		}
		addr, _ := netip.AddrFromSlice(append(b, make([]byte, 8)...)) // half of an IPv6 address
		return netip.PrefixFrom(addr, 64).String()
	}
	if kind == "key" {
		return name
	}
	return kind + "-" + name
}
