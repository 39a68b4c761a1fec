package quotatest

import (
	"os"
	"slices"
	"testing"
)

// FarAway is the round trip to the server of RunFar, in milliseconds.
const FarAway = 200

// farSoon lists the cases that ask so rarely that they end within seconds even if each question takes FarAway.
var farSoon = []string{"A1", "A8", "B1", "B2", "B6", "D3", "E2", "G1", "I2", "J2", "K12", "L4", "L7"}

// RunFar is Run for a backend whose server is FarAway: every promise is kept there too, and nothing is charged twice.
// Its cases run in parallel, since they mostly wait. Only with SOAK set do all of them run, which takes minutes.
func RunFar(t *testing.T, b Backend) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range Cases() {
		if os.Getenv("SOAK") == "" && (seen[c.ID] || !slices.Contains(farSoon, c.ID)) || b.Without[c.Needs] != "" {
			continue
		}
		seen[c.ID] = true
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			c.Check(t, b)
		})
	}
}
