package youtube

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
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

const (
	maxIDs   = 5_000_000 // different ids in one list, which is held in memory
	maxShown = 160       // bytes kept of a rejected line
)

// videoPaths are the first parts of URL paths that name a video, before its id.
var videoPaths = []string{"shorts", "live", "embed", "v", "e", "vi"}

// ParseVideo reads a video as people name it: its id, or the URL of any of its pages. why says what is wrong; "" if
// nothing is.
func ParseVideo(s string) (id string, why string) {
	s = strings.TrimSpace(s)
	if v, ok := parseVideoID([]byte(s)); ok {
		return string(v[:]), ""
	}
	if !strings.Contains(s, "/") {
		if len(s) != len(VideoID{}) {
			return "", fmt.Sprintf("an id has %d characters, and this has %d", len(VideoID{}), utf8.RuneCountInString(s))
		}
		return "", "no id has such a character: there are letters, digits, - and _"
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

// IDList holds ids in the order of their first appearance.
type IDList struct {
	IDs      []VideoID
	Repeated int // repeats
	Wrong    int // lines without an id
}

// ReadIDs reads lines as ParseVideo does, lines of several ids, a yt-dlp archive, or a table with videos in its first column, with or without quotes. It skips
// empty lines, those that begin with #, and the table's heading. It gives the others to reject: the line's number from 1,
// its text, shortened but not safe for a terminal, and the reason. Memory grows only with the number of different ids.
func ReadIDs(r io.Reader, reject func(line int, text, why string) error) (*IDList, error) {
	l, seen := &IDList{}, map[VideoID]struct{}{}
	text := transform.NewReader(r, unicode.BOMOverride(transform.Nop)) // UTF-16 with its mark, as PowerShell writes it
	lines := bufio.NewReaderSize(text, 1<<16)
	for n := 1; ; n++ {
		line, long, err := readLine(lines)
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return nil, fmt.Errorf("read the ids, line %d: %w", n, err)
		}
		line = bytes.TrimSpace(line)
		field := firstField(line)
		if ids := severalIDs(line); ids != nil && !long {
			if err := l.add(seen, ids...); err != nil {
				return nil, err
			}
			if last {
				return l, nil
			}
			continue
		}
		id, ok := parseVideoID(field)
		why := ""
		if !ok {
			var text string
			text, why = ParseVideo(string(field))
			copy(id[:], text)
		}
		switch {
		case !long && (len(line) == 0 || line[0] == '#' || len(seen)+l.Wrong == 0 && isHeading(field)):
		case why != "":
			l.Wrong++
			if err := reject(n, string(line[:min(len(line), maxShown)]), why); err != nil {
				return nil, err
			}
		default:
			if err := l.add(seen, id); err != nil {
				return nil, err
			}
		}
		if last {
			return l, nil
		}
	}
}

func (l *IDList) add(seen map[VideoID]struct{}, ids ...VideoID) error {
	for _, id := range ids {
		if _, repeated := seen[id]; repeated {
			l.Repeated++
			continue
		}
		if len(seen) == maxIDs {
			return fmt.Errorf("more than %d million different ids: plan them in several backfills", maxIDs/1_000_000)
		}
		seen[id] = struct{}{}
		l.IDs = append(l.IDs, id)
	}
	return nil
}

// severalIDs returns the ids of a line of nothing else, with spaces between them, or of a line of a yt-dlp archive; nil
// for any other line.
func severalIDs(line []byte) (ids []VideoID) {
	words := bytes.Fields(line)
	if len(words) == 2 && string(words[0]) == "youtube" {
		words = words[1:]
	} else if len(words) < 2 {
		return nil
	}
	for _, word := range words {
		id, ok := parseVideoID(bytes.TrimRight(word, ",;"))
		if !ok {
			return nil
		}
		ids = append(ids, id)
	}
	return ids
}

// firstField returns the first column of a table's line, without quotes.
func firstField(line []byte) []byte {
	if id, found := guarded(line); found {
		return id
	}
	if len(line) > 1 && (line[0] == '"' || line[0] == '\'') {
		if end := bytes.IndexByte(line[1:], line[0]); end >= 0 {
			return bytes.TrimSpace(line[1 : 1+end])
		}
	}
	if i := bytes.IndexAny(line, ",;\t"); i >= 0 {
		line = line[:i]
	}
	return bytes.TrimSpace(line)
}

// guarded returns an id after an apostrophe, which an export for spreadsheets puts before one that begins with a minus.
func guarded(line []byte) (id []byte, found bool) {
	id, found = bytes.CutPrefix(line, []byte("'"))
	if i := bytes.IndexAny(id, ",;\t"); i >= 0 {
		id = id[:i]
	}
	id = bytes.TrimSpace(id)
	_, ok := parseVideoID(id)
	return id, found && ok
}

// isHeading reports whether a field names a column of videos.
func isHeading(field []byte) bool {
	name := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(string(field)))
	return slices.Contains([]string{"id", "ids", "video", "videos", "videoid", "videoids", "url", "urls", "videourl", "link", "youtubeid"}, name)
}

// readLine reads a line, valid until the next read. Of a line longer than the reader's buffer it returns the
// beginning.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	line, err = r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, false, err
	}
	line = bytes.Clone(line[:maxShown])
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	return line, true, err
}

// Chunks returns the ids, size at a time.
func (l *IDList) Chunks(size int) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for ids := range slices.Chunk(l.IDs, size) {
			chunk := make([]string, len(ids))
			for i, id := range ids {
				chunk[i] = string(id[:])
			}
			if !yield(chunk) {
				return
			}
		}
	}
}
