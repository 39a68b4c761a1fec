package youtube

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParseChannel reads a channel as people name it: its id, UC and 22 characters; its handle, @name, percent-encoded or
// not; or the URL of its page with anything after it. The error quotes the input, shortened and escaped.
func ParseChannel(s string) (string, error) {
	ref := strings.TrimFunc(s, isBlank)
	if handle, err := url.PathUnescape(ref); err == nil && strings.HasPrefix(ref, "@") {
		ref = handle
	}
	if u, ok := pageURL(ref); ok && isAt(u, "youtube.com") {
		first, rest, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
		second, _, _ := strings.Cut(rest, "/")
		switch {
		case strings.HasPrefix(first, "@"):
			ref = first
		case first == "channel":
			ref = second
		case first == "c" || first == "user":
			return "", fmt.Errorf("%.80q is an old kind of address: open it, and give the @handle that the page shows", s)
		default:
			return "", fmt.Errorf("%.80q is no channel of %s: use https://www.youtube.com/@handle or .../channel/UC...",
				s, strings.ToLower(u.Hostname()))
		}
	}
	switch {
	case isChannelID(ref):
		return ref, nil
	case isHandle(ref) && validHandle(ref[1:]):
		return strings.ToLower(ref), nil // handles ignore case
	case isHandle(ref):
		return "", fmt.Errorf("%.80q is no handle: those have letters, digits, and . _ - between them", s)
	case strings.HasPrefix(ref, "UC"):
		return "", fmt.Errorf("%.80q is no channel id: those are UC and 22 more characters", s)
	default:
		return "", fmt.Errorf("%.80q is no channel: use its id (UC...), its @handle or the URL of its page", s)
	}
}

// ParseChannels parses channels and drops repeats. The error names every wrong one.
func ParseChannels(refs []string) ([]string, error) {
	var channels, wrong []string
	seen := map[string]bool{}
	for i, ref := range refs {
		c, err := ParseChannel(ref)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("channel %d of %d: %v", i+1, len(refs), err))
		case !seen[c]:
			seen[c] = true
			channels = append(channels, c)
		}
	}
	if len(wrong) > 0 {
		return nil, errors.New(strings.Join(wrong, "; "))
	}
	return channels, nil
}

// pageURL parses a page's address, with or without a scheme. ok is false for other texts.
func pageURL(s string) (u *url.URL, ok bool) {
	if !strings.Contains(s, "/") {
		return nil, false
	}
	if !strings.Contains(s, "://") {
		s = "https://" + strings.TrimPrefix(s, "//")
	}
	u, err := url.Parse(s)
	return u, err == nil && (u.Scheme == "https" || u.Scheme == "http")
}

// isAt reports whether a URL is on one of the sites or their subdomains.
func isAt(u *url.URL, sites ...string) bool {
	host := strings.ToLower(u.Hostname())
	return slices.ContainsFunc(sites, func(site string) bool { return host == site || strings.HasSuffix(host, "."+site) })
}

func isChannelID(s string) bool {
	return len(s) == 24 && strings.HasPrefix(s, "UC") && isBase64URL([]byte(s))
}

// validHandle checks the part after the @: letters and digits of any script, and . _ - · between them.
// https://support.google.com/youtube/answer/11585688
func validHandle(s string) bool {
	// the provider judges their number
	if n := utf8.RuneCountInString(s); n < 1 || n > 100 || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("._-·\u200c\u200d", r) {
			return false
		}
	}
	return true
}
