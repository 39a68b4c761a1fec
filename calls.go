package ingest

import "time"

// CallBuckets are the upper bounds of MethodStats.Buckets, in seconds: from a local stand-in to a call that times out.
var CallBuckets = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// CallStats says how the calls sent to an upstream were answered, by method, including retries.
type CallStats map[string]MethodStats

// MethodStats says how the calls of one method were answered, and how long they took.
type MethodStats struct {
	Verdicts map[string]int64 `json:"verdicts"` // "ok" or a fetch.CallVerdict
	Seconds  float64          `json:"seconds"`  // in total
	Buckets  []int64          `json:"buckets"`  // calls longer than CallBuckets[i-1] and up to CallBuckets[i]
	Contact  Contact          `json:"contact"`
	Repeats  Repeats          `json:"repeats,omitzero"`
}

// Repeats counts other tools' calls that the gateway answered without asking the upstream, on one day.
type Repeats struct {
	Day   string `json:"day"` // the upstream's day, such as 2026-11-24
	Calls int64  `json:"calls"`
}

// merge adds counts of the same day, and otherwise keeps the counts of the newer day.
func (r Repeats) merge(other Repeats) Repeats {
	switch {
	case r.Day == other.Day:
		r.Calls += other.Calls
	case r.Day < other.Day:
		return other
	}
	return r
}

// Add counts one call that ended at a time.
func (s CallStats) Add(method, verdict string, took time.Duration, at time.Time) {
	one := MethodStats{Verdicts: map[string]int64{verdict: 1}, Seconds: took.Seconds(),
		Buckets: make([]int64, len(CallBuckets)), Contact: newContact(verdict, at)}
	for i, most := range CallBuckets {
		if took.Seconds() <= most {
			one.Buckets[i]++
			break
		}
	}
	s.Merge(CallStats{method: one})
}

// Repeat counts one call that was answered without asking the upstream, on one of the upstream's days.
func (s CallStats) Repeat(method, day string) {
	s.Merge(CallStats{method: {Repeats: Repeats{day, 1}}})
}

// Merge adds the counts of other.
func (s CallStats) Merge(other CallStats) {
	for method, more := range other {
		sum := MethodStats{Verdicts: map[string]int64{}, Seconds: s[method].Seconds + more.Seconds, Buckets: make([]int64,
			len(CallBuckets)), Contact: s[method].Contact.merge(more.Contact), Repeats: s[method].Repeats.merge(more.Repeats)}
		for _, part := range []MethodStats{s[method], more} {
			for verdict, n := range part.Verdicts {
				sum.Verdicts[verdict] += n
			}
			for i, n := range part.Buckets[:min(len(part.Buckets), len(CallBuckets))] {
				sum.Buckets[i] += n
			}
		}
		s[method] = sum
	}
}

// Contact says whether an upstream answers, judging by the calls of all processes that share the store.
type Contact struct {
	// of the newest call that was answered, even if only with a refusal
	AnsweredAt time.Time `json:"answered_at,omitzero"`
	// of the first call after that without a usable answer; zero: none
	SilentSince time.Time `json:"silent_since,omitzero"`
	AskedAt     time.Time `json:"asked_at,omitzero"`    // of the newest call
	Unanswered  int64     `json:"unanswered,omitempty"` // calls since SilentSince

	RefusedAt  time.Time `json:"refused_at,omitzero"`  // of the newest call whose key was refused
	AcceptedAt time.Time `json:"accepted_at,omitzero"` // of the newest call whose key was not

	SuspectAt time.Time `json:"suspect_at,omitzero"` // of the newest answer with too little to be believed
	Suspects  int64     `json:"suspects,omitempty"`  // such answers, each less than a day after the one before
}

// newContact is the result of one call that ended at a time. The verdicts come from package fetch.
func newContact(verdict string, at time.Time) Contact {
	switch verdict {
	case "unsent", "broken":
		return Contact{SilentSince: at, AskedAt: at, Unanswered: 1}
	case "cancelled": // by us: it says nothing about the upstream
		return Contact{}
	}
	c := Contact{AnsweredAt: at, AskedAt: at, AcceptedAt: at}
	switch verdict {
	case "bad_key":
		c.RefusedAt, c.AcceptedAt = at, time.Time{}
	case "suspect":
		c.SuspectAt, c.Suspects = at, 1
	}
	return c
}

// KeyRefused reports whether the upstream has refused the key and has accepted none since.
func (c Contact) KeyRefused() bool { return c.RefusedAt.After(c.AcceptedAt) }

// NeverAnswered reports whether calls were made and none was answered.
func (c Contact) NeverAnswered() bool { return c.AnsweredAt.IsZero() && !c.SilentSince.IsZero() }

// NotAfter returns c, or the zero Contact if a clock that was ahead noted a later time than t: that would outlast
// every newer call.
func (c Contact) NotAfter(t time.Time) Contact {
	if c.AskedAt.After(t) {
		return Contact{}
	}
	return c
}

// merge adds the results of other calls, possibly concurrent ones of another process.
func (c Contact) merge(other Contact) Contact {
	out := Contact{
		AnsweredAt: Later(c.AnsweredAt, other.AnsweredAt), AskedAt: Later(c.AskedAt, other.AskedAt),
		RefusedAt: Later(c.RefusedAt, other.RefusedAt), AcceptedAt: Later(c.AcceptedAt, other.AcceptedAt),
		SuspectAt: Later(c.SuspectAt, other.SuspectAt),
	}
	for _, part := range []Contact{c, other} {
		if out.SuspectAt.Sub(part.SuspectAt) < 24*time.Hour {
			out.Suspects += part.Suspects
		}
	}
	for _, part := range []Contact{c, other} {
		if part.SilentSince.IsZero() || !part.AskedAt.After(out.AnsweredAt) {
			continue // nothing, or answered since
		}
		since := Later(part.SilentSince, out.AnsweredAt)
		if out.SilentSince.IsZero() || since.Before(out.SilentSince) {
			out.SilentSince = since
		}
		out.Unanswered += part.Unanswered
	}
	return out
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
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

// SlotResult is a slot that a run has worked on, as it ended.
type SlotResult struct {
	Slot
	Spent int64            // units charged by this run; Slot.Units includes earlier attempts
	Drew  map[string]int64 // the same by pool; nil with Spent above 0: not known
	Took  time.Duration    // the attempt
	Err   error            // concerns the next slots too
}
