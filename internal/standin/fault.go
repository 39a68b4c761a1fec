package standin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is a failure of some calls. ParseFault makes one; the zero value hits none.
type Fault struct {
	Kind    string        // one of the kinds of its stand-in
	Value   time.Duration // of a timed kind
	text    string
	from    int64   // the first call it hits, from 1; 0 if percent decides
	to      int64   // the last one
	percent float64 // in (0, 100]
}

// ParseFault reads one fault, KIND[@CALLS | :PERCENT%], with calls counted from 1: "503@3", "drop:5%", "slow=2s@10+".
// It has one of kinds; timed ones have a duration, and no others do.
func ParseFault(s string, kinds []string, timed ...string) (Fault, error) {
	f := Fault{text: s, from: 1, to: 1<<63 - 1}
	name, when := s, ""
	if i := strings.IndexAny(s, "@:"); i >= 0 {
		name, when = s[:i], s[i:]
	}
	name, value, hasValue := strings.Cut(name, "=")
	f.Kind = name
	if !slices.Contains(kinds, name) {
		return Fault{}, fmt.Errorf("fault %q: unknown kind %q: use one of %s", s, name, strings.Join(kinds, " "))
	}
	if hasValue != slices.Contains(timed, name) {
		return Fault{}, fmt.Errorf("fault %q: %s must have a duration, other kinds must not: slow=2s",
			s, strings.Join(timed, " and "))
	}
	if hasValue {
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return Fault{}, fmt.Errorf("fault %q: %q is no positive duration: write %s=2s", s, value, name)
		}
		f.Value = d
	}
	if err := f.parseWhen(when); err != nil {
		return Fault{}, fmt.Errorf("fault %q: %w", s, err)
	}
	return f, nil
}

// parseWhen reads "@3", "@3-5", "@3+", ":10%" or nothing.
func (f *Fault) parseWhen(when string) error {
	if when == "" {
		return nil
	}
	spec := when[1:]
	if when[0] == ':' {
		n, isPercent := strings.CutSuffix(spec, "%")
		p, err := strconv.ParseFloat(n, 64)
		inRange := p > 0 && p <= 100 // and no NaN
		if err != nil || !isPercent || !inRange {
			return fmt.Errorf("%q is no percentage above 0 and up to 100: write :10%%", spec)
		}
		f.from, f.percent = 0, p
		return nil
	}
	first, last, isRange := strings.Cut(spec, "-")
	first, open := strings.CutSuffix(first, "+")
	from, err := strconv.ParseInt(first, 10, 64)
	to := from
	switch {
	case err == nil && isRange && !open:
		to, err = strconv.ParseInt(last, 10, 64)
	case open:
		to = f.to
	}
	if err != nil || from < 1 || to < from || (isRange && open) {
		return fmt.Errorf("%q names no calls: write @3, @3-5 or @3+, counted from 1", spec)
	}
	f.from, f.to = from, to
	return nil
}

// String returns the text that was parsed.
func (f Fault) String() string { return f.text }

// DueFault returns the first fault that hits the call, nil if none does.
func DueFault(faults []Fault, seed uint64, call int64) *Fault {
	for i, f := range faults {
		if f.percent > 0 {
			if Chance(Hash(seed, HashText("fault"), uint64(i), uint64(call))) < f.percent/100 {
				return &faults[i]
			}
		} else if f.Kind != "" && call >= f.from && call <= f.to {
			return &faults[i]
		}
	}
	return nil
}
