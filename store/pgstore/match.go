package pgstore

import (
	"regexp"
	"strings"
)

// ftsToken is a word of the expressions that text.Query.Match writes for FTS5.
var ftsToken = regexp.MustCompile(`"[^"]*"|(?:\w+|\{title channel\}) : \(|[()*]|AND|OR|NOT`)

// weights are the columns of the index, as schema.sql marks them.
var weights = map[string]string{"title": "A", "channel": "B", "tags": "C", "{title channel}": "AB"}

// tsquery is an expression for FTS5, as text.Query.Match writes it, as a tsquery: the same videos match.
func tsquery(match string) string {
	var out strings.Builder
	var scopes []string // the weight that each open parenthesis asks for
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
				weight = "D" // a word of one column in another: no word has it
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

// phrase is words one behind the other; with prefix the last may go on.
func phrase(tokens []string, weight string, prefix bool) string {
	parts := make([]string, len(tokens))
	for i, t := range tokens {
		parts[i] = lexemes(t, weight, len(tokens) > 1, prefix && i == len(tokens)-1)
	}
	return "(" + strings.Join(parts, " <-> ") + ")"
}

// lexemes is a token, or the beginning of one, in the columns of weight. That it is in a name says the lexeme, see
// named.sql; the weights of its positions are read only to know in which, or that it is there in a phrase.
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
	case weight == "":
		return "(" + lexeme(named, "") + " | " + lexeme("", "") + ")"
	case weight == "C":
		return "(" + lexeme(named, "C") + " | " + lexeme("", "") + ")"
	case weight == "AB" && !inPhrase:
		return lexeme(named, "")
	}
	return lexeme(named, weight)
}
