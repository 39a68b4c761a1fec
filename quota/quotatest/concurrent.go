package quotatest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/trendvidstream/ingest/quota"
)

// manyWriters is 64 goroutines on one handle, repeatedly, since takes of a microsecond seldom overlap.
func manyWriters(r *rig) {
	for began := time.Now(); time.Since(began) < 300*time.Millisecond && !r.Failed(); {
		r.fresh(noon)
		swarm(r, slices.Repeat([]quota.Ledger{r.ledger}, 64))
	}
}

// manyHandles is 8 handles of the store with 4 goroutines each.
func manyHandles(r *rig) {
	var ledgers []quota.Ledger
	for range 8 {
		ledgers = append(ledgers, r.store.Another(r))
	}
	swarm(r, slices.Repeat(ledgers, 4))
}

// swarm lets every writer take as much as it can, from two pools and in different amounts. Together they must get
// exactly the limit, without errors, and the ledger's sums must agree with theirs.
func swarm(r *rig, writers []quota.Ledger) {
	const limit, search = 400, 300
	bounds := []quota.Bound{per(24*time.Hour, limit), daily(limit)}
	units, other := charge("units", 1, bounds...), charge("search", 1, per(time.Hour, search))
	got := make([][2]int64, len(writers))
	errs := make([]error, len(writers))
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i, l := range writers {
		asks := []quota.Ask{r.ask(units, other), r.ask(other, units), r.ask(units)}
		wg.Go(func() {
			<-start
			for refused := false; !refused && got[i][0] <= limit; {
				refused = true
				for _, a := range asks {
					d, err := l.Take(r.Context(), a)
					if err != nil {
						errs[i] = err
						return
					}
					refused = refused && !d.Allowed
					for _, p := range d.Pools {
						if p.Pool == "units" {
							got[i][0] += p.Charged
						} else {
							got[i][1] += p.Charged
						}
					}
				}
			}
		})
	}
	close(start)
	wg.Wait()
	var sum [2]int64
	for i := range writers {
		if errs[i] != nil {
			r.Errorf("writer %d: %v", i, errs[i])
		}
		sum[0], sum[1] = sum[0]+got[i][0], sum[1]+got[i][1]
	}
	if sum[0] != limit || sum[1] > search {
		r.Errorf("%d writers drew %d of %d units and %d of %d searches", len(writers), sum[0], limit, sum[1], search)
	}
	r.bounds = bounds
	r.used(limit, limit)
	if used := r.draw(charge("search", 0, per(time.Hour, search))).Pools[0].Windows[0].Used; used != sum[1] {
		r.Errorf("the ledger counts %d searches, %d were admitted", used, sum[1])
	}
}

// linearizable runs concurrent clients under a clock that one of them moves. It checks that the operations, each
// placed at some moment between its start and its end, agree with the naive model.
func linearizable(r *rig) {
	for round := range 5 {
		r.fresh(noon)
		history := record(r, round)
		if result, _ := porcupine.CheckOperationsVerbose(takes, history, 20*time.Second); result != porcupine.Ok {
			r.Fatalf("round %d: %s: no order of these explains them:\n%s", round, result, describe(history))
		}
	}
}

// operation is a client's operation, with its answer filled in.
type operation struct {
	amount  int64 // to take; 0 peeks; negative gives the client's last take back
	back    quota.Decision
	got     quota.Decision
	err     error
	windows []quota.Bound
}

func record(r *rig, round int) []porcupine.Operation {
	const clients, each = 6, 8
	bounds := []quota.Bound{per(2*second, 12), per(10*second, 20)}
	var mu sync.Mutex
	var history []porcupine.Operation
	var wg sync.WaitGroup
	began := time.Now()
	for client := range clients {
		wg.Go(func() {
			var last quota.Decision
			for i := range each {
				turn := client + i*5 + round*7
				o := operation{amount: []int64{3, 1, 0, 2, 5, -1, 1, 7}[turn%8], windows: bounds}
				if client == 0 && i%2 == 1 {
					r.pass(900 * time.Millisecond)
				}
				if o.amount < 0 && !last.Allowed {
					o.amount = 0
				}
				a := r.ask(charge("units", max(o.amount, 0), bounds...))
				call := time.Since(began)
				if o.amount < 0 {
					o.back, last = last, quota.Decision{}
					o.err = r.ledger.Refund(context.WithoutCancel(r.Context()), r.account, o.back)
				} else {
					o.got, o.err = r.ledger.Take(r.Context(), a)
				}
				back := time.Since(began)
				if o.amount > 0 && o.got.Allowed {
					last = o.got
				}
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: client, Input: nil, Output: o,
					Call: call.Nanoseconds(), Return: back.Nanoseconds()})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for i := range history {
		history[i].Input = history[i].Output
	}
	return history
}

// lot is one entry of the sequential model.
type lot struct {
	at     time.Time
	amount int64
}

// takes is the sequential model: the entries so far, in any order. It takes the time from each answer, and computes
// all else.
var takes = porcupine.Model{
	Init: func() any { return []lot(nil) },
	Step: func(state, _, output any) (bool, any) {
		lots, _ := state.([]lot)
		o, _ := output.(operation)
		if o.err != nil {
			return false, lots
		}
		if o.amount < 0 {
			back := lot{o.back.At, o.back.Pools[0].Charged}
			i := slices.Index(lots, back)
			if i < 0 {
				return false, lots
			}
			return true, slices.Delete(slices.Clone(lots), i, i+1)
		}
		p := o.got.Pools[0]
		fits := true
		free := int64(quota.MaxLimit)
		for i, b := range o.windows {
			used := int64(0)
			for _, l := range lots {
				if o.got.At.Before(l.at.Add(b.Window.Length)) {
					used += l.amount
				}
			}
			if p.Windows[i].Used != used+p.Charged {
				return false, lots
			}
			fits = fits && (o.amount == 0 || used+o.amount <= b.Ceiling)
			free = min(free, max(b.Ceiling-used-p.Charged, 0))
		}
		if fits != o.got.Allowed || p.Remaining != free {
			return false, lots
		}
		if o.got.Allowed && o.amount > 0 {
			lots = append(slices.Clone(lots), lot{o.got.At, o.amount})
		}
		return true, lots
	},
	Equal: func(a, b any) bool {
		x, _ := a.([]lot)
		y, _ := b.([]lot)
		return slices.Equal(x, y)
	},
}

func describe(history []porcupine.Operation) string {
	out := ""
	for _, h := range history {
		o, _ := h.Output.(operation)
		what := fmt.Sprintf("take %d: %s", o.amount, show(o.got))
		if o.amount < 0 {
			what = fmt.Sprintf("refund %s", show(o.back))
		}
		out += fmt.Sprintf("%8d..%8d ns, client %d: %s, %v\n", h.Call, h.Return, h.ClientId, what, o.err)
	}
	return out
}
