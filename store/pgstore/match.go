package pgstore

import (
	"regexp"
	"strings"
)

// ftsToken matches a token of the FTS5 expressions that text.Query.Match writes.
var ftsToken = regexp.MustCompile(`"[^"]*"|(?:\w+|\{title channel\}) : \(|[()*]|AND|OR|NOT`)

// weights maps the index's columns to the weights that vector gives them.
var weights = map[string]string{"title": "A", "channel": "B", "tags": "C", "description": "D", "{title channel}": "AB"}

// tsquery translates an FTS5 expression of text.Query.Match to a tsquery that matches the same videos.
func tsquery(match string) string {
	var out strings.Builder
	var scopes []string // the weight that each open parenthesis requires
	scope := func() string {
		if len(scopes) == 0 {
			return ""
		}
		return scopes[len(scopes)-1]
	}
	words := ftsToken.FindAllString(match, -1)
	for i, w := range words {
		switch {
		case w == "AND":
			out.WriteString(" & ")
		case w == "OR":
			out.WriteString(" | ")
		case w == "NOT":
			out.WriteString(" & !")
		case w == "(":
			scopes = append(scopes, scope())
			out.WriteString("(")
		case w == ")":
			scopes = scopes[:max(len(scopes)-1, 0)]
			out.WriteString(")")
		case strings.HasSuffix(w, " : ("):
			weight := weights[strings.TrimSuffix(w, " : (")]
			if outer := scope(); outer != "" && !strings.Contains(outer, weight) {
				weight = nowhere
			}
			scopes = append(scopes, weight)
			out.WriteString("(")
		case w[0] == '"':
			prefix := i+1 < len(words) && words[i+1] == "*"
			out.WriteString(phrase(strings.Fields(strings.Trim(w, `"`)), scope(), prefix))
		}
	}
	return out.String()
}

// phrase writes words in a row; with prefix the last may be the beginning of a word.
func phrase(tokens []string, weight string, prefix bool) string {
	parts := make([]string, len(tokens))
	for i, t := range tokens {
		parts[i] = lexemes(t, weight, len(tokens) > 1, prefix && i == len(tokens)-1)
	}
	return "(" + strings.Join(parts, " <-> ") + ")"
}

// nowhere is the weight for a column within another one: nothing matches there.
const nowhere = "nowhere"

// lexemes writes a token, or a prefix, in the columns of weight. The lexeme itself says whether it is in a name, see
// schema.sql; the weights of its positions are needed only to know the name, and for phrases.
func lexemes(token, weight string, inPhrase, prefix bool) string {
	lexeme := func(mark, weight string) string {
		if prefix {
			weight = "*" + weight
		}
		if weight != "" {
			weight = ":" + weight
		}
		return quoted(mark+cut(token)) + weight
	}
	switch {
	case weight == nowhere:
		return quoted(named + named) // no token has this mark
	case weight == "":
		return "(" + lexeme(named, "") + " | " + lexeme("", "") + ")"
	case weight == "C", weight == "D":
		return "(" + lexeme(named, weight) + " | " + lexeme("", weight) + ")"
	case weight == "AB" && !inPhrase:
		return lexeme(named, "")
	}
	return lexeme(named, weight)
}
