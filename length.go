package ingest

import (
	"fmt"
	"strings"
	"time"
)

// Length is a range of durations of videos, both ends included. The zero Length is all of them; no other holds a video
// that is live or of unknown duration.
type Length struct{ Min, Max time.Duration } // in whole seconds; Max 0: no upper end

// Lengths are the ranges that filters offer.
var Lengths = []Length{{Max: 3 * time.Minute}, {Min: 3 * time.Minute, Max: 20 * time.Minute}, {Min: 20 * time.Minute}}

// Contains reports whether a video of this duration is in the range.
func (l Length) Contains(d time.Duration) bool {
	return l == Length{} || d > 0 && d >= l.Min && (l.Max == 0 || d <= l.Max)
}

// ParseLength reads a range: -3m, 3m-20m or 20m-.
func ParseLength(text string) (Length, error) {
	from, to, ok := strings.Cut(text, "-")
	low, lowOK := parseEnd(from)
	high, highOK := parseEnd(to)
	if l := (Length{low, high}); ok && lowOK && highOK && l != (Length{}) && (high == 0 || low <= high) {
		return l, nil
	}
	return Length{}, fmt.Errorf("%q is no range of lengths: use -3m, 3m-20m or 20m-, in whole seconds", text)
}

// parseEnd reads one end of a range; "" is 0, an open end.
func parseEnd(text string) (d time.Duration, ok bool) {
	if text == "" {
		return 0, true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= time.Second && d%time.Second == 0
}

// String returns the range as ParseLength reads it; "" for all.
func (l Length) String() string {
	if l == (Length{}) {
		return ""
	}
	return lengthText(l.Min) + "-" + lengthText(l.Max)
}

// lengthText writes 3m0s as 3m, and 0 as nothing.
func lengthText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	text := d.String()
	if cut, ok := strings.CutSuffix(text, "m0s"); ok {
		text = cut + "m"
	}
	if cut, ok := strings.CutSuffix(text, "h0m"); ok {
		text = cut + "h"
	}
	return text
}
