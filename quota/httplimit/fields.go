package httplimit

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Fields are which header fields say how much is left.
type Fields string

// The choices. Retry-After is sent with every refusal, whichever is chosen.
const (
	Draft11 Fields = "draft-11" // RateLimit-Policy and RateLimit by draft-ietf-httpapi-ratelimit-headers-11
	Off     Fields = "off"
)

// policy is a limit as the fields name it: its name needs no escape in a structured field.
type policy struct {
	name   string
	static string // what RateLimit-Policy says, without the partition key
}

func newPolicy(name string, l Limit) policy {
	return policy{name, `"` + name + `";q=` + strconv.FormatInt(l.Quota, 10) + `;w=` + strconv.FormatInt(int64(l.Window/time.Second), 10) + `;qu="requests"`}
}

// setFields writes the fields that say how much is left.
func (l *Limiter) setFields(h http.Header, c client, q *question, d quota.Decision) {
	if l.Fields == Off {
		return
	}
	// Both fields are built in one piece of memory, RateLimit-Policy first: they are a third of a decision's cost.
	var memory [384]byte
	var key [32]byte
	pk := appendPartitionKey(key[:0], c.account)
	b := q.appendPolicies(memory[:0], pk)
	policyEnds := len(b)
	n := 0
	for i := range d.Pools {
		for j := range d.Pools[i].Windows {
			w, p := &d.Pools[i].Windows[j], &q.policies[n]
			n++
			// A refusal names only what refuses: what another window has left must not end after Retry-After.
			if !d.Allowed && !q.refusedBy(i, w) {
				continue
			}
			if len(b) > policyEnds {
				b = append(b, ", "...)
			}
			b = appendLimit(b, p, w, d.At, pk)
		}
	}
	fields := string(b)
	values := []string{fields[:policyEnds], fields[policyEnds:]}
	h["Ratelimit-Policy"], h["Ratelimit"] = values[:1:1], values[1:] // canonical already: Set would make sure each time
}

// SetFields says what a decision leaves of every window, as pool-window: RateLimit-Policy and RateLimit as Draft11 has
// them, in the unit of the pool.
func SetFields(h http.Header, d quota.Decision) {
	var policies, limits []string
	for _, pool := range d.Pools {
		for _, w := range pool.Windows {
			length := int64(w.Window.Length / time.Second)
			if w.Window.Day() {
				length = int64(24 * time.Hour / time.Second)
			}
			p := policy{name: pool.Pool + "-" + w.Window.Name}
			policies = append(policies, fmt.Sprintf("%q;q=%d;w=%d", p.name, w.Ceiling, length))
			limits = append(limits, string(appendLimit(nil, &p, &w, d.At, nil)))
		}
	}
	if len(limits) > 0 {
		h["Ratelimit-Policy"], h["Ratelimit"] = []string{strings.Join(policies, ", ")}, []string{strings.Join(limits, ", ")}
	}
}

// violated returns the names of the limits that refuse.
func (q *question) violated(d quota.Decision) (names []string) {
	n := 0
	for i := range d.Pools {
		for j := range d.Pools[i].Windows {
			if q.refusedBy(i, &d.Pools[i].Windows[j]) {
				names = append(names, q.policies[n].name)
			}
			n++
		}
	}
	return names
}

// refusedBy reports whether charge i did not fit into a window.
func (q *question) refusedBy(i int, w *quota.WindowState) bool {
	return w.Used+q.charges[i].Amount > w.Ceiling
}

// appendLimit appends one item of RateLimit.
func appendLimit(b []byte, p *policy, w *quota.WindowState, at time.Time, pk []byte) []byte {
	b = append(append(append(b, '"'), p.name...), `";r=`...)
	b = strconv.AppendInt(b, max(w.Ceiling-w.Used, 0), 10)
	b = strconv.AppendInt(append(b, ";t="...), frees(w, at), 10)
	return append(b, pk...)
}

// appendPolicies appends RateLimit-Policy.
func (q *question) appendPolicies(b, pk []byte) []byte {
	for i, p := range q.policies {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(append(b, p.static...), pk...)
	}
	return b
}

// frees returns in how many seconds the window has more room than now: the whole window while it is empty.
func frees(w *quota.WindowState, at time.Time) int64 {
	if w.FreesAt.IsZero() {
		return int64(w.Window.Length / time.Second)
	}
	return seconds(w.FreesAt.Sub(at))
}

// appendPartitionKey appends the parameter pk of an account.
func appendPartitionKey(b []byte, account string) []byte {
	sum := uint64(14695981039346656037) // FNV-1a: package hash/fnv would take memory each time
	for _, c := range []byte(account) {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	var bytes [8]byte
	binary.BigEndian.PutUint64(bytes[:], sum)
	return append(base64.StdEncoding.AppendEncode(append(b, ";pk=:"...), bytes[:]), ':')
}

// Problem types of the draft, section 5.
const (
	quotaExceeded   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	reducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// Problem is an answer that is an error, as RFC 9457 has it.
type Problem struct {
	Type     string   `json:"type"` // a URI; "" is about:blank
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty"`
	Violated []string `json:"violated-policies,omitempty"` // names of limits that are used up
}

// Write answers with the problem. Nothing may have been written before.
func (p Problem) Write(w http.ResponseWriter) {
	if p.Type == "" {
		p.Type = "about:blank"
	}
	if p.Title == "" {
		p.Title = http.StatusText(p.Status)
	}
	body, _ := json.Marshal(p) // strings and a number
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n'))
}
