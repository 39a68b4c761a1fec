package youtubesim

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is how a parameter's text is read.
type kind int

const (
	text kind = iota
	list      // comma separated, repeated, or both
	number
	boolean
	instant // RFC 3339
	enum    // one of param.values
	mask    // a field mask
	absent  // of the real API, but the stand-in has no data or no user for it: refused
)

// param is a query parameter as the discovery document gives it.
type param struct {
	kind     kind
	min, max int      // of a number
	values   []string // of an enum
}

// systemParams belong to every method (discovery document, "parameters").
func systemParams() map[string]param {
	return map[string]param{
		"$.xgafv":         {kind: enum, values: []string{"1", "2"}},
		"access_token":    {},
		"alt":             {kind: enum, values: []string{"json"}},
		"callback":        {kind: absent},
		"fields":          {kind: mask},
		"key":             {},
		"oauth_token":     {},
		"prettyPrint":     {kind: boolean},
		"quotaUser":       {},
		"uploadType":      {},
		"upload_protocol": {},
	}
}

// request is a call's parameters after the checks.
type request struct {
	values url.Values
	fields *tree // the field mask, nil for every field
	pretty bool  // indent the answer; the API does unless told not to
	now    time.Time
	call   int64 // the call's number, from 1
}

func (q *request) get(name string) string { return q.values.Get(name) }

// region is the region the call is for, "" when it names none.
func (q *request) region() string { return q.get("regionCode") }

// list is a repeated or comma separated parameter's elements, each once, in the caller's order.
func (q *request) list(name string) []string {
	var out []string
	for _, v := range q.values[name] {
		for e := range strings.SplitSeq(v, ",") {
			if e = strings.TrimSpace(e); e != "" && !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	return out
}

// part reports whether the caller asked for the part.
func (q *request) part(name string) bool { return slices.Contains(q.list("part"), name) }

// maxResults is the page size, 5 by default.
func (q *request) maxResults() int {
	if n, err := strconv.Atoi(q.get("maxResults")); err == nil {
		return n
	}
	return 5
}

// time is an instant parameter, zero when it is not given.
func (q *request) time(name string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, q.get(name)) // checked by parse
	return t
}

// parse reads and checks the query. The request is usable for counting even when it is invalid,
// and then the answer says what is wrong.
func (m *method) parse(r *http.Request) (*request, *answer) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &request{values: values, pretty: true}
	if err != nil {
		return q, badRequest("", "invalid", "The query string cannot be read: a ; or a % escape is wrong.")
	}
	known := systemParams()
	maps.Copy(known, m.params)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p, ok := known[name]
		if !ok {
			return q, unknownParameter(name)
		}
		if bad := p.check(name, values[name]); bad != nil {
			return q, bad
		}
	}
	q.pretty = q.get("prettyPrint") != "false"
	if bad := m.checkParts(q); bad != nil {
		return q, bad
	}
	if f := q.get("fields"); f != "" {
		q.fields, err = parseMask(f, m.shape)
		if err != nil {
			q.fields = nil
			return q, badRequest("fields", "invalidParameter", "Invalid field selection "+err.Error())
		}
	}
	return q, nil
}

// checkParts wants a part, and only parts that the method has.
func (m *method) checkParts(q *request) *answer {
	parts := q.list("part")
	if len(parts) == 0 {
		return apiError(http.StatusBadRequest, "global", "required", "part", "Required parameter: part")
	}
	for _, p := range parts {
		if !slices.Contains(m.parts, p) {
			return apiError(http.StatusBadRequest, "youtube.part", "unknownPart", "part", "'"+p+"'")
		}
	}
	return nil
}

// check refuses a value that the parameter cannot have. A parameter that is no list may be given
// once.
func (p param) check(name string, given []string) *answer {
	if p.kind == list {
		return nil
	}
	if len(given) > 1 {
		return badRequest(name, "invalid", fmt.Sprintf("Parameter %s was given %d times and is no list.", name, len(given)))
	}
	v := given[0]
	switch p.kind {
	case number:
		n, err := strconv.Atoi(v)
		if err != nil || n < p.min || n > p.max {
			return badRequest(name, "invalidParameter",
				fmt.Sprintf("Invalid value '%s'. Values must be within the range: [%d, %d]", v, p.min, p.max))
		}
	case boolean:
		if v != "true" && v != "false" {
			return badRequest(name, "invalidParameter", fmt.Sprintf("Invalid value '%s' for %s. Use true or false.", v, name))
		}
	case instant:
		if _, err := time.Parse(time.RFC3339Nano, v); err != nil {
			return badRequest(name, "invalidParameter", fmt.Sprintf("Invalid value '%s' for %s. It must be an RFC 3339 date-time.", v, name))
		}
	case enum:
		if !slices.Contains(p.values, v) {
			return badRequest(name, "invalidParameter", fmt.Sprintf("Invalid value '%s' for %s. Use %s.", v, name, strings.Join(p.values, ", ")))
		}
	case absent:
		return badRequest(name, "invalidParameter", fmt.Sprintf("This stand-in has no data for parameter %s. Leave it out.", name))
	default: // text, mask: any text will do
	}
	return nil
}
