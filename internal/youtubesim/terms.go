package youtubesim

import (
	"slices"
	"strings"
)

// terms is a query: at least one word of every group must match, and no word of not may. (search.list, "q": | is or, -
// is not)
type terms struct {
	groups [][]string
	not    []string
}

func parseTerms(q string) terms {
	var t terms
	or := false
	for w := range strings.FieldsSeq(strings.ToLower(strings.ReplaceAll(q, "|", " | "))) {
		w = strings.Trim(w, `"`)
		switch {
		case w == "|":
			or = len(t.groups) > 0
			continue
		case len(w) > 1 && w[0] == '-':
			t.not = append(t.not, w[1:])
		case or:
			t.groups[len(t.groups)-1] = append(t.groups[len(t.groups)-1], w)
		case w != "":
			t.groups = append(t.groups, []string{w})
		}
		or = false
	}
	return t
}

// score returns 0 for no match. A word in the title counts three times as much as one elsewhere. Texts and terms are in
// lower case.
func (t terms) score(title, rest string) int {
	if len(t.groups)+len(t.not) == 0 {
		return 1
	}
	in := func(text string) func(string) bool { return func(w string) bool { return strings.Contains(text, w) } }
	if slices.ContainsFunc(t.not, in(title)) || slices.ContainsFunc(t.not, in(rest)) {
		return 0
	}
	score := 1
	for _, g := range t.groups {
		switch {
		case slices.ContainsFunc(g, in(title)):
			score += 3
		case slices.ContainsFunc(g, in(rest)):
			score++
		default:
			return 0
		}
	}
	return score
}
