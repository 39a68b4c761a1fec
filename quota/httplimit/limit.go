package httplimit

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// limit asks the ledger, and serves or refuses.
func (l *Limiter) limit(w http.ResponseWriter, r *http.Request, addr netip.Addr, next http.Handler) {
	c, authorized := l.client(r, addr)
	q := l.question(c.plan, r)
	if q == nil {
		l.count(&l.stats.Allowed)
		l.serve(w, r, authorized, next, nil)
		return
	}
	if full := l.full.Load(); full != nil && q.charges[0].Amount >= full.cost && !l.Observe {
		wait := full.until.Sub(l.Now().Round(0))
		if wait > 0 && wait <= l.outer.horizon { // otherwise the clock was set back
			l.refuseAll(w, wait)
			return
		}
	}
	var taken []charged
	d, err := l.take(r, c.account, q.charges, q)
	switch {
	case err != nil:
		if !l.goOn(w, r) {
			return
		}
	case !d.Allowed:
		l.count(&l.stats.Refused)
		if !l.Observe {
			l.refuse(w, q, d)
			return
		}
	default:
		if l.outer != nil || l.SuccessesOnly { // else nothing is ever given back
			taken = append(taken, charged{c.account, d})
		}
		if !l.takeOuter(w, r, q.charges[0].Amount, &taken) {
			return
		}
		l.count(&l.stats.Allowed)
		if !l.Observe {
			l.setFields(w.Header(), q, d)
		}
	}
	l.serve(w, r, authorized, next, taken)
}

// charged is a decision that may be refunded.
type charged struct {
	account  string
	decision quota.Decision
}

// take asks the ledger. A client that hangs up does not cancel it: otherwise hanging up would avoid being counted.
func (l *Limiter) take(r *http.Request, account string, charges []quota.Charge, q *question) (quota.Decision, error) {
	ctx, cancel := l.bounded(r)
	defer cancel()
	d, err := l.Ledger.Take(ctx, quota.Ask{
		Account: account, Who: quota.Who{Purpose: quota.Manual, Method: "http"}, Charges: charges,
		Horizon: q.horizon, Precision: q.precision, HasFallback: reads(r),
	})
	if failed := err != nil; l.failing.Load() != failed && l.failing.CompareAndSwap(!failed, failed) && l.Log != nil {
		if failed {
			l.Log.LogAttrs(ctx, slog.LevelWarn, "limits per client are not checked: reads go on, writes get 503", slog.String("error", err.Error()))
		} else {
			l.Log.LogAttrs(ctx, slog.LevelInfo, "limits per client are checked again")
		}
	}
	return d, err
}

func (l *Limiter) bounded(r *http.Request) (context.Context, context.CancelFunc) {
	if l.Timeout < 0 {
		return r.Context(), func() {}
	}
	return context.WithTimeout(context.WithoutCancel(r.Context()), l.Timeout)
}

// reads reports whether the request changes nothing.
func reads(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
}

// goOn decides about a request when the ledger did not answer: requests that only read are served.
func (l *Limiter) goOn(w http.ResponseWriter, r *http.Request) bool {
	if reads(r) || l.Observe {
		l.count(&l.stats.FailedOpen)
		return true
	}
	l.count(&l.stats.FailedClosed)
	Problem{Status: http.StatusServiceUnavailable, Detail: "limits cannot be checked right now: try again soon"}.Write(w)
	return false
}

// takeOuter charges the limit of all clients together. If it refuses, or cannot be asked for a write, the client's own
// charge is refunded where the ledger can tell it from others.
func (l *Limiter) takeOuter(w http.ResponseWriter, r *http.Request, cost int64, taken *[]charged) bool {
	if l.outer == nil {
		return true
	}
	charges := slices.Clone(l.outer.charges)
	charges[0].Amount = cost
	account := l.Prefix + ".all"
	d, err := l.take(r, account, charges, l.outer)
	switch {
	case err != nil:
		if l.goOn(w, r) {
			return true
		}
		l.refund(r, *taken)
		return false
	case d.Allowed:
		*taken = append(*taken, charged{account, d})
		return true
	case l.Observe:
		l.count(&l.stats.Overloaded)
		return true
	}
	l.refund(r, *taken)
	l.full.Store(&full{cost, l.Now().Round(0).Add(d.RetryAfter)})
	l.refuseAll(w, d.RetryAfter)
	return false
}

// refuse answers a request above a client's limit.
func (l *Limiter) refuse(w http.ResponseWriter, q *question, d quota.Decision) {
	l.setFields(w.Header(), q, d)
	violated, wait := q.violated(d), seconds(d.RetryAfter)
	w.Header().Set("Retry-After", strconv.FormatInt(wait, 10))
	Problem{
		Status: http.StatusTooManyRequests, Type: quotaExceeded, Title: "Request cannot be satisfied as assigned quota has been exceeded",
		Detail:   "the limit " + strings.Join(violated, " and ") + " is used up: try again in " + strconv.FormatInt(wait, 10) + " s",
		Violated: violated,
	}.Write(w)
}

// refuseAll answers while the limit of all clients together is used up.
func (l *Limiter) refuseAll(w http.ResponseWriter, after time.Duration) {
	l.count(&l.stats.Overloaded)
	w.Header().Set("Retry-After", strconv.FormatInt(seconds(after), 10))
	Problem{
		Status: http.StatusServiceUnavailable, Type: reducedCapacity, Title: "Request cannot be satisfied due to temporary server capacity constraints",
		Detail: "all clients together have used up what there is: try again in " + strconv.FormatInt(seconds(after), 10) + " s", Violated: []string{"all"},
	}.Write(w)
}

// seconds rounds up to at least 1, so that nobody retries too early.
func seconds(d time.Duration) int64 {
	return max(int64(math.Ceil(d.Seconds())), 1)
}

// serve calls the handler, or answers 401 for an unknown token. That stays charged, so that guessing is limited.
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
	watched := &statusWriter{ResponseWriter: w, status: http.StatusInternalServerError} // the status of a panic
	defer func() {
		if watched.status >= 500 {
			l.refund(r, taken)
		}
	}()
	next.ServeHTTP(watched, r)
	if !watched.wrote {
		watched.status = http.StatusOK
	}
}

// refund gives back charges where the ledger can tell them from others.
func (l *Limiter) refund(r *http.Request, taken []charged) {
	for _, t := range taken {
		ctx, cancel := l.bounded(r)
		if l.Ledger.Refund(ctx, t.account, t.decision) == nil {
			l.count(&l.stats.Refunded)
		}
		cancel()
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
