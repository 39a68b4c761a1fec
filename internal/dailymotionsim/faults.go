package dailymotionsim

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is a failure of some calls. ParseFault makes one; the zero value hits none.
type Fault struct {
	text    string
	kind    string
	delay   time.Duration // of slow
	from    int64         // the first call it hits, from 1; 0 if percent decides
	to      int64         // the last one
	percent float64       // in (0, 100]
}

var faultKinds = []string{"500", "502html", "200html", "429", "403", "drop", "truncate", "slow"}

// ParseFault reads one fault, KIND[@CALLS | :PERCENT%], with calls counted from 1: "500@3", "drop:5%", "slow=2s@10+".
func ParseFault(s string) (Fault, error) {
	f := Fault{text: s, from: 1, to: 1<<63 - 1}
	name, when := s, ""
	if i := strings.IndexAny(s, "@:"); i >= 0 {
		name, when = s[:i], s[i:]
	}
	name, value, hasValue := strings.Cut(name, "=")
	f.kind = name
	if !slices.Contains(faultKinds, name) {
		return Fault{}, fmt.Errorf("fault %q: unknown kind %q: use one of %s", s, name, strings.Join(faultKinds, " "))
	}
	if hasValue != (name == "slow") {
		return Fault{}, fmt.Errorf("fault %q: slow, and only slow, takes a value: slow=2s", s)
	}
	if name == "slow" {
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return Fault{}, fmt.Errorf("fault %q: %q is no positive duration: write slow=2s", s, value)
		}
		f.delay = d
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

// dueFault returns the first fault that hits the call; the zero Fault if none does.
func dueFault(faults []Fault, seed uint64, call int64) Fault {
	for i, f := range faults {
		if f.percent > 0 {
			if chance(hash(seed, hashText("fault"), uint64(i), uint64(call))) < f.percent/100 {
				return f
			}
		} else if f.kind != "" && call >= f.from && call <= f.to {
			return f
		}
	}
	return Fault{}
}

// faultAnswer returns the answer that a fault substitutes for the call's own. It is nil for faults that spoil the
// answer while it is written.
func faultAnswer(f Fault) *answer {
	switch f.kind {
	case "500":
		return apiError(http.StatusInternalServerError, "internal_error", "An internal error occurred", nil)
	case "502html":
		return &answer{status: http.StatusBadGateway, html: badGatewayPage}
	case "200html":
		return &answer{status: http.StatusOK, html: badGatewayPage}
	case "429":
		return rateLimited()
	case "403":
		return apiError(http.StatusForbidden, "access_forbidden", "You are not allowed to access this resource", nil)
	}
	return nil
}

const badGatewayPage = `<!DOCTYPE html>
<html lang=en><meta charset=utf-8><title>502 Bad Gateway</title>
<center><h1>502 Bad Gateway</h1></center><hr><center>stand-in</center></html>
`
