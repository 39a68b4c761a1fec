package httplimit

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// steps is the number of parts of the shortest window: requests within one part share an entry.
const steps = 60

// plan holds the questions for a client's requests by route; "" is every other request. Observed limits are in
// questions of their own, in pools of their own, so that they are charged as if they were enforced.
type plan struct {
	enforced, observed map[string]*question
	atAddress          *plan // with Config.Addresses, of a client that is an address
}

// question is a request to the ledger, without the account.
type question struct {
	charges   []quota.Charge // shared by all requests, read-only
	windows   [][]*window    // of each charge
	horizon   time.Duration  // the longest window
	precision time.Duration
}

// compile prepares the questions of all requests, and refuses questions that no ledger could answer.
func (l *Limiter) compile() (err error) {
	if err = l.addRoutes(); err != nil {
		return err
	}
	if l.capped, err = l.newQuestions("address", l.Addresses, l.Routes...); err != nil {
		return fmt.Errorf("httplimit: address: %w", err)
	}
	if l.anonymous, err = l.newPlan("", l.Limits); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.Plans)) {
		if l.plans[name], err = l.newPlan(name, l.Plans[name]); err != nil {
			return err
		}
	}
	l.known = &knownClients{most: l.MaxClients, horizon: max(l.longest, time.Second), seed: maphash.MakeSeed(),
		current: map[uint64]struct{}{}}
	if l.outer, err = l.newQuestions("outer", l.Outer); err != nil {
		return fmt.Errorf("httplimit: outer: %w", err)
	}
	for _, route := range l.Routes {
		for _, limit := range l.Outer {
			if route.Cost > limit.Quota {
				return fmt.Errorf("httplimit: outer: route %s costs %d, above the quota of %d", route.Name, route.Cost, limit.Quota)
			}
		}
	}
	return l.checkTokens()
}

// addRoutes builds the table of routes.
func (l *Limiter) addRoutes() (err error) {
	l.names, l.costs = map[string]string{}, map[string]int64{}
	if len(l.Routes) == 0 {
		return nil
	}
	defer func() { // a ServeMux panics at wrong or conflicting patterns
		if p := recover(); p != nil {
			err = fmt.Errorf("httplimit: routes: %v", p)
		}
	}()
	l.routes = http.NewServeMux()
	l.Routes = append([]Route(nil), l.Routes...)
	seen := map[string]bool{}
	for i := range l.Routes {
		route := &l.Routes[i]
		route.Cost = cmp.Or(route.Cost, 1)
		switch {
		case len(route.Name) > 32 || quota.CheckAccount(route.Name) != nil || seen[route.Name]:
			return fmt.Errorf("httplimit: route name %q: use a name of its own, of up to 32 letters, digits, '.', '-' and '_'",
				route.Name)
		case route.Cost < 1:
			return fmt.Errorf("httplimit: route %s costs %d: use 1 or more", route.Name, route.Cost)
		}
		seen[route.Name] = true
		l.routes.Handle(route.Pattern, http.NotFoundHandler())
		l.names[route.Pattern], l.costs[route.Name] = route.Name, route.Cost
	}
	return nil
}

// newPlan returns the questions for clients of a plan; "" is the plan of clients without one.
func (l *Limiter) newPlan(name string, limits []Limit) (*plan, error) {
	label := "limits"
	if name != "" {
		label = "plans." + name
	}
	p, err := l.newQuestions(label, limits, l.Routes...)
	if err == nil {
		p.atAddress, err = p.with(l.capped)
	}
	if err != nil {
		return nil, fmt.Errorf("httplimit: plan %q, %w", name, err)
	}
	return p, nil
}

// with returns the plan with a second plan's charges in the same questions.
func (p *plan) with(second *plan) (*plan, error) {
	both := &plan{enforced: maps.Clone(p.enforced), observed: maps.Clone(p.observed)}
	for _, from := range []struct{ into, more map[string]*question }{
		{both.enforced, second.enforced}, {both.observed, second.observed},
	} {
		for route, more := range from.more {
			q := from.into[route]
			if q == nil {
				from.into[route] = more
				continue
			}
			for _, c := range more.charges {
				for _, b := range c.Bounds {
					if q.has(b.Window.Name) {
						return nil, fmt.Errorf("two limits are named %q", b.Window.Name)
					}
				}
			}
			from.into[route] = &question{slices.Concat(q.charges, more.charges), slices.Concat(q.windows, more.windows),
				max(q.horizon, more.horizon), min(q.precision, more.precision)}
		}
	}
	return both, nil
}

