package pages

import (
	"cmp"
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/regions"
)

// feed is an Atom document (RFC 4287).
type feed struct {
	XMLName xml.Name   `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string     `xml:"id"`
	Title   string     `xml:"title"`
	Updated string     `xml:"updated"`
	Links   []feedLink `xml:"link"`
	Author  feedPerson `xml:"author"`
	Rights  string     `xml:"rights,omitempty"`
	Made    string     `xml:"generator"`
	Entries []feedEntry
}

type feedLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type feedPerson struct {
	Name string `xml:"name"`
	URI  string `xml:"uri,omitempty"`
}

type feedEntry struct {
	XMLName   xml.Name   `xml:"entry"`
	ID        string     `xml:"id"`
	Title     string     `xml:"title"`
	Updated   string     `xml:"updated"`
	Published string     `xml:"published,omitempty"`
	Links     []feedLink `xml:"link"`
	Author    feedPerson `xml:"author"`
	Summary   string     `xml:"summary"`
}

// ChartFeed returns a chart as an Atom feed, with an entry for each video that it selects. params are the parameters
// of the feed's own address. The id of an entry is the same as long as the video is in the feed, and its time is the
// time of the video's first kept chart.
func (p Provider) ChartFeed(r *http.Request, doc report.MovesDocument, params url.Values) ([]byte, error) {
	name := "Most popular in " + regions.NameInText(doc.Region)
	change := params.Get("change")
	for _, c := range shownChanges {
		if c.change == change {
			name = "Videos that " + map[string]string{"new": "are new", "risen": "rose", "fallen": "fell",
				"gone": "left"}[change] + " in the charts of " + regions.NameInText(doc.Region)
		}
	}
	if limit := params.Get("limit"); limit != "" {
		name += ", the first " + limit
	}
	page := view{region: string(doc.Region), params: url.Values{}}
	for param, of := range map[string]string{"at": "at", "job": "job", "compare": "since",
		"change": "show", "category": "category", "length": "length"} {
		page.params.Set(of, params.Get(param))
	}
	page.params = changed(page.params)
	f := p.newFeed(r, term.Clean(name), params, page.with("", ""))
	items := doc.ChartDocument.Items
	if doc.Compared() {
		items = nil
		for _, v := range append(doc.Items, doc.Gone...) {
			items = append(items, v.ChartItem)
		}
	}
	for _, v := range items {
		since := doc.Slot
		if v.Since != nil {
			since = *v.Since
		}
		f.add(v.VideoDocument, since, fmt.Sprintf("Rank %d, %s, %s", v.Rank, term.Clean(v.Channel), viewsOf(v.VideoDocument)))
	}
	return f.encode(doc.Slot)
}

// SearchFeed returns a search as an Atom feed.
func (p Provider) SearchFeed(r *http.Request, doc report.SearchDocument, params url.Values) ([]byte, error) {
	f := p.newFeed(r, term.Fit(doc.Query, 60)+" · Search", params,
		"/search?"+changed(params, "format", "", "limit", "", "after", "", "counts", "").Encode())
	newest := time.Time{}
	for _, v := range doc.Items {
		at := time.Unix(0, 0)
		for _, known := range []*time.Time{v.SeenAt, v.PublishedAt} { // when it came out, else when it was found
			if known != nil {
				at = *known
			}
		}
		if at.After(newest) {
			newest = at
		}
		f.add(v.VideoDocument, at,
			strings.TrimPrefix(fmt.Sprintf("%s, %s", term.Clean(v.Channel), viewsOf(v.VideoDocument)), ", "))
	}
	if newest.IsZero() {
		newest = time.Unix(0, 0) // nothing was found yet
	}
	return f.encode(newest)
}

// newFeed returns a feed without entries. Its id depends on its address alone, not on the host and the path
// that serve it.
func (p Provider) newFeed(r *http.Request, title string, params url.Values, page string) *feed {
	self, base := r.URL.EscapedPath()+"?"+params.Encode(), BasePath(r.Context())
	f := &feed{Title: title, ID: urnOf(self), Author: feedPerson{cmp.Or(p.Name, "ingest"), p.Home}, Made: "ingest",
		Links: []feedLink{{"self", "application/atom+xml", base + self}, {"alternate", "text/html", base + page}}}
	if p.Name != "" {
		f.Rights = fmt.Sprintf("Charts, titles and counts: %s (%s). Its terms apply: %s", p.Name, p.Home, p.Terms)
	}
	return f
}

func (f *feed) add(v report.VideoDocument, since time.Time, summary string) {
	e := feedEntry{ID: v.URL + "#" + strings.TrimPrefix(f.ID, "urn:uuid:"), Title: term.Clean(named(v.Title)),
		Updated: stamp(since), Links: []feedLink{{"alternate", "text/html", v.URL}},
		Author: feedPerson{Name: cmp.Or(term.Clean(v.Channel), f.Author.Name)}, Summary: summary}
	if v.PublishedAt != nil {
		e.Published = stamp(*v.PublishedAt)
	}
	f.Entries = append(f.Entries, e)
}

// encode writes the feed; at is when a feed without entries last changed.
func (f *feed) encode(at time.Time) ([]byte, error) {
	f.Updated = stamp(at)
	for i, e := range f.Entries {
		if i == 0 || e.Updated > f.Updated {
			f.Updated = e.Updated
		}
	}
	body, err := xml.Marshal(f)
	return append([]byte(xml.Header), body...), err
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// urnOf returns a UUID (RFC 9562, version 8) that depends on an address alone.
func urnOf(address string) string {
	id := sha256.Sum256([]byte(address))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
}
