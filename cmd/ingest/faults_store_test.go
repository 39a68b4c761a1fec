//go:build unix

package main_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/store"
)

// TestLongFaultStoreKilled kills the program at random, 200 times with SOAK set: every time the store is whole, and a
// slot that a run reported as done stays done.
func TestLongFaultStoreKilled(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 3))
	kills := fewer(20, 4)
	if os.Getenv(soakEnv) != "" {
		kills = 200
	}
	p := newProgram(t, "sqlite", 100_000, youtubesim.Options{Latency: time.Millisecond})
	p.now = time.Date(2026, 2, 14, 9, 10, 0, 0, time.UTC)
	p.step = 22 * time.Hour / time.Duration(kills+kills/10+2) // all that is spent is in one window
	began := time.Now()
	reported := map[string]int{}
	p.runAndRecord(reported)
	whole := time.Since(began)
	for i := range kills {
		p.expireLeases()
		code, errs := p.killWithin(random, whole, "run", "--quiet", "--force")
		p.want(code == -1 || code == exitOK, "exit %d: %s", code, errs)
		p.inDoubt++
		p.checkStore()
		p.checkPages()
		if i%10 == 9 {
			p.expireLeases()
			p.runAndRecord(reported)
		}
	}
	p.runAndRecord(reported)
	p.checkKept(reported)
	p.judge(fmt.Sprintf("store, killed %d times at random, seed %d", kills, seed))
}

// runAndRecord runs to the end, and records how many videos each slot has that the run reports as done.
func (p *programRig) runAndRecord(of map[string]int) {
	p.Helper()
	p.expireLeases()
	code, out, errs := p.do(nil, "run", "--force", "--json")
	var doc runDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitOK {
		p.want(false, "ingest run: exit %d: %s %v", code, errs, err)
		return
	}
	for _, r := range doc.Regions {
		of[r.Region+" "+r.Slot.Format(time.RFC3339)] = r.Videos
	}
}

// checkKept requires every slot that was reported as done, with all its videos.
func (p *programRig) checkKept(reported map[string]int) {
	db := p.store()
	defer func() { _ = db.Close() }()
	p.want(len(reported) >= 16, "only %d slots were said to be done", len(reported))
	for name, videos := range reported {
		var n int
		region, due, _ := strings.Cut(name, " ")
		err := db.QueryRow(`
			SELECT count(*) FROM placements JOIN slots ON slots.id = slot JOIN series ON series.id = slots.series
			WHERE key = ? AND due_at = unixepoch(?) AND state = 'done'`, region, due).Scan(&n)
		p.want(err == nil && n == videos, "slot %s was done with %d videos and has %d (%v)", name, videos, n, err)
	}
}

// checkStore requires a store that is consistent.
func (p *programRig) checkStore() {
	if _, err := os.Stat(filepath.Join(p.data(), store.FileName)); err != nil {
		return // killed before there was one
	}
	s, err := store.Open(p.Context(), p.data(), store.Options{ReadOnly: true})
	if err != nil {
		p.want(false, "open the store: %v", err)
		return
	}
	defer func() { _ = s.Close() }()
	found, err := s.Check(p.Context(), 0)
	p.want(err == nil && len(found) == 0, "the store: %q %v", found, err)
}

// newFetched is the program with its own ledger, after one run.
func newFetched(t *testing.T) *programRig {
	t.Helper()
	p := newProgram(t, "sqlite", 10_000, youtubesim.Options{})
	p.now = time.Date(2026, 2, 14, 9, 10, 0, 0, time.UTC)
	p.force()
	return p
}

// kill kills a run at a step, like kill -9.
func (p *programRig) kill(step string) {
	p.expireLeases()
	code, _, errs := p.do([]string{failpointEnv + "=" + step}, "run", "--quiet", "--force")
	p.want(code == -1, "it was not killed: exit %d: %s", code, errs)
	p.inDoubt++
}

func (p *programRig) sql(path, statement string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.Exec(statement)
	if closeErr := db.Close(); err == nil {
		err = closeErr
	}
	return err
}
