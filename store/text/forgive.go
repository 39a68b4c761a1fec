package text

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of Forgive.
const (
	maxForgiven = 8  // clauses: a longer query is taken as typed
	maxLetters  = 40 // letters: a longer word is taken as typed
	maxOthers   = 8  // spellings tried for a word, of each kind
)

// usual is the least number of documents of a correctly spelled word.
const usual = 20

// Vocabulary looks up words in an index, to forgive typos. Each store has its own, as package text knows no SQL.
type Vocabulary struct {
	// Like calls word for each word that begins with prefix, with its number of documents.
	Like func(prefix string, word func(text string, documents int)) error
	// Has reports whether at least that many documents have these words in a row.
	Has func(words []string, documents int) (bool, error)
	// Words says of each word whether a document may have it: Has knows.
	Words func(words []string) (map[string]bool, error)
}

// Forgive adds other spellings of the query's words that the vocabulary has: in another alphabet, one letter off (two
// in words of eight letters or more), joined with the next word, split in two, or with or without a final s. spelled
// says that the query is spelled right: then it skips mistakes and other alphabets, which take long. Quoted phrases,
// words with an asterisk and exclusions stay as they are.
func (q Query) Forgive(v Vocabulary, spelled bool) (Query, error) {
	if len(q) > maxForgiven {
		return q, nil
	}
	var tried []string
	for i := range q {
		plural, splits, joined := q.forms(i)
		for _, tokens := range slices.Concat(plural, splits, joined) {
			tried = append(tried, longest(tokens))
		}
	}
	words, err := v.Words(tried)
	if err != nil {
		return q, err
	}
	missing := func(tokens []string) bool {
		has := words[longest(tokens)]
		if has && len(tokens) > 1 && err == nil {
			has, err = v.Has(tokens, 1)
		}
		return !has
	}
	out := slices.Clone(q)
	for i := range out {
		c := &out[i]
		if !c.forgivable() {
			continue
		}
		c.others = nil
		plural, splits, joined := q.forms(i)
		if splits = slices.DeleteFunc(splits, missing); err == nil && (len(splits) > 0 || !spelled) {
			var known bool
			if known, err = v.Has(c.tokens, usual); known {
				splits = nil
			} else if err == nil && !spelled {
				err = errors.Join(c.transcribed(v), c.misspelled(v))
			}
		}
		for _, tokens := range slices.DeleteFunc(slices.Concat(plural, splits, joined), missing) {
			if !slices.ContainsFunc(c.others, func(other []string) bool { return slices.Equal(other, tokens) }) {
				c.others = append(c.others, tokens)
			}
		}
		if err != nil {
			return q, err
		}
	}
	return out, nil
}

// longest returns the longest of the words: the first one that can rule out a row of them.
func longest(words []string) string {
	return slices.MaxFunc(words, func(a, b string) int { return len(a) - len(b) })
}

// forgivable reports whether other spellings of the clause count.
func (c clause) forgivable() bool {
	return !c.not && !c.exact && utf8.RuneCountInString(c.tokens[0]) <= maxLetters
}

// forms returns other forms of a clause, each a row of words: with an s added or removed; its word as two, or its
// tokens as one (spiderman, don't); and written as one word with each of its neighbours.
func (q Query) forms(i int) (plural, splits, joined [][]string) {
	c := q[i]
	if !c.forgivable() {
		return nil, nil, nil
	}
	if len(c.tokens) > 1 {
		splits = [][]string{{strings.Join(c.tokens, "")}}
	} else {
		plural, splits = c.plural(), c.split()
	}
	for first := max(i-1, 0); first <= i && first+1 < len(q); first++ {
		if other := q[2*first+1-i]; !other.not && !other.exact {
			joined = append(joined, []string{strings.Join(slices.Concat(q[first].tokens, q[first+1].tokens), "")})
		}
	}
	return plural, splits, joined
}

// plural returns the word with an s added or removed.
func (c clause) plural() [][]string {
	word, cut := strings.CutSuffix(c.tokens[0], "s")
	if len(word) < 3 {
		return nil
	}
	if !cut {
		word += "s"
	}
	return [][]string{{word}}
}

// split returns all ways to write the word as two.
func (c clause) split() (all [][]string) {
	word := c.tokens[0]
	for i := range word {
		if i > 0 {
			all = append(all, []string{word[:i], word[i:]})
		}
	}
	return all
}

// misspelled adds words of the vocabulary that are a mistake or two away, the closest and most frequent first. It
// finds a mistake in the first letter only if that letter is superfluous or swapped with the second. A number is taken
// as typed: 2027 is not 2026.
func (c *clause) misspelled(v Vocabulary) error {
	word := []rune(c.tokens[0])
	if len(c.tokens) > 1 || len(word) < 4 || kindOf(word[0]) == ideo || strings.Trim(c.tokens[0], "0123456789") == "" {
		return nil
	}
	limit := 1
	if len(word) >= 8 {
		limit = 2
	}
	type spelling struct {
		text         string
		off, unusual int
	}
	var found []spelling
	look := func(prefix ...rune) error {
		return v.Like(string(prefix), func(text string, documents int) {
			if n := utf8.RuneCountInString(text); n < len(word)-limit || n > len(word)+limit || text == c.tokens[0] {
				return
			}
			if off := distance(word, []rune(text)); off <= limit {
				found = append(found, spelling{text, off, -documents})
			}
		})
	}
	// Words with the same first two letters; then with one of the first three missing, or two of them swapped; and
	// only if that finds nothing, all words with the same first letter.
	for _, prefix := range [][]rune{word[:2], word[1:3], {word[1], word[0]}, {word[0], word[2]}, word[:1]} {
		if len(prefix) == 1 && len(found) > 0 {
			break
		}
		if err := look(prefix...); err != nil {
			return err
		}
	}
	slices.SortFunc(found, func(a, b spelling) int {
		return cmp.Or(a.off-b.off, a.unusual-b.unusual, strings.Compare(a.text, b.text))
	})
	found = slices.Compact(found)
	for _, s := range found[:min(len(found), maxOthers)] {
		c.others = append(c.others, []string{s.text})
	}
	return nil
}

// distance counts the letters omitted, added, changed, or swapped with the next.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
