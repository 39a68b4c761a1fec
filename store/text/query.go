package text

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxBytes bounds the text of a query, and maxTokens its tokens: the rest is left out.
const (
	MaxBytes  = 16 << 10
	maxTokens = 128
)

// columns are the fields that a query may name, and what the index calls them.
var columns = map[string]string{"channel": "channel", "tag": "tags"}

// Query is what was asked for: all clauses must be met.
type Query []clause

// clause is one condition of a query: these tokens, one behind the other.
type clause struct {
	column string // "" is any
	tokens []string
	prefix bool // the last token may go on
	not    bool
	typed  string // what the tokens were cut from

	// words are those with the prefix, where the index cannot be asked for it; all says that no more have it.
	// See Expand.
	words []string
	all   bool
}

// Parse reads a query. White space separates its clauses:
//
//	word  "a phrase"  begin*  -not  channel:word  tag:"a phrase"
//
// No query is wrong: what has no meaning is taken as text, and so is a quote that is never closed. Text
// without a letter, digit or emoji asks for nothing.
func Parse(query string) Query {
	var out Query
	tokens := 0
	for rest := strings.TrimSpace(query[:min(len(query), MaxBytes)]); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
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

// Match writes the query for FTS5; column is where those clauses look that name none themselves, "" for
// anywhere. For a prefix that more words have than Expand has looked up, it asks for those that were, or,
// loosely, for a shorter prefix that the index has: then Meets must check what is found. ok is false when
// nothing positive is asked for, which FTS5 cannot express.
// https://www.sqlite.org/fts5.html#full_text_query_syntax
func (q Query) Match(column string, loosely bool) (expr string, ok bool) {
	var want, not []string
	for _, c := range q {
		switch {
		case c.not && c.loose(): // Meets excludes these
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
	expr = strings.Join(want, " AND ")
	if len(not) > 0 {
		expr = "(" + expr + ") NOT (" + strings.Join(not, " OR ") + ")"
	}
	return expr, true
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

// Explain says in words what the query looks for, folded as it is looked for.
func (q Query) Explain() string {
	var want, not []string
	for _, c := range q {
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
