package web

import (
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest/internal/pages"
)

// mounted serves the site under the base path of a request: pages and documents link to where their reader sees the
// site. A proxy may have removed the base path or not. Each address has one form: others redirect to it.
func (s *Site) mounted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base := s.basePath(r)
		within := r.URL.EscapedPath()
		if under, ok := strings.CutPrefix(within, base); ok && (under == "" || under[0] == '/') {
			within = under
		}
		if to := oneForm(within); to != within && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			location := url.URL{Path: base + to, RawQuery: r.URL.RawQuery}
			if unescaped, err := url.PathUnescape(location.Path); err == nil {
				location.RawPath, location.Path = location.Path, unescaped
			}
			w.Header().Set("Cache-Control", "no-store") // the base path may change
			w.Header().Set("Location", location.String())
			w.WriteHeader(http.StatusPermanentRedirect)
			return
		}
		if base != "" {
			r = r.WithContext(pages.WithBasePath(r.Context(), base))
			inside := *r.URL
			inside.RawPath = within
			inside.Path, _ = url.PathUnescape(within) // a part of a path that was well formed
			r.URL = &inside
		}
		next.ServeHTTP(w, r)
	})
}

// basePath returns the path under which the client of a request sees the site; "" for the root. A listed proxy may name
// another than the configured one.
func (s *Site) basePath(r *http.Request) string {
	given := r.Header.Get("X-Forwarded-Prefix")
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if given == "" || err != nil ||
		!slices.ContainsFunc(s.Proxies, func(p netip.Prefix) bool { return p.Contains(peer.Addr().Unmap()) }) {
		return s.BasePath
	}
	if given = strings.TrimRight(given, "/"); !IsBasePath(given) {
		return s.BasePath
	}
	return given
}

// IsBasePath reports whether a text can be a base path: "", or one such as /ingest, in one form and without
// characters that need escaping.
func IsBasePath(text string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/"
	return text == "" || text[0] == '/' && len(text) > 1 && len(text) <= 200 && path.Clean(text) == text &&
		strings.Trim(text, plain) == ""
}

// oneForm returns the form of a path that has a page: without repeated and trailing slashes, "." and "..".
func oneForm(within string) string {
	cleaned := path.Clean("/" + within)
	if cleaned == "/v1" {
		return "/v1/"
	}
	return cleaned
}

// robots keeps search engines away from all but the charts and the videos.
func (s *Site) robots(w http.ResponseWriter, r *http.Request) {
	base := pages.BasePath(r.Context())
	text := "User-agent: *\n"
	for _, hidden := range []string{"/*?", "/search", "/status", "/v1/", "/readyz", "/freshness", "/metrics", "/livez"} {
		text += "Disallow: " + base + hidden + "\n"
	}
	writeText(w, http.StatusOK, text)
}

// indexable reports whether search engines may list a page: the home page, and charts and videos without filters.
func indexable(u *url.URL) bool {
	return u.RawQuery == "" && (u.Path == "/" || u.Path == "/charts" || strings.HasPrefix(u.Path, "/charts/") ||
		strings.HasPrefix(u.Path, "/videos/"))
}
