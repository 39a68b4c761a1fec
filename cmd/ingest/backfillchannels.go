package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/trendvidstream/ingest/internal/term"
)

// parseChannel reads how a person names a channel: its id, UC and 22 characters; its handle, @name; or
// the URL of its page, with whatever stands behind it.
func parseChannel(s string) (string, error) {
	ref := strings.TrimSpace(s)
	if host, path, ok := youtubePage(ref); ok {
		first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		second, _, _ := strings.Cut(rest, "/")
		switch {
		case strings.HasPrefix(first, "@"):
			ref = first
		case first == "channel":
			ref = second
		case first == "c" || first == "user":
			return "", fmt.Errorf("%q is an old kind of address: open it, and give the @handle that the page shows", term.Fit(s, 80))
		default:
			return "", fmt.Errorf("%q is no channel of %s: use https://www.youtube.com/@handle or .../channel/UC...", term.Fit(s, 80), host)
		}
	}
	switch {
	case isChannelID(ref):
		return ref, nil
	case strings.HasPrefix(ref, "@") && isHandle(ref[1:]):
		return strings.ToLower(ref), nil // handles are the same in either case
	case strings.HasPrefix(ref, "@"):
		return "", fmt.Errorf("%q is no handle: those have 3 to 30 letters, digits, and . _ - between them", term.Fit(s, 80))
	case strings.HasPrefix(ref, "UC"):
		return "", fmt.Errorf("%q is no channel id: those are UC and 22 more characters", term.Fit(s, 80))
	default:
		return "", fmt.Errorf("%q is no channel: use its id (UC...), its @handle or the URL of its page", term.Fit(s, 80))
	}
}

// youtubePage takes the URL of a page of YouTube apart; the scheme may be left out.
func youtubePage(s string) (host, path string, ok bool) {
	if !strings.Contains(s, "/") {
		return "", "", false
	}
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return "", "", false
	}
	host = strings.ToLower(u.Hostname())
	return host, u.Path, host == "youtube.com" || strings.HasSuffix(host, ".youtube.com")
}

func isChannelID(s string) bool {
	if len(s) != 24 || !strings.HasPrefix(s, "UC") {
		return false
	}
	for i := range len(s) {
		if !isWordByte(s[i]) {
			return false
		}
	}
	return true
}

// isHandle allows what handles may hold: letters and digits of any script, and . _ - · between them.
// https://support.google.com/youtube/answer/11585688
func isHandle(s string) bool {
	if n := utf8.RuneCountInString(s); n < 3 || n > 30 || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("._-·", r) {
			return false
		}
	}
	return true
}

// parseChannels reads them all, each once; an error names every one that is wrong.
func parseChannels(args []string) ([]string, error) {
	var channels []string
	var wrong []string
	seen := map[string]bool{}
	for i, arg := range args {
		c, err := parseChannel(arg)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("channel %d of %d: %v", i+1, len(args), err))
		case !seen[c]:
			seen[c] = true
			channels = append(channels, c)
		}
	}
	if len(wrong) > 0 {
		return nil, usageError{errors.New(strings.Join(wrong, "; "))}
	}
	return channels, nil
}
