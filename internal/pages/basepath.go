package pages

import (
	"context"
	"net/http"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

type basePathKey struct{}

// WithBasePath marks the requests of a reader who sees the site below a path, such as /ingest.
func WithBasePath(ctx context.Context, base string) context.Context {
	return context.WithValue(ctx, basePathKey{}, base)
}

// BasePath returns the path below which a request's reader sees the site; "" for the root.
func BasePath(ctx context.Context) string {
	base, _ := ctx.Value(basePathKey{}).(string)
	return base
}

// below puts a page's links below a base path. Every apparent link here is one, since a quote in a text or a value is
// escaped.
func below(base string, page []byte) []byte {
	if base == "" {
		return page
	}
	var to []string
	for _, attribute := range []string{"href", "src", "action"} {
		to = append(to, " "+attribute+`="/`, " "+attribute+`="`+base+"/")
	}
	return []byte(strings.NewReplacer(to...).Replace(string(page)))
}

// Refuse shows only the reason of a refusal. The page has no frame, since the frame shows the program's state.
func Refuse(w http.ResponseWriter, code int, title, why string) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_ = h.Doctype(h.HTML(h.Lang("en"), h.Head(h.Meta(h.Charset("utf-8")), h.TitleEl(g.Text(title+" · ingest"))),
		h.Body(h.H1(g.Text(title)), h.P(g.Text(why))))).Render(w) // the client may be gone
}
