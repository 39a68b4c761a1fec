package main_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

var (
	pageLink = regexp.MustCompile(`(?s)<a [^>]*href="([^"]*)"[^>]*>(.*?)</a>`)
	jsonLink = regexp.MustCompile(`<link rel="alternate" type="application/json" href="([^"]*)"`)
	pageTag  = regexp.MustCompile(`<[^>]*>`)
)

// Every result, mark, count and link of search pages equals the API's document, page after page to the last.
func TestSearchPagesAreTheDocumentsOfTheAPI(t *testing.T) {
	standIn(t, youtubesim.Options{Seed: 5})
	at(t, "2026-02-14T09:40:00Z")
	ingestJSON[runDocument](t, exitOK, "run")
	title := ingestJSON[report.SearchDocument](t, exitOK, "search", "official", "--limit", "1")
	if len(title.Items) == 0 {
		t.Fatal("a search for official: got 0 items, want 1")
	}
	d := startServe(t, "--origin", "http://localhost:5173")
	d.until("its store can be read", func() bool { code, _ := d.get("search?q=official"); return code == http.StatusOK })
	seen, pages := map[string]bool{}, 0
	for _, first := range []string{"/search?q=official", "/search?q=offcial", "/search?q=official&region=br&order=views&min_views=1"} {
		clear(seen)
		for next := first; next != ""; pages++ {
			next = d.compareSearchPage(next, seen)
		}
	}
	if pages < 5 {
		t.Errorf("only %d pages were compared, want at least 5", pages)
	}
	for path, want := range map[string]string{"search?q=official&after=bad": "from its last page", "search?q=official&region=ZZ": "ZZ", "search?q=official&min_views=many": "Min_views", "search?q=-": "no word"} {
		code, body := d.get(path)
		if (code != http.StatusNotFound) != (path == "search?q=-") || !strings.Contains(body, want) || !strings.Contains(body, `href="/charts"`) {
			t.Errorf("%s: %d, lacks %q:\n%s", path, code, want, body)
		}
	}
	d.compareContract()
	for path, want := range map[string]string{"v1/regions": "http://localhost:5173", "search?q=official": "", "v1/": ""} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", "http://localhost:5173")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := resp.Header.Get("Access-Control-Allow-Origin"); got != want {
			t.Errorf("/%s may be read by pages of %q, want %q", path, got, want)
		}
	}
}

// compareSearchPage holds a page against the document that it links to, and returns the next one.
func (d *served) compareSearchPage(path string, seen map[string]bool) (next string) {
	d.t.Helper()
	code, body := d.get(path[1:])
	if code != http.StatusOK {
		d.t.Fatalf("%s: %d, want %v\n%s", path, code, http.StatusOK, body)
	}
	source := html.UnescapeString(jsonLink.FindStringSubmatch(body)[1])
	_, text := d.get(source[1:])
	var doc report.SearchDocument
	if err := json.Unmarshal([]byte(text), &doc); err != nil || len(doc.Items) == 0 || doc.Counts == nil {
		d.t.Fatalf("%s: %v\n%s", source, err, text)
	}
	rows := strings.Split(body, `<li class="row">`)[1:]
	if len(rows) != len(doc.Items) {
		d.t.Fatalf("%s has %d rows of %d", path, len(rows), len(doc.Items))
	}
	for i, v := range doc.Items {
		if seen[v.VideoID] {
			d.t.Errorf("%s: %s is shown twice", path, v.VideoID)
		}
		seen[v.VideoID] = true
		var regions, marks []string
		for _, r := range v.Regions {
			regions = append(regions, string(r))
		}
		for _, m := range v.Highlight {
			marks = append(marks, "<mark>"+html.EscapeString(term.Clean(string([]rune(v.Title)[m[0]:m[1]])))+"</mark>")
		}
		for _, want := range append(marks, `href="/videos/`+url.PathEscape(v.VideoID)+`"`, html.EscapeString(v.URL), html.EscapeString(term.Clean(v.Channel)), strings.Join(regions, ", ")) {
			if !strings.Contains(rows[i], want) {
				d.t.Errorf("%s: row %d lacks %s:\n%s", path, i+1, want, rows[i])
			}
		}
		titled := pageLink.FindStringSubmatch(rows[i])
		if titled == nil || html.UnescapeString(pageTag.ReplaceAllString(titled[2], "")) != term.Clean(v.Title) ||
			strings.Count(rows[i], "<mark>") != len(v.Highlight) {
			d.t.Errorf("%s: row %d is not %q with %d marks:\n%s", path, i+1, v.Title, len(v.Highlight), rows[i])
		}
	}
	plain := html.UnescapeString(pageTag.ReplaceAllString(body, ""))
	for _, group := range [][]report.CountDocument{doc.Counts.Regions, doc.Counts.Categories} {
		for _, c := range group {
			if want := fmt.Sprintf("%s %s", c.Name, term.Thousands(int64(c.Videos))); c.Videos > 0 && c.Name != "" && !strings.Contains(plain, want) {
				d.t.Errorf("%s does not say %s", path, want)
			}
		}
	}
	if said := strings.Contains(plain, "Little matches"); said != doc.Forgiven {
		d.t.Errorf("%s: forgiven %v, said %v", path, doc.Forgiven, said)
	}
	for _, l := range pageLink.FindAllStringSubmatch(body, -1) {
		if strings.HasPrefix(l[2], "Next") {
			next = html.UnescapeString(l[1])
		}
	}
	if (next == "") != (doc.Next == nil) {
		d.t.Errorf("%s leads on to %q, its document to %v", path, next, doc.Next)
	}
	if next == "" && !doc.Counts.AtLeast && len(seen) != doc.Counts.Matches {
		d.t.Errorf("%s: the pages showed %d of %d results", path, len(seen), doc.Counts.Matches)
	}
	return next
}

// compareContract looks whether the page of the API names all that openapi.json has, and its links lead somewhere.
func (d *served) compareContract() {
	d.t.Helper()
	_, text := d.get("v1/openapi.json")
	var contract struct{ Paths map[string]any }
	if err := json.Unmarshal([]byte(text), &contract); err != nil || len(contract.Paths) < 6 {
		d.t.Fatalf("%v: %s", err, text)
	}
	code, page := d.get("v1/")
	for path := range contract.Paths {
		if code != http.StatusOK || !strings.Contains(page, "<code>"+path) && !strings.Contains(page, strings.ReplaceAll("<code>"+path, "{region}", "US")) {
			d.t.Errorf("the page of the API (%d) lacks %s:\n%s", code, path, page)
		}
	}
	for _, l := range pageLink.FindAllStringSubmatch(page, -1) {
		to := html.UnescapeString(l[1])
		if !strings.HasPrefix(to, "/") {
			continue
		}
		if code, body := d.get(to[1:]); code != http.StatusOK {
			d.t.Errorf("its link %s leads to %d: %s, want %v", to, code, body, http.StatusOK)
		}
	}
}
