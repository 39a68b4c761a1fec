package pages

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// Row is one video in a list: the whole row is a link to its page, and a second link leads to the provider.
type Row struct {
	Video  report.VideoDocument
	Marks  [][2]int // the characters of the title that matched
	First  g.Node   // before the picture; nil: nothing
	Under  string   // after the channel's name
	Gain   string   // under the views; "": nothing
	Beside g.Node   // beside the title; nil: nothing
}

func (s *Site) row(r Row) g.Node {
	v := r.Video
	return h.Li(h.Class("row"), r.First, s.picture(v),
		h.Div(h.Class("what"),
			h.A(h.Class("title"), h.Dir("auto"), h.Href(videoPath(v.VideoID)), marked(v.Title, r.Marks)),
			h.Span(h.Class("chan soft"), g.El("bdi", g.Text(term.Clean(v.Channel))),
				g.If(r.Under != "", g.Text(" · "+r.Under)))),
		r.Beside,
		h.Span(h.Class("meta"),
			h.Span(h.Class("views soft"), g.Text(viewsOf(v)),
				g.If(r.Gain != "", h.Small(h.Title("views gained per hour"), g.Text(r.Gain)))),
			s.published(v)),
		h.A(h.Class("out"), h.Href(v.URL), h.Rel("noreferrer"), h.Aria("label", "Watch on "+s.Provider.Name),
			h.Span(h.Aria("hidden", "true"), g.Text("↗"))))
}

// picture shows a video's picture, with its length, if the page's policy names the picture's host.
func (s *Site) picture(v report.VideoDocument) g.Node {
	length := clock(v)
	at := slices.IndexFunc(s.PictureHosts, func(host string) bool { return strings.HasPrefix(v.Thumbnail, host+"/") })
	shown, source := s.Pictures && at >= 0, middleSized(v.Thumbnail)
	if shown && s.StandIn != "" {
		source = s.StandIn + strings.TrimPrefix(source, s.PictureHosts[at])
	}
	return h.Span(h.Class("pic"),
		g.If(shown, h.Img(h.Src(source), h.Width("320"), h.Height("180"), h.Alt(""), g.Attr("loading", "lazy"),
			g.Attr("referrerpolicy", "no-referrer"))),
		g.If(length != "", h.Span(h.Class("len"), spoken("Length "), g.Text(length))))
}

// middleSized returns the picture of 320 x 180 pixels if YouTube has one.
func middleSized(picture string) string {
	if at := strings.LastIndexByte(picture, '/'); strings.HasPrefix(picture, "https://i.ytimg.com/vi/") {
		return picture[:at] + "/mqdefault.jpg"
	}
	return picture
}

func clock(v report.VideoDocument) string {
	hours, minutes, seconds := v.DurationS/3600, v.DurationS/60%60, v.DurationS%60
	switch {
	case v.Live:
		return "LIVE"
	case v.DurationS == 0:
		return ""
	case hours > 0:
		return fmt.Sprintf("%d:%02d:%02d", hours, minutes, seconds)
	}
	return fmt.Sprintf("%d:%02d", minutes, seconds)
}

func viewsOf(v report.VideoDocument) string {
	if v.Views == nil {
		return "no count"
	}
	return term.Thousands(*v.Views) + " views"
}

func (s *Site) published(v report.VideoDocument) g.Node {
	if v.PublishedAt == nil {
		return h.Span(h.Class("pub soft"))
	}
	text := ageText(s.Now().Sub(*v.PublishedAt))
	return h.Time(h.Class("pub soft"), h.DateTime(v.PublishedAt.UTC().Format(time.RFC3339)),
		g.Text(text), h.Span(h.Class("wide"), g.Text(" ago")))
}

// marked is a title with some of its characters marked.
func marked(title string, spans [][2]int) g.Node {
	const most = 140 // characters: two lines show fewer
	if named(title) == untitled {
		return g.Text(untitled)
	}
	runes, at := []rune(title), 0
	if len(runes) > most {
		runes = append(runes[:most-1:most-1], '…')
	}
	text := func(from, to int) g.Node { return g.Text(term.Clean(string(runes[from:to]))) }
	var out g.Group
	for _, span := range spans {
		from, to := max(at, span[0]), min(span[1], len(runes))
		if from >= to {
			continue
		}
		out = append(out, text(at, from), h.Mark(text(from, to)))
		at = to
	}
	return append(out, text(at, len(runes)))
}

func videoPath(id string) string { return "/videos/" + url.PathEscape(id) }
