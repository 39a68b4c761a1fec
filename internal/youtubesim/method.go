package youtubesim

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// method is one of the API's methods, as the discovery document describes it. All are called by GET.
type method struct {
	name   string // its name in the cost tables
	path   string // below /youtube/v3/
	params map[string]param
	parts  []string
	shape  tree // every field that a mask may name
	answer func(catalogue, *request) *answer
}

// parse reads and checks the query. For an invalid request it still returns the request, which must be counted; the
// answer then names the mistake.
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

// checkParts requires at least one part, and only parts that the method has.
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
