package youtubesim

import (
	"fmt"
	"html"
	"net/http"
	"strings"

	"github.com/trendvidstream/ingest/internal/standin"
)

// picturePrefix is the path of videos' pictures on i.ytimg.com: /vi/ID/FILE.
const picturePrefix = "/vi/"

// servePicture draws a video's thumbnail: its title on a colour derived from its id. As on YouTube, it costs no quota
// and is not counted.
func (s *Server) servePicture(w http.ResponseWriter, r *http.Request) {
	id, file, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, picturePrefix), "/")
	v := s.cat.video(id, s.opt.Now())
	if v == nil || file == "" || strings.Contains(file, "/") {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "max-age=3600")
	title := []rune(strings.Map(printable, v.title))
	_, _ = fmt.Fprintf(w,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 360" role="img">`+
			`<rect width="480" height="360" fill="hsl(%d 55%% 35%%)"/>`+
			`<text x="240" y="190" fill="#fff" font-family="sans-serif" font-size="22" text-anchor="middle">%s</text></svg>`,
		standin.Hash(standin.HashText(v.id))%360, html.EscapeString(string(title[:min(len(title), 36)])))
}

// printable drops characters that XML does not allow.
func printable(r rune) rune {
	if r < ' ' || r == '\uFFFE' || r == '\uFFFF' {
		return -1
	}
	return r
}
