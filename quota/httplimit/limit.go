package httplimit

import (
	"cmp"
	"math"
	"net/http"
	"net/netip"
	"time"
)

// limit serves a request of a client at addr if the limits admit it, and refuses it otherwise.
func (l *Limiter) limit(w http.ResponseWriter, r *http.Request, addr netip.Addr, next http.Handler) {
	if contains(l.Deny, addr) {
		l.count(&l.stats.Denied)
		if !l.Observe {
			Problem{Status: http.StatusForbidden, Detail: "this address may not use this service"}.Write(w)
			return
		}
	}
	if contains(l.Allow, addr) {
		next.ServeHTTP(w, r)
		return
	}
	clients, authorized := l.clients(r, addr)
	asked, _ := l.request(l.route(r), -1, "", clients...)
	v := l.decide(r.Context(), asked)
	if !l.write(w, v) {
		return
	}
	l.serve(w, r, authorized, next, v.taken)
}

// request returns the clients' charges for a route, at a cost (below 0: the route's own). Under a key they are charged
// only once. unfit is the name of a limit below the cost.
func (l *Limiter) request(route string, cost int64, once string, clients ...client) (r request, unfit string) {
	r.route, r.once, r.client = route, once, clients[0].account
	if r.cost = cost; cost < 0 {
		r.cost = max(l.costs[route], 1)
	}
	add := func(into *[]part, account string, q *question) {
		if q == nil {
			return
		}
		q, above := q.costing(r.cost, once != "" || len(clients) > 1)
		if into == &r.parts {
			unfit = cmp.Or(unfit, above)
		}
		*into = append(*into, part{account: account, question: q})
	}
	for _, c := range clients {
		add(&r.parts, c.account, c.plan.enforced[route])
		add(&r.observed, c.account, c.plan.observed[route])
	}
	add(&r.parts, l.all, l.outer.enforced[""])
	add(&r.observed, l.all, l.outer.observed[""])
	return r, unfit
}

// seconds rounds up to at least 1, so that no client retries too early.
func seconds(d time.Duration) int64 {
	return max(int64(math.Ceil(d.Seconds())), 1)
}

// serve calls the handler, or answers 401 for an unknown token. The charge stays, so that guessing is limited.
func (l *Limiter) serve(w http.ResponseWriter, r *http.Request, authorized bool, next http.Handler, taken []charged) {
	if !authorized {
		l.count(&l.stats.Unauthorized)
		w.Header().Set("WWW-Authenticate", "Bearer")
		Problem{Status: http.StatusUnauthorized, Detail: "this token is not known here: it may have been replaced"}.Write(w)
		return
	}
	if !l.SuccessesOnly || len(taken) == 0 {
		next.ServeHTTP(w, r)
		return
	}
	watched := &statusWriter{ResponseWriter: w, status: http.StatusInternalServerError} // the status if the handler panics
	defer func() {
		if watched.status >= 500 {
			l.refund(r.Context(), taken)
		}
	}()
	next.ServeHTTP(watched, r)
	if !watched.wrote {
		watched.status = http.StatusOK
	}
}

// statusWriter records the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
	wrote  bool
}

func (w *statusWriter) WriteHeader(status int) {
	if !w.wrote && status >= 200 { // 1xx precede the answer
		w.status, w.wrote = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the wrapped writer.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
