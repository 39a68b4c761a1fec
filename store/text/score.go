package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The worth of each letter of the query by where it was found: the title describes a video best, then its channel,
// then its tags and its description.
const (
	inTitle   = 1.0
	inChannel = 0.6
	inTags    = 0.2 // or in the description
)

// Words that differ a little from the query's count for less.
const (
	asBeginning = 0.9 // a word that only begins with the word of the query, without an asterisk
	asOther     = 0.7 // another spelling: see Forgive
)

// Bonuses: the score is multiplied by one plus each of them, in full or in part.
const (
	coverTitle   = 1.0  // the query is the whole title; long words count more than short ones
	coverChannel = 0.25 // the query is the whole name of the channel
	asTyped      = 0.5  // the title has all words as typed: "Polish" is not "polish", "schön" not "schon"
	inOrder      = 0.5  // the title has the words in a row
	atAnEnd      = 0.5  // the title begins or ends with them
)

// Document holds the fields of a video that decide its score, cut once into tokens of Normalize.
type Document struct {
	Title, lower string
	TitleTokens  []string
	squares      float64 // of TitleTokens

	Channel []string // the tokens of the channel's name
	letters float64  // their number
}

// NewDocument returns the document of a title, its tokens, and the tokens of a channel's name.
func NewDocument(title string, tokens, channel []string) Document {
	return Document{title, strings.ToLower(title), tokens, squares(tokens), channel, runes(channel)}
}

// Score returns how well a matching document answers the query, by its text alone, and the share of the query's
// letters in its title. A word in neither title nor channel must be in the tags or the description.
func (q Query) Score(d Document) (score, titleShare float64) {
	var clauses, asked, got, title, channel, typed, ordered, cover float64
	start, end := -1, -1 // of the previous clauses, in the title
	for _, c := range q {
		if c.not {
			continue
		}
		weight := runes(c.tokens)
		clauses++
		asked += weight
		at, n, t := c.find(d.TitleTokens, end)
		_, _, own := c.find(d.Channel, -1)
		switch c.column {
		case "channel":
			t = 0
		case "tags", "description":
			got += weight
			continue
		}
		got += weight * max(inTitle*t, inChannel*own, inTags)
		title += weight * t
		channel += weight * own
		if t > 0 {
			cover += squares(d.TitleTokens[at : at+n])
		}
		if t > 0 && d.hasTyped(c.typed) {
			typed++
		}
		switch {
		case t == 0:
			start, end = -1, -1
		case at == end:
			ordered, end = ordered+1, at+n
		default:
			start, end = at, at+n
		}
	}
	if asked == 0 {
		return 0, 0
	}
	score = got / asked * (1 + asTyped*typed/clauses)
	score *= (1 + coverTitle*min(cover/max(d.squares, 1), 1)) * (1 + coverChannel*min(channel/max(d.letters, 1), 1))
	if clauses > 1 {
		score *= 1 + inOrder*ordered/(clauses-1)
		if ordered == clauses-1 && (start == 0 || end == len(d.TitleTokens)) {
			score *= 1 + atAnEnd
		}
	}
	return score, title / asked
}

// hasTyped reports whether the title has the text as typed; small letters also match capitals.
func (d Document) hasTyped(typed string) bool {
	return strings.Contains(d.Title, typed) ||
		strings.Contains(d.lower, typed) && strings.IndexFunc(typed, unicode.IsUpper) < 0
}

// find returns where the clause best matches these tokens, how many it matches, and how closely, 0 for no match. Of
// equally close places it prefers the wanted one, then the first.
func (c clause) find(tokens []string, wanted int) (at, n int, closeness float64) {
	for i := range tokens {
		if closeness == 1 && i > wanted {
			break
		}
		if m, how := c.leads(tokens[i:]); how > closeness || how == closeness && how > 0 && i == wanted {
			at, n, closeness = i, m, how
		}
	}
	return at, n, closeness
}

// leads returns how many of the first tokens the clause matches, and how closely; 0 for none.
func (c clause) leads(tokens []string) (n int, closeness float64) {
	n = len(c.tokens)
	last := n - 1
	if n <= len(tokens) && strings.HasPrefix(tokens[last], c.tokens[last]) &&
		slices.Equal(c.tokens[:last], tokens[:last]) {
		switch {
		case len(tokens[last]) == len(c.tokens[last]), c.prefix && c.exact:
			return n, 1
		case c.prefix:
			return n, asBeginning
		}
	}
	for _, o := range c.others {
		if len(o) <= len(tokens) && slices.Equal(o, tokens[:len(o)]) {
			return len(o), asOther
		}
	}
	return 0, 0
}

// squares returns the sum of the squares of the tokens' numbers of letters.
func squares(tokens []string) (sum float64) {
	for _, t := range tokens {
		n := utf8.RuneCountInString(t)
		sum += float64(n * n)
	}
	return sum
}

func runes(tokens []string) float64 {
	n := 0
	for _, t := range tokens {
		n += utf8.RuneCountInString(t)
	}
	return float64(n)
}
