package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/fetch"
)

// Unanswered returns the error for a request without a whole answer: a.Err is not nil.
func (c *Client) Unanswered(method string, a Answer) *fetch.Error {
	switch {
	case !a.Sent:
		return c.failed(fetch.Unsent, method, c.name+" was not reached", a.Err)
	case errors.Is(a.Err, context.Canceled):
		return c.failed(fetch.Broken, method, "the call was cancelled before "+c.name+" had answered", a.Err)
	case timedOut(a.Err):
		return c.failed(fetch.Broken, method, c.name+" gave no whole answer in time", a.Err)
	}
	return c.failed(fetch.Broken, method, c.name+"'s answer broke off", a.Err)
}

// Refused returns the error for an upstream's refusal: says is its meaning, reason the upstream's own word for it, and
// message the rest of the answer.
func (c *Client) Refused(method string, v fetch.CallVerdict, a Answer, says, reason, message string) *fetch.Error {
	if a.Status >= 300 && a.Status <= 399 {
		message = "it redirects to " + RedirectHost(a.Location)
	}
	if message = c.Text(message, maxMessage); message != "" {
		message = ": " + message
	}
	text := says + " (" + cmp.Or(c.Text(reason, maxReason), fmt.Sprintf("HTTP %d", a.Status)) + ")" + message
	return &fetch.Error{Verdict: v, Method: method, Status: a.Status, Err: errors.New(c.Text(text, maxText))}
}

// RetryAfter returns how long an answer asks to wait, in whole seconds; 0 if it does not say.
func RetryAfter(header http.Header) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	until, err := http.ParseTime(text)
	now, errNow := http.ParseTime(header.Get("Date"))
	if err == nil && errNow == nil && until.After(now) {
		return until.Sub(now)
	}
	return 0
}

// RedirectHost returns the host of a redirect, for a person.
func RedirectHost(location string) string {
	if u, err := url.Parse(location); err == nil && u.Host != "" {
		return u.Host
	}
	return "nowhere we may follow"
}

// timedOut reports whether err is a timeout, the call's or one of the transport's own.
func timedOut(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}
