//go:build unix

package pgstore_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/storetest"
)

// However many pieces wait, a claim looks at the first ones: it says how long claims take, and compares half of them
// with half of those beside a thousand pieces. To sort a twentieth of a million for each claim took 170 ms.
func TestLongClaimsBesideManyPieces(t *testing.T) {
	const few, claims = 1000, 200
	url := place(t)
	s := open(t, url, store.Options{Upstream: upstream})
	at := time.Unix(1771070400, 0)
	plan := storetest.Plan("x")
	plan.Created = at
	b := storetest.AddBackfill(t, s, plan, storetest.Numbered(1))
	add := func(from, to int) {
		for _, statement := range []string{
			`INSERT INTO series (job, key, newest, open, backfill, place)
				SELECT 'backfill/bf-1', 'n' || i, newest, open, backfill, i FROM series, generate_series(%d, %d) AS i WHERE backfill IS NOT NULL AND place <= 1`,
			`INSERT INTO slots (series, due_at, kind, state) SELECT id, newest, 'backfill', 'due' FROM series WHERE place >= %d AND place <= %d`,
			`INSERT INTO pieces (slot, backfill) SELECT slots.id, backfill FROM slots JOIN series ON series.id = series WHERE place >= %d AND place <= %d`,
		} {
			run(t, url, fmt.Sprintf(statement, from, to))
		}
		run(t, url, `ANALYZE`) // as autovacuum does within a minute
		if d, err := server(); err == nil {
			d.Admin(t, `CHECKPOINT`) // the remaining writes of the rows do not belong to a claim
		}
	}
	asked := 0
	half := func(name string, claim func(by string) ingest.Claim) time.Duration {
		var took []time.Duration
		for range claims {
			asked++
			began := time.Now()
			storetest.Claim(t, s, claim(fmt.Sprint(asked)))
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		t.Logf("claims of %s: p50 %v, p99 %v", name, took[claims/2], took[claims*99/100])
		return took[claims/2]
	}
	kinds := map[string]func(by string) ingest.Claim{
		"pieces":       func(by string) ingest.Claim { return storetest.PiecesOf(b, by, at) },
		"the schedule": func(by string) ingest.Claim { return storetest.By(by, at.Add(time.Duration(asked)*time.Hour)) },
	}
	storetest.AddDue(t, s, storetest.Due("US", at))
	add(2, few)
	before := map[string]time.Duration{}
	for name, claim := range kinds {
		before[name] = half(name, claim)
	}
	add(few+1, sizeOf(piecesEnv, 200_000))
	for name, claim := range kinds {
		if now := half(name, claim); now > max(8*before[name], 20*time.Millisecond) {
			t.Errorf("of %s half of the claims take %v, %v beside %d pieces", name, now, before[name], few)
		}
	}
}
