package english_test

import (
	"regexp"
	"strings"
)

// A kind is one way to make a native reader read a sentence twice. Find has the pattern; Fine matches uses that are
// plain English.
type kind struct {
	Name string
	Cure string
	Find *regexp.Regexp
	Fine *regexp.Regexp
}

func words(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + pattern) }

var kinds = []kind{
	{
		Name: "clause",
		Cure: `name the thing: "the charges", not "what X did"`,
		Find: words(`\bwhat('s)?\b|\bthat which\b|\b(of|to|than|but|from|those|that) whose\b|(?-i:^Whose)\b`),
		Fine: words(`\b(so|for|no matter|ask|asks|asked|know|knows|decide|decides|explain|explains) what\b|\bwhat (to|if|else|about|comes next)\b|“What|"what"`),
	},
	{
		Name: "whoever",
		Cure: "name the process, host, caller, run or person",
		Find: words(`\b(whoever|whomever|whosoever|nobody|somebody|anybody|whatever|whichever|no one|no-one)('s)?\b`),
		Fine: words(`\b(no one|whatever) (the|of|is|key|place|file|host)\b|uid nobody|user nobody|nobody user|"nobody"`),
	},
	{
		Name: "of which",
		Cure: "two sentences, or use where, when, whose",
		Find: words(`\b(of|in|to|for|by|from|with|without|than|against) (which|whom)\b`),
		Fine: words(`\b(in which order|of which kind|by whom|at which weight|for which (job|page|call|region)s?)\b`),
	},
	{
		Name: "those of",
		Cure: "repeat the noun",
		Find: words(`\b(those|that) of\b|\bthose (that|which|whose)\b`),
		Fine: words(`\bthat of course\b`),
	},
	{
		Name: "fronted",
		Cure: "the actor first, then the verb",
		Find: regexp.MustCompile(`^(Of (all|a|an|the|two|three|several|its|these|those|many|one|each|it|them|what)\b|` +
			`To (Redis|Postgre\w*|SQLite|YouTube|Google|the|a|an|it|them|others|each|one|all|every)\b|` +
			`(So|Nor|Neither|Such|Thus|Never|Only then|Nothing else|Not once) (do|does|is|are|has|have|was|were|can|may|must)\b)|` +
			`\b(nor|neither) (do|does|is|are|has|have|was|were|can|may|must)\b|\bas is (known|said)\b`),
		Fine: words(`^to (the|a|an) (second|minute|hour|day|unit|millisecond)\b`),
	},
	{
		Name: "bare passive",
		Cure: "say who prints, counts, refuses",
		Find: words(`\b(it|this|which|they) (is|are|was|were) (said|told|counted|left|looked|met|lifted|raised|owed)\b|` +
			`\b(is|are|was|were) (said|told of|owed|looked at|looked for|gone by|done without)\b`),
		Fine: words(`\b(is|are|was|were) \w+ by\b`),
	},
	{
		Name: "possessive",
		Cure: "a noun after every possessive",
		Find: words(`\b[a-z]+'s([.,;:)]|$)`),
		Fine: words(`\b(it|that|what|let|here|there|one|who)'s\b|'[^' ]*'s?\b`),
	},
	{
		Name: "has not",
		Cure: `"does not have"`,
		Find: words(`\b(has|have|had) not (a|an|the|its|what|any|that|this|all|one|their|enough|so|as)\b|` +
			`\b(has|have) not([.,;:)]|$)|\b(knows|needs|sees|says) not\b`),
	},
}

// flaws returns the name of every pattern that the sentence matches, once for each match.
func flaws(sentence string) []string {
	var found []string
	for _, k := range kinds {
		text := sentence
		if (k.Name == "clause" || k.Name == "of which") && strings.HasSuffix(strings.TrimRight(text, `"”)*_`), "?") {
			continue // a question
		}
		if k.Fine != nil {
			text = k.Fine.ReplaceAllString(text, "-")
		}
		for range k.Find.FindAllString(text, -1) {
			found = append(found, k.Name)
		}
	}
	return found
}
