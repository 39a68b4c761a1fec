package main

import "fmt"

// said counts predictions: all, the true ones, and the false ones of the time after a refusal that nothing told of.
type said struct{ All, True, Hidden int }

// tally counts by mouth.
type tally map[string]said

// count counts a prediction, and returns whether it was true.
func (t tally) count(mouth string, came bool) bool {
	s := t[mouth]
	s.All++
	if came {
		s.True++
	}
	t[mouth] = s
	return came
}

// add adds another tally.
func (t tally) add(other tally) {
	for mouth, s := range other {
		t[mouth] = said{t[mouth].All + s.All, t[mouth].True + s.True, t[mouth].Hidden + s.Hidden}
	}
}

// worst returns the mouth that was least often right, among the mouths with at least twenty predictions, and how
// often in percent.
func (t tally) worst() (worst string, least float64) {
	for _, mouth := range mouths {
		if s := t[mouth]; s.All >= 20 {
			if part := 100 * float64(s.True) / float64(s.All); worst == "" || part < least {
				worst, least = mouth, part
			}
		}
	}
	return worst, least
}

// hide notes that nothing told of a mouth's false prediction.
func (t tally) hide(mouth string) {
	s := t[mouth]
	s.Hidden++
	t[mouth] = s
}

// worstOfKnown returns the mouth that is furthest below its goal on a day that nothing told of, among the mouths with at
// least twenty predictions: its true predictions in percent, and the percentage that could be known. The goal is 85 or
// the latter.
func (t tally) worstOfKnown() (worst string, least, known float64) {
	for _, mouth := range mouths {
		if s := t[mouth]; s.All >= 20 {
			part, could := 100*float64(s.True)/float64(s.All), 100*float64(s.All-s.Hidden)/float64(s.All)
			if worst == "" || part-min(could, firstDay) < least-min(known, firstDay) {
				worst, least, known = mouth, part, could
			}
		}
	}
	return worst, least, known
}

// firstDay is the percentage of predictions that are to be true on a day that nothing told of.
const firstDay = 85

func (t tally) String() (text string) {
	for _, mouth := range mouths {
		if s := t[mouth]; s.All > 0 {
			text += fmt.Sprintf("; %s %d/%d", mouth, s.True, s.All)
			if s.Hidden > 0 {
				text += fmt.Sprintf(" (%d could not be known)", s.Hidden)
			}
		}
	}
	return text
}
