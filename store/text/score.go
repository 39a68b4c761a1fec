package text

import (
	"slices"
	"strings"
	"unicode"
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
// A title that is little else than what was asked for is likelier meant than a long one, and so is one in
// which it stands as it was typed: "Polish" is not "polish", "schön" not "schon", and "(Official" was
// copied from somewhere; only who types small letters may mean capitals. And of a title its longest words
// are remembered: one with longer words than those that were asked for is likelier another one, and one
// letter more is already another word, hence the fourth power.
//
// What everybody watches now is the likelier meaning of a common word: without the lift "official" finds
// anything but the chart's first. Who types more words says more of what is meant by them, and gets less of
// it. Views lift nothing: they change, and a second page must go on where the first one ended.
const (
	coverage = 0.5 // for a title that is nothing but what was asked for, by its letters
	asTyped  = 0.5 // for a title that has all words as they were typed
	alone    = 0.1 // for a title that has them so between spaces
	inOrder  = 0.1 // for a title that has them one behind the other
	longest  = 1.0 // for a title that has no longer words than what was asked for, by letters
	topLift  = 2.0 // for rank 1 of a newest chart, a rank'th of it for the others; for n words an n²th of that
)

// TopRanks is how many of a chart are lifted.
const TopRanks = 20

// Document is what of a video its score depends on. All tokens are those of Normalize.
type Document struct {
	Title       string
	TitleTokens []string
	Channel     []string // the tokens of the channel's name
	Tags        []string // likewise; only Meets needs them
}

// Score says how well a document that matches answers: a word that is neither in its title nor in its channel
// is in its tags. rank is its place in a newest chart, 0 for none.
func (q Query) Score(d Document, rank int) float64 {
	f := q.find(d)
	s := f.got / f.asked * (1 + (asTyped*f.typed+alone*f.alone)/f.clauses)
	if f.clauses > 1 {
		s *= 1 + inOrder*f.inOrder/(f.clauses-1)
	}
	if f.covered > 0 {
		s *= 1 + coverage*min(f.covered/runes(d.TitleTokens), 1)
		share := min(f.covered/longestOf(d.TitleTokens, f.tokens), 1)
		s *= 1 + longest*share*share*share*share
	}
	if rank > 0 {
		s *= 1 + topLift/float64(rank)/(f.clauses*f.clauses)
	}
	return s
}

// finding is what of a query's clauses a document has, and where.
type finding struct {
	asked, got float64 // the letters asked for, by what they weigh in a title and where they were found
	clauses    float64 // how many are asked for; those with a minus are not
	covered    float64 // the letters of those in the title
	tokens     int     // and the tokens
	typed      float64 // how many stand in the title as they were typed
	alone      float64 // and between spaces
	inOrder    float64 // how many stand in the title right behind the one before
	small      string  // the title in small letters, when it was needed
}

func (q Query) find(d Document) (f finding) {
	before := -1 // the clause before, if it stands in the title
	for i, c := range q {
		if c.not {
			continue
		}
		weight := runes(c.tokens)
		f.asked += weight * titleWeight
		f.clauses++
		switch {
		case c.column == "" && c.in(d.TitleTokens):
			f.got += weight * titleWeight
			f.covered += weight
			f.tokens += len(c.tokens)
			f.look(c.typed, d.Title)
			if before >= 0 && q[before].followedBy(c, d.TitleTokens) {
				f.inOrder++
			}
			before = i
			continue
		case c.column == "channel", c.column == "" && c.in(d.Channel):
			f.got += weight * channelWeight
		default:
			f.got += weight * tagWeight
		}
		before = -1
	}
	return f
}

// look counts what was typed, if the title has it.
func (f *finding) look(typed, title string) {
	some, free := has(title, typed)
	if !free && strings.IndexFunc(typed, unicode.IsUpper) < 0 {
		if f.small == "" {
			f.small = strings.ToLower(title)
		}
		someSmall, freeSmall := has(f.small, typed)
		some, free = some || someSmall, freeSmall
	}
	if some {
		f.typed++
	}
	if free {
		f.alone++
	}
}

// has reports whether the text has what was typed, and whether between spaces.
func has(text, typed string) (some, free bool) {
	for at := 0; !free; {
		i := strings.Index(text[at:], typed)
		if i < 0 {
			return some, false
		}
		some = true
		before, behind := text[:at+i], text[at+i+len(typed):]
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(behind)
		free = (before == "" || unicode.IsSpace(last)) && (behind == "" || unicode.IsSpace(next))
		at += i + len(typed)
	}
	return some, free
}

// in reports whether the clause's tokens stand in these, one behind the other.
func (c clause) in(tokens []string) bool {
	for i := range tokens {
		if c.leads(tokens[i:]) {
			return true
		}
	}
	return false
}

// followedBy reports whether the next clause stands in these right behind this one.
func (c clause) followedBy(next clause, tokens []string) bool {
	for i := range tokens {
		if c.leads(tokens[i:]) && next.leads(tokens[i+len(c.tokens):]) {
			return true
		}
	}
	return false
}

// leads reports whether these begin with the clause's tokens.
func (c clause) leads(tokens []string) bool {
	if len(tokens) < len(c.tokens) {
		return false
	}
	for i, want := range c.tokens {
		if !c.meets(i, tokens[i], want) {
			return false
		}
	}
	return true
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
