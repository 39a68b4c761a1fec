package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/trendvidstream/ingest/fetch"
)

// Unanswered returns the error for a request that got no whole answer: a.Err is not nil. who is the upstream's name,
// for a person.
func Unanswered(who, method string, a Answer, clean Cleaner) *fetch.Error {
	v, says := fetch.Broken, who+"'s answer broke off"
	switch {
	case !a.Sent:
		v, says = fetch.Unsent, who+" was not reached"
	case errors.Is(a.Err, context.Canceled):
		says = "the call was cancelled before " + who + " had answered"
	case timedOut(a.Err):
		says = who + " gave no whole answer in time"
	}
	return &fetch.Error{Verdict: v, Method: method, Err: clean.Wrap(says, a.Err)}
}

// AnswerError is an error with which an upstream answered.
type AnswerError struct {
	Status int    // HTTP
	Reason string // the upstream's own word for it; "" when it gave none
	Text   string // for a person, free of markup and of the key
}

func (e *AnswerError) Error() string { return e.Text }

// HTTPStatus returns the status of the answer, for a log of calls.
func (e *AnswerError) HTTPStatus() int { return e.Status }

// Refused returns an error with which an upstream answered: says is what it means, reason the upstream's own word for
// it, and detail what else there is to say.
func (c Cleaner) Refused(status int, says, reason, detail string) *AnswerError {
	return &AnswerError{
		Status: status,
		Reason: c.Text(reason, maxReason),
		Text:   c.Text(says+" ("+cmp.Or(reason, fmt.Sprintf("HTTP %d", status))+")"+detail, maxText),
	}
}

// Message returns an upstream's own words, as the detail of an error; "" if it said nothing.
func (c Cleaner) Message(said string) string {
	if said == "" {
		return ""
	}
	return ": " + c.Text(said, maxMessage)
}

// RedirectHost returns the host that a redirect leads to, for a person.
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
