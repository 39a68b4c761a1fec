package youtubesim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is a failure of some calls. ParseFault makes one.
type Fault struct {
	text    string
	kind    string
	value   time.Duration // of slow and wait
	from    int64         // the first call it hits, from 1; 0 if percent decides
	to      int64         // the last one
	percent float64       // in (0, 100]
}

// FaultHelp is the grammar of ParseFault, for a help text.
const FaultHelp = `KIND[@CALLS | :PERCENT%]; without either, every call is hit.
  CALLS     3 (the third), 3-5, 3+ (from the third on); counted from 1
  PERCENT   10, 0.5; seeded, the same every time
  500 502 503    the API's error body
  408 409 423 425 499 407
                 that status without a body; 407 is a proxy's own
  403html        a proxy's refusal, as a page
  502html        a proxy's HTML page
  429min         too many calls a minute
  wait=20s       the same, asking to wait that long: Retry-After and RetryInfo
  403quota       the units of the day are spent
  429day         the searches of the day are spent
  badkey disabled badtoken nochart nolist forbidden processing precondition
                 the API's refusal of that name; forbidden gives no reason
  blank          200 with no items, whatever was asked for
  short          200 with a tenth of the items, and no next page
  drop           counted, then closed without an answer
  reset          counted, then the connection is reset
  truncate       the body breaks off halfway
  empty          200 without a body
  hugebody       200 and 64 MiB of body
  slow=2s        answered, that much later`

var faultKinds = []string{
	"500", "502", "503", "502html", "429min", "403quota", "429day", "badkey", "disabled", "badtoken", "nochart",
	"nolist", "forbidden", "processing", "precondition", "blank", "short", "407", "408", "409", "423", "425", "499", "403html",
	"drop", "reset", "truncate", "empty", "hugebody", "slow", "wait",
}

// ParseFault reads one fault, as FaultHelp says: "503@3", "drop:5%", "slow=2s@10+".
func ParseFault(s string) (Fault, error) {
	f := Fault{text: s, from: 1, to: 1<<63 - 1}
	name, when := s, ""
	if i := strings.IndexAny(s, "@:"); i >= 0 {
		name, when = s[:i], s[i:]
	}
	name, value, hasValue := strings.Cut(name, "=")
	if name == "html502" {
		name = "502html"
	}
	f.kind = name
	if !slices.Contains(faultKinds, name) {
		return Fault{}, fmt.Errorf("fault %q: unknown kind %q: use one of %s", s, name, strings.Join(faultKinds, " "))
	}
	if hasValue != (name == "slow" || name == "wait") {
		return Fault{}, fmt.Errorf("fault %q: slow and wait, and only they, take a value: slow=2s", s)
	}
	if hasValue {
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return Fault{}, fmt.Errorf("fault %q: %q is no positive duration: write %s=2s", s, value, name)
		}
		f.value = d
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

// dueFault returns the first fault that hits the call, nil if none does.
func dueFault(faults []Fault, seed uint64, call int64) *Fault {
	for i, f := range faults {
		if f.percent > 0 {
			if chance(hash(seed, hashText("fault"), uint64(i), uint64(call))) < f.percent/100 {
				return &faults[i]
			}
		} else if f.kind != "" && call >= f.from && call <= f.to {
			return &faults[i]
		}
	}
	return nil
}

// refuses returns the limit whose refusal the fault fakes: a pool, perMinute, or "" for none. Such calls are counted
// like real refusals.
func (f *Fault) refuses() string {
	return map[string]string{"403quota": poolUnits, "429day": poolSearch, "429min": perMinute, "wait": perMinute}[f.kind]
}

// server reports whether the upstream itself fails: it answers 5xx, or not at all.
func (f *Fault) server() bool {
	return strings.HasPrefix(f.kind, "5") || f.kind == "drop" || f.kind == "reset"
}
