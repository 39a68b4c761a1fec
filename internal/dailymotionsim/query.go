package dailymotionsim

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxPage and maxLimit are limits of the API; maxResults is the most results of any list.
const (
	maxPage    = 100
	maxLimit   = 100
	maxResults = 1000
)

// query holds a call's parameters after the checks.
type query struct {
	method  string // its name in the caller's costs; the API only has GET /videos
	country string
	channel string
	search  string
	ids     []string
	owners  []string
	sort    string
	after   int64
	before  int64
	page    int
	limit   int
	fields  []string
}

// parse reads and checks the parameters. For an invalid call it returns the readable part, as the call is counted.
func parse(v url.Values) (query, *answer) {
	q := query{
		country: v.Get("country"), channel: v.Get("channel"), search: v.Get("search"), sort: v.Get("sort"),
		page: 1, limit: 10, fields: []string{"id", "title", "channel", "owner"},
	}
	if v.Has("ids") {
		q.ids = strings.Split(v.Get("ids"), ",")
	}
	if v.Has("owners") {
		q.owners = strings.Split(v.Get("owners"), ",")
	}
	if v.Has("fields") {
		q.fields = strings.Split(v.Get("fields"), ",")
	}
	switch {
	case v.Has("ids"):
		q.method = "videos.list"
	case v.Has("search"):
		q.method = "videos.search"
	default:
		q.method = "videos.trending"
	}
	for name := range v {
		if !slices.Contains(parameters, name) {
			return q, invalid(name, "unknown parameter")
		}
	}
	for _, p := range []struct {
		name string
		into *int
		max  int
	}{{"page", &q.page, maxPage}, {"limit", &q.limit, maxLimit}} {
		n, err := strconv.Atoi(cmp.Or(v.Get(p.name), strconv.Itoa(*p.into)))
		if err != nil || n < 1 || n > p.max {
			return q, invalid(p.name, "out of range")
		}
		*p.into = n
	}
	for name, into := range map[string]*int64{"created_after": &q.after, "created_before": &q.before} {
		n, err := strconv.ParseInt(cmp.Or(v.Get(name), "0"), 10, 64)
		if err != nil {
			return q, invalid(name, "no date")
		}
		*into = n
	}
	return q, q.check()
}

var (
	parameters = []string{
		"ams_country", "channel", "country", "created_after", "created_before", "fields", "ids", "limit", "owners", "page",
		"search", "sort",
	}
	sorts = []string{"", "trending", "recent", "relevance"}
)

func (q query) check() *answer {
	for _, f := range q.fields {
		if !slices.Contains(fieldNames, f) {
			return invalid("fields", "unknown field "+f)
		}
	}
	switch {
	case q.country != "" && !isCountry(q.country):
		return invalid("country", "no ISO 3166-1 alpha-2 code")
	case q.channel != "" && !slices.Contains(channels, q.channel):
		return notFound("channel", q.channel)
	case !slices.Contains(sorts, q.sort):
		return invalid("sort", "unknown order")
	case q.sort == "relevance" && q.search == "":
		return invalid("sort", "relevance needs a search")
	}
	return nil
}

func isCountry(s string) bool {
	s = strings.ToLower(s)
	return len(s) == 2 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == "" && s != "xx" && s != "zz"
}