func (l *Limiter) newQuestions(label string, limits []Limit, routes ...Route) (*plan, error) {
	p := &plan{enforced: map[string]*question{}, observed: map[string]*question{}}
	for _, route := range append([]Route{{Cost: 1}}, routes...) {
		for i, questions := range []map[string]*question{p.enforced, p.observed} {
			q, err := l.newQuestion(i == 1, label, limits, route)
			if err != nil {
				return nil, fmt.Errorf("route %q: %w", route.Name, err)
			}
			if q != nil {
				questions[route.Name] = q
				l.windows = append(l.windows, q.counted(label, route.Name, i == 1)...)
			}
		}
	}
	return p, nil
}

// newQuestion returns a route's request to the ledger under these limits, the observed or the enforced; nil if nothing
// is limited.
func (l *Limiter) newQuestion(observed bool, label string, limits []Limit, route Route) (*question, error) {
	of := func(all []Limit) []Limit {
		return slices.DeleteFunc(slices.Clone(all),
			func(limit Limit) bool { return (limit.Observe || l.Observe) != observed })
	}
	q, pool, requests, prefix := &question{}, "", "requests", ""
	if observed {
		pool = "observed-"
	}
	if label == "address" { // the address's account has its other limits too
		requests, prefix, route.Limits = "address", "address-", nil
	}
	if err := q.add(pool+requests, prefix, of(limits), route.Cost); err != nil {
		return nil, err
	}
	if err := q.add(pool+"route-"+route.Name, route.Name+"-", of(route.Limits), route.Cost); err != nil {
		return nil, err
	}
	if len(q.charges) == 0 {
		return nil, nil
	}
	if l.SuccessesOnly {
		q.precision = 0 // one of several requests in an entry cannot be refunded
	}
	l.longest = max(l.longest, q.horizon)
	a := quota.Ask{Account: l.Prefix, Charges: q.charges, Horizon: q.horizon}
	return q, a.Check(time.Time{})
}

// add adds a pool with its windows.
func (q *question) add(pool, prefix string, limits []Limit, cost int64) error {
	if len(limits) == 0 {
		return nil
	}
	c := quota.Charge{Pool: pool, Amount: cost}
	for _, limit := range limits {
		w, name := limit.Window, prefix+cmp.Or(limit.Name, strictyaml.FormatDuration(limit.Window))
		switch {
		case w < time.Second || w > protocol.MaxWindow || w%time.Second != 0:
			return fmt.Errorf("a window of %v: use whole seconds, 1s..%v", w, protocol.MaxWindow)
		case quota.CheckAccount(name) != nil:
			return fmt.Errorf("limit %q: use letters, digits, '.', '-' and '_'", name)
		}
		if (&question{charges: append(q.charges, c)}).has(name) {
			return fmt.Errorf("two limits are named %q", name)
		}
		c.Bounds = append(c.Bounds, quota.Bound{Window: quota.Window{Name: name, Length: w, Limit: limit.Quota},
			Ceiling: limit.Quota})
		q.horizon = max(q.horizon, w)
		if q.precision == 0 || w/steps < q.precision {
			q.precision = w / steps
		}
	}
	q.charges = append(q.charges, c)
	return nil
}

// has reports whether one of the question's windows has a name.
func (q *question) has(name string) bool {
	return slices.ContainsFunc(q.charges, func(c quota.Charge) bool {
		return slices.ContainsFunc(c.Bounds, func(b quota.Bound) bool { return b.Window.Name == name })
	})
}

// costing returns the question for a cost, and the name of a limit below it, "" if there is none. An exact one is
// charged as an entry of its own, which can be refunded.
func (q *question) costing(cost int64, exact bool) (other *question, unfit string) {
	if cost == q.charges[0].Amount && !exact {
		return q, ""
	}
	other = &question{slices.Clone(q.charges), q.windows, q.horizon, q.precision}
	if exact {
		other.precision = 0
	}
	for i := range other.charges {
		other.charges[i].Amount = cost
		for _, b := range other.charges[i].Bounds {
			if cost > b.Ceiling {
				unfit = b.Window.Name
			}
		}
	}
	return other, unfit
}

// route returns the name of the route of r; "" for every other request.
func (l *Limiter) route(r *http.Request) string {
	if l.routes == nil {
		return ""
	}
	_, pattern := l.routes.Handler(r)
	return l.names[pattern]
}
