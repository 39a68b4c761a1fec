package text

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// MaxBytes bounds the text of a query, and maxTokens its tokens; the rest is ignored.
const (
	MaxBytes  = 16 << 10
	maxTokens = 128
)

// columns are the fields that a query may name, and their names in the index.
var columns = map[string]string{"channel": "channel", "tag": "tags", "description": "description"}

// Query is a parsed search: a video must meet all its clauses.
type Query []clause

// clause is one condition of a query: these tokens in a row.
type clause struct {
	column string // "" is any
	tokens []string
	others [][]string // other spellings, if little is found: see Forgive
	prefix bool       // the last token may be the beginning of a word
	not    bool
	exact  bool   // in quotes or with an asterisk: never forgiven
	typed  string // the text of the tokens
}

// Parse reads a query. White space separates its clauses:
//
//	word  "a phrase"  begin*  -not  channel:word  tag:"a phrase"  description:word
//
// Every query is valid: signs without a meaning are text, as are a quote that is never closed and a minus that would
// leave nothing to search for. Text without a letter, digit or emoji searches for nothing.
func Parse(query string) Query {
	var out Query
	tokens := 0
	for rest := strings.TrimSpace(query[:min(len(query), MaxBytes)]); rest != ""; rest = strings.TrimLeftFunc(
		rest, unicode.IsSpace) {
		var c clause
		if c.not = rest[0] == '-' && len(rest) > 1; c.not {
			rest = rest[1:]
		}
		c.column, rest = cutColumn(rest)
		quoted := rest[0] == '"'
		var text string
		text, c.prefix, rest = cutText(rest)
		c.exact = quoted || c.prefix
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
	if !slices.ContainsFunc(out, func(c clause) bool { return !c.not }) {
		for i := range out {
			out[i].not = false
		}
	}
	return out
}

// cutColumn cuts off a column's name and colon, if something follows them.
func cutColumn(s string) (column, rest string) {
	name, behind, ok := strings.Cut(s, ":")
	column = columns[strings.ToLower(name)]
	if !ok || column == "" || behind == "" || strings.IndexFunc(behind, unicode.IsSpace) == 0 {
		return "", s
	}
	return column, behind
}

// cutText cuts off a quoted phrase or a word, and the asterisk after it.
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

// setTokens cuts the text as Normalize does, but leaves open how a final run of Chinese, Japanese or Korean goes on. A
// single character is a prefix: the index has it at the beginning of bigrams.
func (c *clause) setTokens(text string) {
	all := slices.Collect(words(fold(spell(text))))
	for i, w := range all {
		last := i == len(all)-1
		before := len(c.tokens)
		c.tokens = w.tokens(c.tokens, !last)
		if last && w.cjk && len(c.tokens) == before+1 {
			c.prefix = true
		}
	}
}

// Open returns the query with its last word as a prefix, as in a search box.
func (q Query) Open() Query {
	last := len(q) - 1
	if c := q[last]; c.not || c.exact || c.prefix {
		return q
	}
	q = slices.Clone(q)
	q[last].prefix = true
	return q
}

// IsWord reports whether the query is one word, or the beginning of one.
func (q Query) IsWord() bool { return len(q) == 1 && len(q[0].tokens) == 1 }

// IsLong reports whether the query's last word is so long that few words go on from it.
func (q Query) IsLong() bool { return len(q[len(q)-1].typed) > 6 }

// EndsIn reports whether the title or the channel's name has the query's last clause word for word.
func (q Query) EndsIn(d Document) bool {
	last := q[len(q)-1]
	for _, tokens := range [][]string{d.TitleTokens, d.Channel} {
		if _, _, closeness := last.find(tokens, -1); last.column == "" && closeness == 1 {
			return true
		}
	}
	return false
}

// Word returns the only token of a query for one word in any field, and whether it is a prefix; "" for other queries.
func (q Query) Word() (token string, prefix bool) {
	if !q.IsWord() || q[0].column != "" || len(q[0].others) > 0 {
		return "", false
	}
	return q[0].tokens[0], q[0].prefix
}

// Match writes the query for FTS5; with inNames it must match in the title and the channel's name alone.
func (q Query) Match(inNames bool) string {
	var want, not []string
	for _, c := range q {
		if c.not {
			not = append(not, c.match())
		} else {
			want = append(want, c.match())
		}
	}
	expr := strings.Join(want, " AND ")
	if inNames {
		expr = "{title channel} : (" + expr + ")"
	}
	if len(not) > 0 {
		expr = "(" + expr + ") NOT (" + strings.Join(not, " OR ") + ")"
	}
	return expr
}

// Each returns a query for each required clause; all of them have the exclusions.
func (q Query) Each() (each []Query) {
	for i, c := range q {
		if !c.not {
			each = append(each, append(slices.DeleteFunc(slices.Clone(q), func(c clause) bool { return !c.not }), q[i]))
		}
	}
	return each
}

// match writes a clause for FTS5. No token contains a quote, since quotes separate words.
func (c clause) match() string {
	expr := Phrase(c.tokens)
	if c.prefix {
		expr += " *"
	}
	for _, o := range c.others {
		expr += " OR " + Phrase(o)
	}
	if c.column != "" {
		return c.column + " : (" + expr + ")"
	}
	return "(" + expr + ")"
}

// Phrase writes words in a row for FTS5.
func Phrase(tokens []string) string { return `"` + strings.Join(tokens, " ") + `"` }

// Explain describes the query's words, folded.
func (q Query) Explain(butOne bool) string {
	var want, not string
	for _, c := range q {
		if c.not {
			not += ", not " + c.explain()
		} else {
			want += " and " + c.explain()
		}
	}
	want = strings.TrimPrefix(want, " and ")
	if butOne {
		want = "all but one of " + want
	}
	return want + not
}

func (c clause) explain() string {
	var text []string
	for w := range words(fold(spell(c.typed))) {
		text = append(text, w.text)
	}
	s := Phrase(text)
	if c.prefix && kindOf([]rune(c.tokens[0])[0]) != ideo {
		s += "..."
	}
	for _, o := range c.others {
		s += " or " + Phrase(o)
	}
	if c.column == "" {
		return s
	}
	return strings.TrimSuffix(c.column, "s") + " " + s
}
