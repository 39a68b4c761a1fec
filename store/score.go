package store

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// What a word weighs by where it was found: a video is what it is named, then whose it is, then what it
// is tagged with.
const (
	titleWeight   = 10
	channelWeight = 4
	tagWeight     = 1
)

// The rest is worth so much more: a score is multiplied by one and each of these, in full or in part.
//
// What everybody watches now is the likelier meaning of a common word: without the lift "official" finds
// anything but the chart's first. A title that is little else than what was asked for is likelier meant
// than a long one, and so is one in which it stands as it was typed: "Polish" is not "polish", "schön"
// not "schon", and "(Official" was copied from somewhere. And of a title its longest words are remembered:
// one with longer words than those that were asked for is likelier another one.
const (
	topLift  = 2.0 // for rank 1 of a newest chart, and a rank'th of it for the others up to
	topRanks = 20
	coverage = 0.5 // for a title that is nothing but what was asked for, by its letters
	asTyped  = 0.3 // for a title that has all words as they were typed
	longest  = 1.0 // for a title that has no longer words than what was asked for, by letters
)

// score says how well a candidate answers. It matches, so a word that is neither in its title nor in its
// channel is in its tags. rank is its place in a newest chart, 0 for none.
func score(clauses []clause, c candidate, rank int) float64 {
	title, channel := c.folded, c.owner
	var got, asked, covered, typed, n float64
	words := 0 // of what was asked for, in the title
	for _, cl := range clauses {
		if cl.not {
			continue
		}
		weight := runes(cl.tokens)
		asked += weight * titleWeight
		n++
		switch {
		case cl.column == "" && cl.in(title):
			got += weight * titleWeight
			covered += weight
			words += len(cl.tokens)
			if strings.Contains(c.title, cl.typed) {
				typed++
			}
		case cl.column == "channel", cl.column == "" && cl.in(channel):
			got += weight * channelWeight
		default:
			got += weight * tagWeight
		}
	}
	s := got / asked * (1 + asTyped*typed/n)
	if letters := runes(title); letters > 0 {
		s *= 1 + coverage*min(covered/letters, 1)
	}
	if covered > 0 {
		s *= 1 + longest*min(covered/longestOf(title, words), 1)
	}
	if rank > 0 {
		s *= 1 + topLift/float64(rank)
	}
	return s
}

// spread divides the scores of videos of one and the same title, by one for the best, two for the second
// and so on: the first page is not for copies of one video. The candidates are sorted by score.
func spread(found []candidate) {
	met := map[string]int{}
	for i := range found {
		title := strings.Join(found[i].folded, " ")
		met[title]++
		found[i].score /= float64(met[title])
	}
}

// in reports whether the clause's tokens stand in these, one behind the other.
func (c clause) in(tokens []string) bool {
	for i := 0; i+len(c.tokens) <= len(tokens); i++ {
		all := true
		for j, want := range c.tokens {
			if !c.meets(j, tokens[i+j], want) {
				all = false
				break
			}
		}
		if all {
			return true
		}
	}
	return false
}

// longestOf counts the letters of the n longest different tokens.
func longestOf(tokens []string, n int) float64 {
	lengths := make([]int, 0, len(tokens))
	for i, t := range tokens {
		if !slices.Contains(tokens[:i], t) {
			lengths = append(lengths, utf8.RuneCountInString(t))
		}
	}
	slices.Sort(lengths)
	sum := 0
	for _, l := range lengths[max(0, len(lengths)-n):] {
		sum += l
	}
	return float64(sum)
}

func runes(tokens []string) float64 {
	n := 0
	for _, t := range tokens {
		n += utf8.RuneCountInString(t)
	}
	return float64(n)
}

// keyFor is what the candidate is ordered by. What is not known comes last.
func (c candidate) keyFor(o Order) [2]float64 {
	switch o {
	case ByViews:
		if !c.views.Valid {
			return [2]float64{-1}
		}
		return [2]float64{float64(c.views.Int64)}
	case ByFreshness:
		return [2]float64{float64(c.seenAt), float64(c.publishedAt.Int64)}
	case ByRise:
		if c.gained == nil {
			return [2]float64{-math.MaxFloat64}
		}
		return [2]float64{float64(*c.gained)}
	default:
		return [2]float64{c.score}
	}
}
