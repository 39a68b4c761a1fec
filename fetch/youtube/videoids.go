package youtube

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// FirstVideo is before YouTube's first video, https://www.youtube.com/watch?v=jNQXAC9IVRw of 2005-04-24 UTC.
var FirstVideo = time.Date(2005, 4, 23, 0, 0, 0, 0, time.UTC)

// VideoID is the id of a video: 11 characters of base64url. https://developers.google.com/youtube/v3/docs/videos#id
// calls it a string, but every id seen has this form.
type VideoID [11]byte

func parseVideoID(s []byte) (id VideoID, ok bool) {
	ok = len(s) == len(id) && isBase64URL(s)
	copy(id[:], s)
	return id, ok
}

// isBase64URL reports whether s consists of the characters of ids.
func isBase64URL(s []byte) bool {
	return !slices.ContainsFunc(s, func(c byte) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	})
}

// videoPaths are the first segments of a video URL's path, before the id.
var videoPaths = []string{"shorts", "live", "embed", "v", "e", "vi"}

// ParseVideo reads a video as people name it: its id, or the URL of any of its pages. why names the mistake; "" if
// there is none.
func ParseVideo(s string) (id string, why string) {
	s = strings.Trim(strings.TrimPrefix(strings.TrimSpace(s), "="), `"'“”‘’`) // a spreadsheet's text: ="ID"
	if v, ok := parseVideoID([]byte(s)); ok {
		return string(v[:]), ""
	}
	if !strings.Contains(s, "/") {
		if len(s) != len(VideoID{}) {
			return "", fmt.Sprintf("an id has %d characters, and this has %d", len(VideoID{}), utf8.RuneCountInString(s))
		}
		return "", "ids have only letters, digits, - and _"
	}
	u, ok := pageURL(s)
	if !ok {
		return "", "it is neither an id nor a URL"
	}
	if id = videoOfURL(u); id == "" {
		return "", "the URL names no video of YouTube"
	}
	return id, ""
}

// videoOfURL returns the id in a YouTube URL; "" if there is none.
func videoOfURL(u *url.URL) string {
	path := strings.Split(strings.Trim(u.Path, "/"), "/")
	id := ""
	switch {
	case isAt(u, "youtu.be"):
		id = path[0]
	case !isAt(u, "youtube.com", "youtube-nocookie.com", "ytimg.com"):
	case u.Query().Get("v") != "":
		id = u.Query().Get("v")
	case path[0] == "attribution_link":
		if inner, err := url.Parse(u.Query().Get("u")); err == nil {
			id = inner.Query().Get("v")
		}
	case len(path) > 1 && slices.Contains(videoPaths, strings.ToLower(path[0])):
		id = path[1]
	}
	if _, ok := parseVideoID([]byte(id)); !ok {
		return ""
	}
	return id
}
