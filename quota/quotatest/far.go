package quotatest

import (
	"os"
	"slices"
	"testing"
)

// FarAway is how far away the server of RunFar is, in milliseconds there and back.
const FarAway = 200

// farSoon are the promises whose cases ask so few times that they end within seconds where each time takes FarAway.
var farSoon = []string{"A1", "A8", "B1", "B2", "B6", "D3", "E2", "G1", "I2", "J2", "K12", "L4", "L7"}

// RunFar is Run for a backend whose server is FarAway: all that is promised holds there too, and nothing is charged
// twice. Its cases run at once, since they mostly wait; all of them, which takes minutes, only where SOAK is set.
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
