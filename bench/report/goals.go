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

// GoalsFile is the file, next to the results, that lists for each document the goals that a run has met. A goal that is
// given up or reworded must be removed by hand.
const GoalsFile = "goals.json"

// ErrMissed means that a goal that was met before is now missed by more than Tolerance.
var ErrMissed = errors.New("a goal that was met before is missed")

// Tolerance is how much worse than its goal a figure may be by chance.
const Tolerance = 0.15

// key names a goal within its document.
func (g goal) key() string { return g.what + ": " + g.want }

// excess returns how far a goal is missed, as a share: 0.2 for 1.8 if 1.5 was wanted. A goal without such a
// comparison is either met or missed completely (infinity).
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

// bound returns the number of a goal such as "<= 4,000 bytes", and whether it is an upper or a lower bound.
func bound(text string) (limit float64, atMost, ok bool) {
	m := comparison.FindStringSubmatch(text)
	if m == nil {
		return 0, false, false
	}
	limit, err := strconv.ParseFloat(strings.ReplaceAll(m[2], ",", ""), 64)
	return limit, m[1][0] == '<', err == nil
}

// checkGoals compares the goals with the goals that earlier runs met, and adds the goals that this run met. It writes
// the file, and then returns ErrMissed for every missed goal.
func (r *Report) checkGoals(file string) error {
	file = filepath.Join(filepath.Dir(file), GoalsFile)
	met := map[string]map[string]bool{} // by title and goal
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
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil { //nolint:gosec // for everybody, like the results
		return fmt.Errorf("write the goals: %w", err)
	}
	return errors.Join(missed...)
}
