package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"regexp"
	"time"
)

//go:embed files
var files embed.FS

// asset is a file that pages load. Its path in a page names its content, so that browsers may keep it.
type asset struct {
	name, kind string
	body       []byte
	sum        string
}

// The files of every page, in the order they are loaded.
var (
	stylesheet = embedded("style.css", "text/css; charset=utf-8")
	script     = embedded("script.js", "text/javascript; charset=utf-8")
	icon       = embedded("icon.svg", "image/svg+xml")
)

func embedded(name, kind string) asset {
	body, err := files.ReadFile("files/" + name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	body = withoutComments.ReplaceAll(body, nil)
	if name == "style.css" {
		body = spaces.ReplaceAll(body, []byte("$1$2"))
	}
	return newAsset(name, kind, body)
}

// spaces matches spaces and ends of lines that a stylesheet does not need; none is in its texts.
var spaces = regexp.MustCompile(`([;:,{}])\s+| (\{)`)

// withoutComments matches indents and comments, which browsers need not load. No text in the files has " // ".
var withoutComments = regexp.MustCompile(`(?m)^[ \t]*(//.*\n|/\*.*\*/\n)?| // .*$`)

func newAsset(name, kind string, body []byte) asset {
	sum := sha256.Sum256(body)
	return asset{name, kind, body, base64.RawURLEncoding.EncodeToString(sum[:9])}
}

func (a asset) path() string { return "/" + a.name + "?v=" + a.sum }

func (a asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("ETag", `"`+a.sum+`"`)
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == a.sum {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, a.name, time.Time{}, bytes.NewReader(a.body)) // also answers If-None-Match
}
