package store

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// How long a query gets, in tokens and in bytes: what stands behind is left out.
const (
	maxTokens = 128
	maxBytes  = 16 << 10
)

// columns are the fields that a query may name, and what the index calls them.
var columns = map[string]string{"channel": "channel", "tag": "tags"}

// clause is one condition of a query: these tokens, one behind the other.
type clause struct {
	column string // "" is any
	tokens []string
	prefix bool // the last token may go on
	not    bool
	typed  string // what the tokens were cut from

	// Of a beginning that the index does not have, the words that go on so; all says that these are
	// all of them. See expand.
	words []string
	all   bool
}

// parse reads a query. Its clauses, parted by white space, must all be met:
//
//	word  "a phrase"  begin*  -not  channel:word  tag:"a phrase"
//
// There are no wrong queries: what means nothing is taken as text, so is a quote that is never closed,
// and text without a letter, digit or emoji in it asks for nothing.
func parse(query string) []clause {
	var out []clause
	tokens := 0
	for rest := strings.TrimSpace(query); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
		var c clause
		if c.not = rest[0] == '-' && len(rest) > 1; c.not {
			rest = rest[1:]
		}
		c.column, rest = cutColumn(rest)
		var text string
		text, c.prefix, rest = cutText(rest)
		c.typed = norm.NFC.String(text)
		c.setTokens(text)
		if room := maxTokens - tokens; len(c.tokens) > room {
			c.tokens, c.prefix = c.tokens[:room], false
		}
		if len(c.tokens) > 0 {
			out = append(out, c)
		}
		tokens += len(c.tokens)
	}
	return out
}

// cutColumn cuts a column's name and colon off, if something follows them.
func cutColumn(s string) (column, rest string) {
	name, behind, ok := strings.Cut(s, ":")
	column = columns[strings.ToLower(name)]
	if !ok || column == "" || behind == "" || strings.IndexFunc(behind, unicode.IsSpace) == 0 {
		return "", s
	}
	return column, behind
}

// cutText cuts a quoted phrase or a word off, and the asterisk behind it.
func cutText(s string) (text string, prefix bool, rest string) {
	if quoted, ok := strings.CutPrefix(s, `"`); ok {
		if text, rest, ok := strings.Cut(quoted, `"`); ok {
			rest, prefix = strings.CutPrefix(rest, "*")
			return text, prefix, rest
		}
		s = quoted
	}
	text = s
	if end := strings.IndexFunc(s, unicode.IsSpace); end >= 0 {
		text, rest = s[:end], s[end:]
	}
	text, prefix = strings.CutSuffix(text, "*")
	return text, prefix, rest
}

// setTokens cuts the text as Normalize does, but leaves open how a run of Chinese, Japanese or Korean
// goes on at its end. One character alone is a prefix: the index has it at the head of bigrams.
func (c *clause) setTokens(text string) {
	all := words(fold(text))
	for i, w := range all {
		last := i == len(all)-1
		before := len(c.tokens)
		c.tokens = w.tokens(c.tokens, !last)
		if last && w.cjk && len(c.tokens) == before+1 {
			c.prefix = true
		}
	}
}

// match writes the clauses as an FTS5 query; column is where those look that name none themselves, "" for
// anywhere. Where a beginning goes on in too many words, it asks for those that were looked up, or, loosely,
// for a shorter one, that more go on from. ok is false when nothing positive is asked for, which FTS5 cannot
// express. https://www.sqlite.org/fts5.html#full_text_query_syntax
func match(clauses []clause, column string, loosely bool) (query string, ok bool) {
	var want, not []string
	for _, c := range clauses {
		switch {
		case c.not && c.loose(): // checks sees to it
		case c.not:
			not = append(not, c.match(c.column))
		case c.loose() && (loosely || len(c.words) == 0):
			want = append(want, c.loosened().match(cmp.Or(c.column, column)))
		default:
			want = append(want, c.match(cmp.Or(c.column, column)))
		}
	}
	if len(want) == 0 {
		return "", false
	}
	query = strings.Join(want, " AND ")
	if len(not) > 0 {
		query = "(" + query + ") NOT (" + strings.Join(not, " OR ") + ")"
	}
	return query, true
}

// match quotes the tokens; none holds a quote, since quotes part words.
func (c clause) match(column string) string {
	head := `"` + strings.Join(c.tokens, " ") + `"`
	if c.prefix {
		head += " *"
	}
	if len(c.words) > 0 {
		all := make([]string, len(c.words))
		for i, w := range c.words {
			all[i] = `"` + strings.Join(append(slices.Clone(c.tokens[:len(c.tokens)-1]), w), " ") + `"`
		}
		head = "(" + strings.Join(all, " OR ") + ")"
	}
	if column != "" {
		head = column + " : " + head
	}
	return head
}

// explain says in words what the clauses look for, as they are looked for: folded.
func explain(clauses []clause) string {
	var want, not []string
	for _, c := range clauses {
		if c.not {
			not = append(not, c.explain())
		} else {
			want = append(want, c.explain())
		}
	}
	text := strings.Join(want, " and ")
	if len(not) > 0 {
		text += ", not " + strings.Join(not, ", not ")
	}
	return text
}

func (c clause) explain() string {
	// Of bigrams the first characters make the text again.
	var text strings.Builder
	for i, t := range c.tokens {
		r, size := utf8.DecodeRuneInString(t)
		cjk := kindOf(r) == ideo
		last := i == len(c.tokens)-1
		if cjk && !last {
			t = t[:size]
		}
		text.WriteString(t)
		if !last && !cjk {
			text.WriteByte(' ')
		}
	}
	s := `"` + text.String() + `"`
	if c.prefix && kindOf([]rune(c.tokens[0])[0]) != ideo {
		s += "..."
	}
	switch c.column {
	case "tags":
		s = "tag " + s
	case "channel":
		s = "channel " + s
	}
	return s
}
