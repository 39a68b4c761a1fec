package web

import (
	"encoding/json"
	"net/http"
	"strings"
)

// wantsJSON reports whether the client asked for JSON, by ?format=json or by Accept.
func wantsJSON(r *http.Request) bool {
	return r.URL.Query().Get("format") == "json" || strings.Contains(r.Header.Get("Accept"), "application/json")
}

// write answers with a document, to whom does not ask for that as text.
func write(w http.ResponseWriter, r *http.Request, code int, text string, doc any) {
	if wantsJSON(r) {
		writeJSON(w, code, doc)
		return
	}
	writeText(w, code, text)
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text))
}
