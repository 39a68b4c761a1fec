package sharedledger_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// A program that keeps its own record of its spends hands it in: no ledger that lacks any part of it is spent from,
// after any loss. Spends that quota.db still knows are synced, and are no loss.
func TestNoLedgerThatLacksASpendTheProgramKnowsIsSpentFrom(t *testing.T) {
	for _, ledger := range ledgers {
		t.Run(filepath.Base(ledger), func(t *testing.T) {
			m := newMoves(t)
			list := quota.Who{Purpose: quota.Manual, Method: "videos.list"}
			records := func(_ context.Context, since time.Time) ([]quota.Spent, error) {
				if !since.Before(m.now.Add(-24*time.Hour)) || since.Before(m.now.Add(-27*time.Hour)) {
					t.Errorf("asked for what was spent since %v, at %v", since, m.now)
				}
				return []quota.Spent{{Pool: "units", Who: list, Amount: m.arrived}}, nil
			}
			spend := func(path string, units int) {
				m.with(ledger, path, func(g *quota.Governor) {
					g.Known = records
					m.spend(g, units)
					m.counts(g)
				})
			}
			empty := func() { m.remotes[ledger] = &memremote.Remote{Now: func() time.Time { return m.now }} }
			refused := func(path string, lacks int64) {
				t.Helper()
				if ledger != "sqlite" {
					empty()
				}
				m.with(ledger, path, func(g *quota.Governor) {
					g.Known = records
					for range 2 {
						_, err := g.Take(t.Context(), quota.Request{Method: "videos.list", Purpose: quota.Manual})
						if !errors.Is(err, quota.ErrClosed) || !errors.Is(err, quota.ErrIncomplete) {
							t.Errorf("a ledger that lacks %d was spent: %v, want error %v and error %v", lacks, err, quota.ErrClosed, quota.ErrIncomplete)
						}
					}
					missing, err := g.Missing(t.Context())
					if err != nil || !slices.Equal(missing, []quota.Spent{{Pool: "units", Who: list, Amount: lacks}}) {
						t.Errorf("missing: %v, %v", missing, err)
					}
				})
			}
			spend(m.path, 20)
			older := filepath.Join(t.TempDir(), "quota.db")
			copyFile(t, m.path, older)
			if ledger != "sqlite" {
				empty()
			}
			spend(m.path, 30) // quota.db has it all
			refused(older, 30)
			lost := filepath.Join(t.TempDir(), "quota.db")
			refused(lost, 50)

			m.with(ledger, lost, func(g *quota.Governor) {
				if err := g.Post(t.Context(), list, quota.Cost{"units": 50}, m.now); err != nil {
					t.Fatal(err)
				}
			})
			spend(lost, 100)
			if m.arrived != 100 {
				t.Errorf("%d of 100 arrived, want 100", m.arrived)
			}
		})
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A program that opens another ledger of the account, and not through the data directory's journal, hands in that
// ledger's knowledge: its own log, calls of a ledger elsewhere, posts, and other hosts' calls that were seen there.
func TestAProgramOnAnotherLedgerIsHeldAgainstTheFile(t *testing.T) {
	m := newMoves(t)
	m.with("redis", filepath.Join(t.TempDir(), "quota.db"), func(g *quota.Governor) { m.spend(g, 20) }) // another host
	m.with("sqlite", m.path, func(g *quota.Governor) { m.spend(g, 30) })
	m.with("redis", m.path, func(g *quota.Governor) {
		m.spend(g, 10)
		m.now = m.now.Add(time.Second)
		if err := g.Post(t.Context(), quota.Who{Purpose: quota.Manual, Method: "post"}, quota.Cost{"units": 5}, m.now); err != nil {
			t.Fatal(err)
		}
		m.arrived += 5
	})
	m.pool = quota.Pool{Name: "points", Was: []string{"units"}}
	m.with("sqlite", m.path, func(g *quota.Governor) {
		local := g.Ledger.(*sqliteledger.Ledger) //nolint:forcetypeassert // it is
		g.Known = local.Known("default")
		g.Ledger = &memledger.Ledger{Now: func() time.Time { return m.now }}
		for range 2 {
			if _, err := g.Take(t.Context(), quota.Request{Method: "videos.list", Purpose: quota.Manual}); !errors.Is(err, quota.ErrIncomplete) {
				t.Fatalf("an empty ledger was spent: %v, want error %v", err, quota.ErrIncomplete)
			}
		}
		missing, err := g.Missing(t.Context())
		if err != nil || len(missing) == 0 {
			t.Fatal(missing, err)
		}
		for _, s := range missing {
			who := s.Who
			if who.Purpose == sharedledger.Unattributed.Purpose {
				who = quota.Who{Purpose: quota.Manual, Method: "post"}
			}
			if err := g.Post(t.Context(), who, quota.Cost{s.Pool: s.Amount}, m.now); err != nil {
				t.Fatal(err)
			}
		}
		m.counts(g)
		if m.spend(g, 100); m.arrived != 100 {
			t.Errorf("%d of 100 arrived, want 100", m.arrived)
		}
	})
	// The server has other hosts' calls under their names, and lacks nothing.
	m.with("redis", m.path, func(g *quota.Governor) {
		if missing, err := g.Missing(t.Context()); err != nil || len(missing) > 0 {
			t.Errorf("missing: %+v, %v, want none", missing, err)
		}
	})
}
