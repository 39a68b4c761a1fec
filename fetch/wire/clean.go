package wire

import (
	"context"
	"errors"
	"html"
	"io"
	"regexp"
	"strings"
	"unicode"

	"github.com/trendvidstream/ingest"
)

// Limits of text from outside in an error, in characters.
const (
	maxReason  = 60
	maxMessage = 300
	maxText    = 500
)

// maxMarkup is how many bytes of a body are searched for a message.
const maxMarkup = 8 << 10

// Cleaner removes markup, control characters and the key from text for an error. The key should not be there; this is
// a second safeguard, as a server may echo a header.
type Cleaner struct{ Key ingest.Secret }

// Text cleans s and cuts it at n characters. It removes the key before the cut, which could leave a part of it, and
// again after the cleaning, which may have joined its parts.
func (c Cleaner) Text(s string, n int) string {
	s = c.hideKey(s)
	if len(s) > maxMarkup {
		s = s[:maxMarkup]
	}
	s = stripTags(html.UnescapeString(stripTags(strings.ToValidUTF8(s, ""))))
	s = strings.Join(strings.Fields(strings.Map(printableRune, s)), " ")
	s = c.hideKey(s)
	if r := []rune(s); len(r) > n {
		s = strings.TrimSpace(string(r[:n-1])) + "…"
	}
	return s
}

// Wrap returns err preceded by its meaning for a person, both cleaned. Is and As see err, unless its text holds the
// key: then they see only the context error.
func (c Cleaner) Wrap(says string, err error) error {
	raw := err.Error()
	w := &wrapped{text: c.Text(says+": "+raw, maxText), err: err}
	if c.hideKey(raw) != raw {
		w.err = contextErrorOf(err)
	}
	return w
}

func (c Cleaner) hideKey(s string) string { return string(hideKey(c.Key.Reveal(), []byte(s))) }

// StandardLog is for the standard library's logger, which quotes unasked messages of servers. A quotation may hold
// the key or a part of it, so it is replaced.
type StandardLog struct{ To io.Writer }

var quoted = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*(?:"|$)`)

func (l StandardLog) Write(line []byte) (int, error) {
	_, err := l.To.Write(quoted.ReplaceAll(line, []byte(`"***"`)))
	return len(line), err
}

var (
	hiddenMarkup = regexp.MustCompile(`(?is)<(?:script|style)\b.*?</(?:script|style)\s*>|<!--.*?-->`)
	inlineTag    = regexp.MustCompile(`(?i)</?(?:a|b|i|em|strong|code|span)\b[^>]*>`)
	anyTag       = regexp.MustCompile(`</?[a-zA-Z!][^>]*(?:>|$)`)
)

func stripTags(s string) string {
	if !strings.ContainsRune(s, '<') {
		return s
	}
	s = inlineTag.ReplaceAllString(hiddenMarkup.ReplaceAllString(s, ""), "")
	return anyTag.ReplaceAllString(s, " ")
}

// printableRune keeps runes that a terminal shows as themselves. Control characters become spaces; format characters,
// including the ones that change the direction of writing, are removed.
func printableRune(r rune) rune {
	switch {
	case unicode.IsSpace(r), unicode.IsControl(r):
		return ' '
	case unicode.Is(unicode.Cf, r):
		return -1
	}
	return r
}

// wrapped shows its own text in place of the text of err.
type wrapped struct {
	text string
	err  error
}

func (w *wrapped) Error() string { return w.text }
func (w *wrapped) Unwrap() error { return w.err }

// contextErrorOf returns the context error in err, without err's text; nil if there is none.
func contextErrorOf(err error) error {
	for _, kind := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return nil
}
