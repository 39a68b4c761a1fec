package pages

import (
	"fmt"
	"net/url"
	"strings"

	g "maragu.dev/gomponents"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// Page is one page: its frame, and its content.
type Page struct {
	Code  int        // HTTP status; 0: 200
	Title string     // of the document, without the name of the program
	Shape string     // shown before the title
	Tab   string     // the path of this page's link in the head; "": it has none
	Query string     // the text of the search box
	Keep  url.Values // the parts that a search from this page keeps, such as its filters
	JSON  string     // where the same document is as JSON; "": nowhere
	Take  []Export   // the same view in other formats
	About string     // the description that other sites show beside a link to the page; "": none
	Face  string     // the picture that they show; "": none
	Live  bool       // the page reloads itself
	Main  g.Node
}

// Export is a page's view in a format that a reader can take away.
type Export struct{ Kind, Name, Href string }

// The media types of exports.
const (
	typeJSON = "application/json"
	typeCSV  = "text/csv"
	typeAtom = "application/atom+xml"
)

// aboutVideos describes a list by its first three videos, and returns the picture of the first.
func aboutVideos(videos []report.VideoDocument) (about, face string) {
	for i, v := range videos[:min(3, len(videos))] {
		if i == 0 {
			face = v.Thumbnail
		}
		title := []rune(named(v.Title)) // a title may have any number of characters without width
		about += fmt.Sprintf("%d. %s  ", i+1, term.Fit(string(title[:min(len(title), 140)]), 70))
	}
	return strings.TrimSpace(about), face
}
