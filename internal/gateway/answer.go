package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/httplimit"
)

const (
	soon         = time.Minute      // a refusal that ends sooner is for a rate, not for a spent day
	retryDefault = 10 * time.Second // Retry-After if the wait is unknown
)

// answer is a complete answer. It is not changed once clients share it.
type answer struct {
	status int
	header http.Header
	body   []byte
	asked  bool // it is the outcome of a call, and true for every caller that waited for it
}

var brokeOff = problem(http.StatusBadGateway, "backendError", "the call broke off")

var tooMany = problem(http.StatusTooManyRequests, "rateLimitExceeded",
	fmt.Sprintf("this client has %d requests in progress already", callsAtOnce)).retry(time.Second)

// answerOf passes on the upstream's answer. A call that broke off, a redirect, an answer that makes no sense and a
// refusal of our own key become answers of the gateway.
func answerOf(from wire.Answer, e *fetch.Error) *answer {
	switch {
	case from.Err != nil && e.Verdict == fetch.Unsent:
		return problem(http.StatusServiceUnavailable, "backendError", e.Error()).retry(retryDefault)
	case from.Err != nil, e != nil && from.Status <= 399:
		return problem(http.StatusBadGateway, "backendError", e.Error())
	case e != nil && e.Verdict == fetch.BadKey:
		return problem(http.StatusBadGateway, "backendError",
			"the gateway's own key is refused, the client's token is not at fault: "+e.Error())
	}
	a := &answer{status: from.Status, header: http.Header{"X-Content-Type-Options": {"nosniff"},
		"Content-Security-Policy": {"sandbox"}, "Cache-Control": {"private, no-cache"}}, body: from.Body}
	for _, name := range []string{"Content-Type", "Etag", "Date", "Retry-After"} {
		if v := from.Header[name]; v != nil {
			a.header[name] = v
		}
	}
	return a
}

// problem is an error in the form that Google's client libraries understand.
func problem(status int, reason, message string) *answer {
	message = "ingest gateway: " + message
	body, _ := json.Marshal(map[string]any{"error": map[string]any{ // strings and numbers
		"code": status, "message": message, "status": rpcStatus[status],
		"errors": []map[string]string{{"message": message, "domain": "youtube.quota", "reason": reason}},
	}})
	h := http.Header{
		"Content-Type": {"application/json; charset=UTF-8"}, "Cache-Control": {"no-store"},
		"X-Content-Type-Options": {"nosniff"}, "Ingest-Cost": {"0"},
	}
	return &answer{status: status, header: h, body: append(body, '\n')}
}

// rpcStatus are the words of google/rpc/code.proto.
var rpcStatus = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 408: "DEADLINE_EXCEEDED",
	429: "RESOURCE_EXHAUSTED", 502: "UNAVAILABLE", 503: "UNAVAILABLE",
}

// refused is the answer if no quota is left; sentence is a run's sentence for it.
func refused(d quota.Decision, sentence string) *answer {
	a := problem(http.StatusForbidden, "quotaExceeded", sentence)
	if d.RetryAfter > 0 && d.RetryAfter < soon {
		a = problem(http.StatusTooManyRequests, "rateLimitExceeded", sentence)
	}
	if d.RetryAfter > 0 {
		a.retry(d.RetryAfter)
	}
	return a.left(d)
}

// tooFast is the answer if a call must not be sent yet.
func tooFast(err error) *answer {
	e, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		return brokeOff
	}
	return problem(http.StatusTooManyRequests, "rateLimitExceeded", err.Error()).retry(e.Wait)
}

// unavailable is the answer if err prevents a decision.
func unavailable(err error) *answer {
	switch {
	case errors.Is(err, quota.ErrNeverFits):
		return problem(http.StatusForbidden, "quotaExceeded",
			"one such call costs more than its client may ever spend: see clients: in the config")
	case errors.Is(err, quota.ErrUnknown):
		return problem(http.StatusForbidden, "forbidden", err.Error())
	}
	return problem(http.StatusServiceUnavailable, "backendError",
		"the ledger does not answer, and nothing is spent without it: see ingest doctor").retry(retryDefault)
}

// retry says when to ask again, rounded up so that the next request is not too early.
func (a *answer) retry(after time.Duration) *answer {
	a.header.Set("Retry-After", strconv.FormatInt(max(int64(math.Ceil(after.Seconds())), 1), 10))
	return a
}

// charged states a call's cost and the remainder.
func (a *answer) charged(d quota.Decision) *answer {
	a.header.Set("Ingest-Cost", cmp.Or(amounts(d, func(p quota.PoolState) int64 { return p.Charged }), "0"))
	return a.left(d)
}

// left states the remainder, unless it is unknown.
func (a *answer) left(d quota.Decision) *answer {
	if left := amounts(d, func(p quota.PoolState) int64 { return p.Remaining }); !d.Degraded && left != "" {
		a.header.Set("Ingest-Remaining", left)
		httplimit.SetFields(a.header, d)
	}
	return a
}

// amounts lists an amount of each pool: "search=1, units=100".
func amounts(d quota.Decision, amount func(quota.PoolState) int64) string {
	var list []string
	for _, p := range d.Pools {
		list = append(list, fmt.Sprintf("%s=%d", p.Pool, amount(p)))
	}
	return strings.Join(list, ", ")
}

// free returns the answer for a client that is not charged, without the remainder, which is out of date.
func (a *answer) free() *answer {
	other := *a
	other.header = a.header.Clone()
	other.header.Set("Ingest-Cost", "0")
	for _, name := range []string{"Ingest-Remaining", "Ratelimit", "Ratelimit-Policy"} {
		delete(other.header, name)
	}
	return &other
}

// conditional returns a 304 if the client has the answer already.
func (a *answer) conditional(r *http.Request) *answer {
	tag, has := a.header.Get("Etag"), r.Header.Get("If-None-Match")
	if r.Method != http.MethodGet || a.status != http.StatusOK || tag == "" || has == "" {
		return a
	}
	for one := range strings.SplitSeq(has, ",") {
		if strings.TrimPrefix(strings.TrimSpace(one), "W/") == strings.TrimPrefix(tag, "W/") {
			return &answer{status: http.StatusNotModified, header: a.header}
		}
	}
	return a
}

// writeNow writes an answer without waiting for the rest of the request, which may be slow: the connection then ends.
func (a *answer) writeNow(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // a test's recorder has no deadlines
	}
	a.write(w)
}

func (a *answer) write(w http.ResponseWriter) {
	h := w.Header()
	maps.Copy(h, a.header)
	if a.status != http.StatusNotModified && a.status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}
