package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/regions"
)

// FlagValue is a flag whose text is checked while the command line is parsed. It is a pflag.Value.
type FlagValue struct {
	text, kind string
	choices    []string
	set        func(text string) error
}

// FlagError is a value that a flag does not accept. Its text continues the flag's name: ` "best": use views or rise`.
type FlagError string

func (e FlagError) Error() string { return string(e) }

// Set checks and stores a value. Its errors are FlagErrors.
func (v *FlagValue) Set(text string) error {
	err := v.set(text)
	if err == nil {
		v.text = text
	}
	return err
}

// String returns the value as it was given.
func (v *FlagValue) String() string { return v.text }

// Type returns the name of the value in --help; --help shows a "string" in quotes.
func (v *FlagValue) Type() string { return v.kind }

// Choices returns the accepted values, if they are few and known.
func (v *FlagValue) Choices() []string { return v.choices }

// Choice returns a flag that accepts one of several words. The value of into is the default.
func Choice[T ~string](into *T, words ...T) *FlagValue {
	v := &FlagValue{text: string(*into), kind: "string"}
	for _, word := range words {
		v.choices = append(v.choices, string(word))
	}
	last := len(words) - 1
	use := strings.Join(v.choices[:last], ", ") + " or " + v.choices[last]
	v.set = func(text string) error {
		if !slices.Contains(words, T(text)) {
			return FlagError(fmt.Sprintf(" %q: use %s", text, use))
		}
		*into = T(text)
		return nil
	}
	return v
}

// Count returns a flag that takes a whole number within bounds; highest 0 is no bound. The value of into is the
// default.
func Count[T int | int64](into *T, lowest, highest T) *FlagValue {
	return &FlagValue{text: fmt.Sprint(*into), kind: "int", set: func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil:
			return FlagError(fmt.Sprintf(" %q: use a whole number", text))
		case highest > 0 && (n < int64(lowest) || n > int64(highest)):
			return FlagError(fmt.Sprintf(" %d is outside %d..%d", n, lowest, highest))
		case n < int64(lowest):
			return FlagError(fmt.Sprintf(" %d is below %d", n, lowest))
		}
		*into = T(n)
		return nil
	}}
}

// DirectoryFlag returns a flag that names a directory. It refuses "", which would mean the default.
func DirectoryFlag(into *string) *FlagValue {
	return &FlagValue{kind: "string", set: func(text string) error {
		if *into = text; text == "" {
			return FlagError(` "": name a directory`)
		}
		return nil
	}}
}

// QueryFlag returns a flag that takes a jq filter.
func QueryFlag(into **gojq.Code) *FlagValue {
	return &FlagValue{kind: "filter", set: func(text string) error {
		query, err := gojq.Parse(text)
		if err == nil {
			*into, err = gojq.Compile(query)
		}
		if err != nil {
			return FlagError(fmt.Sprintf(" %q: %v", text, err))
		}
		return nil
	}}
}

// RegionFlag returns a flag that takes a region; "" is none.
func RegionFlag(into *ingest.Region) *FlagValue { return ParsedFlag("region", into, regions.Parse) }

// RegionsFlag returns a flag that takes several regions, separated by commas.
func RegionsFlag(into *[]ingest.Region) *FlagValue {
	return ParsedFlag("regions", into, regions.ParseList)
}

// ParsedFlag returns a flag with the value that parse reads; "" is none.
func ParsedFlag[T any](kind string, into *T, parse func(string) (T, error)) *FlagValue {
	return &FlagValue{kind: kind, set: func(text string) (err error) {
		*into = *new(T)
		if text == "" {
			return nil
		}
		if *into, err = parse(text); err != nil {
			return FlagError(": " + err.Error())
		}
		return nil
	}}
}

// Since is a time as a flag gives it: how long ago, or an instant. The zero Since means that it was not given.
type Since struct {
	text string
	ago  time.Duration
	at   time.Time
}

// IsZero reports whether it was not given.
func (s Since) IsZero() bool { return s.text == "" }

// String returns the time as it was given.
func (s Since) String() string { return s.text }

// At returns the time, counted back from now; the zero time if it was not given.
func (s Since) At(now time.Time) time.Time {
	if s.ago > 0 {
		return now.Add(-s.ago)
	}
	return s.at
}

// Past is At, and refuses a time that is still to come.
func (s Since) Past(now time.Time) (time.Time, error) {
	at := s.At(now)
	if at.After(now) {
		return at, fmt.Errorf("%s is in the future: it is %s now", s, now.UTC().Format("2006-01-02 15:04:05Z"))
	}
	return at, nil
}

// SinceFlag returns a flag that takes a time: how long before now, a day in UTC, or RFC 3339.
func SinceFlag(into *Since) *FlagValue {
	return &FlagValue{kind: "T", set: func(text string) (err error) {
		*into = Since{text: text}
		if text == "" {
			return nil
		}
		if into.ago, err = parseSpan(text); err == nil && into.ago > 0 {
			return nil
		}
		into.ago = 0
		if into.at, err = parseInstant(text); err == nil {
			return nil
		}
		return FlagError(fmt.Sprintf(" %q: use a time ago such as 24h or 7d, a day such as 2026-11-01, "+
			"or an RFC 3339 time such as 2026-11-01T09:00:00Z", text))
	}}
}

// InstantFlag returns a flag that takes an absolute time in whole seconds.
func InstantFlag(into *time.Time) *FlagValue {
	return &FlagValue{kind: "day", set: func(text string) error {
		t, err := parseInstant(text)
		if *into = t.Truncate(time.Second); err != nil {
			return FlagError(fmt.Sprintf(" %q: use a day such as 2026-11-01, which begins at 00:00 UTC, "+
				"or an RFC 3339 time such as 2026-11-01T09:00:00Z", text))
		}
		return nil
	}}
}

// parseInstant reads a day, which begins at 00:00 UTC, or an RFC 3339 time.
func parseInstant(s string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t, err = time.Parse(time.RFC3339, s)
	}
	return t.UTC(), err
}

// SpanFlag returns a flag that takes a duration of whole seconds, in hours, minutes or days; usual is the default.
func SpanFlag(into *time.Duration, usual string, least time.Duration) *FlagValue {
	const longest = 30 * 365 * 24 * time.Hour
	v := &FlagValue{kind: "D", set: func(text string) error {
		d, err := parseSpan(text)
		if err != nil || d < least || d > longest || d%time.Second != 0 {
			return FlagError(fmt.Sprintf(" %q: use a length of time such as 24h or 7d, from %v on", text, least))
		}
		*into = d
		return nil
	}}
	if usual != "" {
		_ = v.Set(usual) // a default is always valid
	}
	return v
}

// parseSpan reads a duration as Go writes it, or days.
func parseSpan(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		d, err := time.ParseDuration(days + "h")
		return 24 * d, err
	}
	return time.ParseDuration(text)
}

// ParsePoolLimits parses limits such as units=40. The caller checks whether the pool exists.
func ParsePoolLimits(list []string) (map[string]int64, error) {
	out := map[string]int64{}
	for _, s := range list {
		pool, n, ok := strings.Cut(s, "=")
		limit, err := strconv.ParseInt(n, 10, 64)
		if !ok || pool == "" || err != nil || limit < 0 {
			return nil, fmt.Errorf("--limit %q is not of the form units=40", s)
		}
		out[pool] = limit
	}
	return out, nil
}
