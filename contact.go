package ingest

import "time"

// Contact says whether an upstream answers, judging by all calls to it.
type Contact struct {
	AnsweredAt  time.Time `json:"answered_at,omitzero"`  // of the newest call that was answered, even if only with a refusal
	SilentSince time.Time `json:"silent_since,omitzero"` // of the first call after that without a usable answer; zero: none
	AskedAt     time.Time `json:"asked_at,omitzero"`     // of the newest call
	Unanswered  int64     `json:"unanswered,omitempty"`  // calls since SilentSince

	RefusedAt  time.Time `json:"refused_at,omitzero"`  // of the newest call whose key was refused
	AcceptedAt time.Time `json:"accepted_at,omitzero"` // of the newest call whose key was not
}

// newContact is the result of one call that ended at a time. The verdicts are those of package fetch.
func newContact(verdict string, at time.Time) Contact {
	switch verdict {
	case "unsent", "broken":
		return Contact{SilentSince: at, AskedAt: at, Unanswered: 1}
	case "cancelled": // by us: it says nothing about the upstream
		return Contact{}
	}
	c := Contact{AnsweredAt: at, AskedAt: at, AcceptedAt: at}
	if verdict == "bad_key" {
		c.RefusedAt, c.AcceptedAt = at, time.Time{}
	}
	return c
}

// KeyRefused reports whether the upstream has refused the key and has accepted none since.
func (c Contact) KeyRefused() bool { return c.RefusedAt.After(c.AcceptedAt) }

// NotAfter returns c, and nothing if a clock that was ahead noted a later time than t: it would outlast every newer call.
func (c Contact) NotAfter(t time.Time) Contact {
	if c.AskedAt.After(t) {
		return Contact{}
	}
	return c
}

// merge adds the results of other calls, possibly concurrent ones of another process.
func (c Contact) merge(other Contact) Contact {
	out := Contact{
		AnsweredAt: later(c.AnsweredAt, other.AnsweredAt), AskedAt: later(c.AskedAt, other.AskedAt),
		RefusedAt: later(c.RefusedAt, other.RefusedAt), AcceptedAt: later(c.AcceptedAt, other.AcceptedAt),
	}
	for _, part := range []Contact{c, other} {
		if part.SilentSince.IsZero() || !part.AskedAt.After(out.AnsweredAt) {
			continue // nothing, or answered since
		}
		since := later(part.SilentSince, out.AnsweredAt)
		if out.SilentSince.IsZero() || since.Before(out.SilentSince) {
			out.SilentSince = since
		}
		out.Unanswered += part.Unanswered
	}
	return out
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Contact merges the results of the calls of all methods.
func (s CallStats) Contact() (c Contact) {
	for _, method := range s {
		c = c.merge(method.Contact)
	}
	return c
}
