package report

import (
	"cmp"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
)

// UnreachableAfter is how long an upstream may give no usable answer before it counts as unreachable: three heartbeats
// of ingest serve.
const UnreachableAfter = 90 * time.Second

// UpstreamDocument says whether the upstream answers. Calls are those of all processes that use the store.
type UpstreamDocument struct {
	Name        string     `json:"name"`
	AnsweredAt  *time.Time `json:"answered_at"`  // when it last answered; null: it was never asked, or never answered
	SilentSince *time.Time `json:"silent_since"` // when the first call after that went without a usable answer; null: none did
	AskedAt     *time.Time `json:"asked_at"`     // when it was last asked
	Unanswered  int64      `json:"unanswered"`   // calls since silent_since
	Unreachable bool       `json:"unreachable"`  // silent for so long that it is no accident
	KeyRefused  *time.Time `json:"key_refused"`  // when it last refused the key; null: it did not, or has accepted one since
}

// NewUpstreamDocument returns what the calls say at now. The upstream may be silent for after; 0: UnreachableAfter.
func NewUpstreamDocument(name string, c ingest.Contact, now time.Time, after time.Duration) UpstreamDocument {
	d := UpstreamDocument{
		Name: cmp.Or(name, "the upstream"), AnsweredAt: term.TimeOrNull(c.AnsweredAt), SilentSince: term.TimeOrNull(c.SilentSince), AskedAt: term.TimeOrNull(c.AskedAt),
		Unanswered: c.Unanswered, Unreachable: !c.SilentSince.IsZero() && now.Sub(c.SilentSince) >= cmp.Or(after, UnreachableAfter),
	}
	if c.KeyRefused() {
		d.KeyRefused = term.TimeOrNull(c.RefusedAt)
	}
	return d
}

// String says it in a few words: "has not answered since 2026-02-14 10:41:00Z, 4 calls".
func (d UpstreamDocument) String() string {
	switch {
	case d.SilentSince != nil:
		return "has not answered since " + term.Stamp(*d.SilentSince) + ", " + term.Plural(int(d.Unanswered), "call") + "; last asked " + term.Stamp(*d.AskedAt)
	case d.KeyRefused != nil:
		return "refused the key " + term.Stamp(*d.KeyRefused)
	case d.AnsweredAt != nil:
		return "answered " + term.Stamp(*d.AnsweredAt)
	}
	return "not asked yet"
}
