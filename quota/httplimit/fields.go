package httplimit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Fields selects header fields that say how much is left: clients differ in the form that they read.
type Fields string

// The choices. Every refusal also has Retry-After. With several windows, the last two show the window with the least
// left: its limit, the rest of it, and when it has more room, or after a refusal when the same request is admitted.
const (
	Draft11    Fields = "draft-11"    // RateLimit-Policy and RateLimit by draft-ietf-httpapi-ratelimit-headers-11
	RateLimit  Fields = "ratelimit"   // RateLimit-Limit, -Remaining and -Reset: in seconds from now
	XRateLimit Fields = "x-ratelimit" // X-RateLimit-Limit, -Remaining and -Reset: in seconds since 1970
	Off        Fields = "off"
)

// checkFields refuses unknown fields.
func checkFields(all []Fields) error {
	for _, f := range all {
		if f != Draft11 && f != RateLimit && f != XRateLimit && (f != Off || len(all) > 1) {
			return fmt.Errorf("httplimit: fields %q: use %s alone, or some of %s, %s and %s", f,
				Off, Draft11, RateLimit, XRateLimit)
		}
	}
	return nil
}

// items are the lists in the fields.
type items struct{ policies, limits []string }

// add adds a window to RateLimit-Policy, with the parameter of its unit, and, if show is set, to RateLimit.
func (f *items) add(name string, w quota.WindowState, at time.Time, unit string, show bool) {
	length := seconds(w.Window.Length)
	if w.Window.Day() {
		length = seconds(24 * time.Hour)
	}
	frees := length // if the window is empty
	if !w.FreesAt.IsZero() {
		frees = seconds(w.FreesAt.Sub(at))
	}
	f.policies = append(f.policies, fmt.Sprintf("%q;q=%d;w=%d%s", name, w.Ceiling, length, unit))
	if show {
		f.limits = append(f.limits, fmt.Sprintf("%q;r=%d;t=%d", name, max(w.Ceiling-w.Used, 0), frees))
	}
}

func (f *items) set(h http.Header) {
	if len(f.limits) > 0 {
		h["Ratelimit-Policy"], h["Ratelimit"] = []string{strings.Join(f.policies, ", ")},
			[]string{strings.Join(f.limits, ", ")}
	}
}

// setFields writes the fields that say how much is left.
func (l *Limiter) setFields(h http.Header, v verdict) {
	var f items
	var least *quota.WindowState
	for i, pool := range v.decision.Pools {
		for j, w := range pool.Windows {
			// A refusal lists only the windows that refuse: no other may free later than Retry-After.
			listed := v.decision.Allowed || v.part.question.refusedBy(i, w)
			f.add(w.Window.Name, w, v.decision.At, `;qu="requests"`, listed)
			if listed && (least == nil || w.Ceiling-w.Used < least.Ceiling-least.Used) {
				least = &pool.Windows[j]
			}
		}
	}
	for _, style := range l.Fields {
		switch {
		case style == Draft11:
			f.set(h)
		case style != Off && least != nil:
			setThree(h, style, *least, v)
		}
	}
}

// HasFields reports whether an answer says how much one client has left.
func HasFields(h http.Header) bool {
	return h.Get("RateLimit") != "" || h.Get("RateLimit-Limit") != "" || h.Get("X-RateLimit-Limit") != ""
}

// setThree writes the three fields of an older style.
func setThree(h http.Header, style Fields, w quota.WindowState, v verdict) {
	reset := w.FreesAt
	if v.problem != nil {
		reset = v.decision.At.Add(v.wait)
	} else if reset.IsZero() {
		reset = v.decision.At.Add(w.Window.Length)
	}
	prefix, at := "Ratelimit-", seconds(reset.Sub(v.decision.At))
	if style == XRateLimit {
		prefix, at = "X-Ratelimit-", reset.Add(time.Second-1).Unix()
	}
	for name, value := range map[string]int64{"Limit": w.Ceiling, "Remaining": max(w.Ceiling-w.Used, 0), "Reset": at} {
		h[prefix+name] = []string{strconv.FormatInt(value, 10)}
	}
}

// SetFields sets RateLimit-Policy and RateLimit (Draft11) for every window of a decision, named pool-window, in the
// pool's unit.
func SetFields(h http.Header, d quota.Decision) {
	var f items
	for _, pool := range d.Pools {
		for _, w := range pool.Windows {
			f.add(pool.Pool+"-"+w.Window.Name, w, d.At, "", true)
		}
	}
	f.set(h)
}

// refusedBy reports whether charge i did not fit into a window.
func (q *question) refusedBy(i int, w quota.WindowState) bool {
	return w.Used+q.charges[i].Amount > w.Ceiling
}

// Problem types of the draft, section 5.
const (
	quotaExceeded   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	reducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// Problem is a problem document of RFC 9457, the body of a refusal.
type Problem struct {
	Type     string   `json:"type"` // a URI; "" is about:blank
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty"`
	Violated []string `json:"violated-policies,omitempty"` // names of the limits that refuse
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
