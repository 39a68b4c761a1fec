package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// GoalsFile lies beside the results: of each document, the goals that a run has met. A goal that is given up, or said
// in other words, is taken out of it by hand.
const GoalsFile = "goals.json"

// ErrMissed is a goal that was met before, and is missed by more than Tolerance now.
var ErrMissed = errors.New("a goal that was met before is missed")

// Tolerance is how much worse than its goal a figure may be before that is no accident of the machine.
const Tolerance = 0.15

// key names a goal among those of its document.
func (g goal) key() string { return g.what + ": " + g.want }

// excess is by how much of the goal it is missed: 0.2 is a figure of 1.8 where 1.5 was wanted. A goal that is one
// number, or none, is met or missed altogether.
func (g goal) excess() float64 {
	want, atMost, ok := bound(g.want)
	got, _, gotOK := bound("<= " + g.got)
	switch {
	case g.ok:
		return 0
	case !ok || !gotOK || want == 0 || got == 0 && !atMost:
		return math.Inf(1)
	case atMost:
		return got/want - 1
	default:
		return want/got - 1
	}
}

var comparison = regexp.MustCompile(`^(<=?|>=?) ([0-9][0-9,]*(?:\.[0-9]+)?)`)

// bound is the number of a goal such as "<= 4,000 bytes", and whether it is the most there may be or the least.
func bound(text string) (limit float64, atMost, ok bool) {
	m := comparison.FindStringSubmatch(text)
	if m == nil {
		return 0, false, false
	}
	limit, err := strconv.ParseFloat(strings.ReplaceAll(m[2], ",", ""), 64)
	return limit, m[1][0] == '<', err == nil
}

// judge holds the goals to what earlier runs have met, and adds what this one has. It returns ErrMissed, with every
// goal that is missed, after that is written.
func (r *Report) judge(file string) error {
	file = filepath.Join(filepath.Dir(file), GoalsFile)
	met := map[string]map[string]bool{} // title, goal
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &met)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if met[r.Title] == nil {
		met[r.Title] = map[string]bool{}
	}
	var missed []error
	for _, g := range r.goals {
		if g.ok {
			met[r.Title][g.key()] = true
		} else if met[r.Title][g.key()] && g.excess() > Tolerance {
			missed = append(missed, fmt.Errorf("%w: %s: %s: wanted %s, measured %s", ErrMissed, r.Title, g.what, g.want, g.got))
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(met); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil { //nolint:gosec // for everybody, as the results
		return fmt.Errorf("write the goals: %w", err)
	}
	return errors.Join(missed...)
}
