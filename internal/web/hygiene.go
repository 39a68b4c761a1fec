package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota/httplimit"
)

// guard refuses requests that no front end sends, and admits pages of the listed origins.
func (a *API) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Del("Cache-Control") // the answer sets its own
		if secretInURL(r) {
			httplimit.Problem{Status: http.StatusBadRequest,
				Detail: "a token does not belong in a URL, which is logged and remembered in many places: " +
					"send it as Authorization: Bearer, and replace this one"}.Write(w)
			return
		}
		if a.crossOrigin(w, r) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// checkHost refuses requests for a host name that is not ours. Otherwise a web page elsewhere could point its own name
// at this address (DNS rebinding) and read every answer; but the browser sends that name in Host. Ours are localhost,
// any address, and s.Hosts. A health probe may send any name: /livez reveals nothing.
func (s *Site) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/livez" && !s.isOurs(r.Host) {
			w.Header().Set("Referrer-Policy", "no-referrer")
			why := fmt.Sprintf("%q is not a name that ingest serve answers to. Add it to the config, api: "+
				"{hosts: [NAME]}, or let the proxy pass on a name that is listed.", term.Fit(r.Host, 100))
			if strings.Contains(r.Header.Get("Accept"), "text/html") {
				pages.Refuse(w, http.StatusMisdirectedRequest, "This name is not served here", why)
				return
			}
			httplimit.Problem{Status: http.StatusMisdirectedRequest, Detail: why}.Write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Site) isOurs(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	return slices.ContainsFunc(s.Hosts, func(ours string) bool { return strings.EqualFold(ours, name) })
}

// secrets are parameter names that carry a token in other APIs.
var secrets = []string{"token", "access_token", "api_token", "apikey", "api_key", "key",
	"auth", "authorization", "bearer", "password", "secret"}

// secretInURL checks only the names, even if the query is malformed.
func secretInURL(r *http.Request) bool {
	for pair := range strings.FieldsFuncSeq(r.URL.RawQuery, func(c rune) bool { return c == '&' || c == ';' }) {
		name, _, _ := strings.Cut(pair, "=")
		if slices.Contains(secrets, strings.ReplaceAll(strings.ToLower(name), "-", "_")) {
			return true
		}
	}
	return r.URL.User != nil
}

// crossOrigin lets listed origins read, and answers preflight requests (OPTIONS). It reports whether the request has
// been answered.
func (a *API) crossOrigin(w http.ResponseWriter, r *http.Request) (done bool) {
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	allowed := origin != "" && slices.Contains(a.Origins, origin)
	if allowed {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "ETag, RateLimit, RateLimit-Limit, RateLimit-Policy, "+
			"RateLimit-Remaining, RateLimit-Reset, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset")
	}
	if r.Method != http.MethodOptions {
		return false
	}
	h.Set("Allow", "GET, HEAD, OPTIONS")
	if allowed {
		h.Set("Access-Control-Allow-Methods", "GET, HEAD")
		h.Set("Access-Control-Allow-Headers", "Authorization, If-None-Match")
		h.Set("Access-Control-Max-Age", "600")
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}
