package text

import (
	"slices"
	"unicode/utf8"
)

// The index itself has prefixes of these lengths, in characters: the prefix option of video_text in
// schema.sql. For any other SQLite would read the lists of all words with that prefix before it answered at
// all, which takes seconds at a million videos. So these words are looked up first, and asked for by name.
var indexedPrefixes = []int{1}

// loose reports whether more words have the clause's prefix than were looked up. SQLite cannot be asked for
// it: see Match.
func (c clause) loose() bool { return c.prefix && !c.indexed() && !c.all }

// indexed reports whether the index has the clause's prefix.
func (c clause) indexed() bool {
	return slices.Contains(indexedPrefixes, utf8.RuneCountInString(c.tokens[len(c.tokens)-1]))
}

// loosened is the clause with a prefix that is in the index: what it finds must be checked.
func (c clause) loosened() clause {
	n, last := 0, []rune(c.tokens[len(c.tokens)-1])
	for _, length := range indexedPrefixes {
		if length <= len(last) {
			n = max(n, length)
		}
	}
	c.tokens, c.words = append(slices.Clone(c.tokens[:len(c.tokens)-1]), string(last[:n])), nil
	return c
}

// Expand looks up the words that have the prefixes which the index does not have, at most maxWords for the
// whole query. lookUp finds the first n of them.
func (q Query) Expand(maxWords int, lookUp func(prefix string, n int) ([]string, error)) error {
	left := maxWords
	for i := range q {
		c := &q[i]
		if !c.prefix || c.indexed() {
			continue
		}
		most := left / len(c.tokens) // each is another phrase, all of whose words are looked up
		if most == 0 {
			continue
		}
		words, err := lookUp(c.tokens[len(c.tokens)-1], most+1)
		if err != nil {
			return err
		}
		if c.all = len(words) <= most; !c.all {
			words = words[:most]
		}
		c.words = words
		left -= len(words) * len(c.tokens)
	}
	return nil
}

// Loose reports whether what Match finds must be checked by Meets, for which documents need their channel
// and tags.
func (q Query) Loose() bool { return slices.ContainsFunc(q, clause.loose) }

// Meets reports whether a document meets the clauses that SQLite could not be asked for.
func (q Query) Meets(d Document) bool {
	return !slices.ContainsFunc(q, func(c clause) bool { return c.loose() && c.metBy(d) == c.not })
}

// metBy reports whether the document has what the clause asks for where it asks for it.
func (c clause) metBy(d Document) bool {
	for column, tokens := range map[string][]string{"title": d.TitleTokens, "channel": d.Channel, "tags": d.Tags} {
		if (c.column == "" || c.column == column) && c.in(tokens) {
			return true
		}
	}
	return false
}

// InTitle reports whether a title with these tokens has all that is asked for.
func (q Query) InTitle(tokens []string) bool {
	return !slices.ContainsFunc(q, func(c clause) bool { return !c.not && (c.column != "" || !c.in(tokens)) })
}
