package pages

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// Mood is how something is. It is a class of the stylesheet, which gives what is inside a colour and a shape.
type Mood string

// The moods, from best to worst; Idle is not known, or still running.
const (
	Good Mood = "good"
	Idle Mood = "idle"
	Warn Mood = "warn"
	Bad  Mood = "bad"
)

// State is how something is, said by a word, a shape and a colour together.
type State struct {
	Mood Mood
	Word string // such as "fresh"; "" where the text beside it says it
}

// RegionState is how fresh a region's chart is.
type RegionState struct {
	State

	Next string // when it is fetched next, as far as that is known
}

// Class puts a node and what is inside it into this mood, together with other classes.
func (m Mood) Class(others string) g.Node { return h.Class(others + " " + string(m)) }

// Dot is the shape and the colour of the nearest mood around it.
func Dot() g.Node { return h.I(h.Class("dot"), h.Aria("hidden", "true")) }

// Shape is the dot as a character, for the title of the page.
func (m Mood) Shape() string {
	return map[Mood]string{Good: "●", Warn: "▲", Bad: "◆", Idle: "○"}[m]
}

// spoken is text for those who cannot see the shape beside it.
func spoken(text string) g.Node { return h.Span(h.Class("sr"), g.Text(text)) }
