package redisledger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// The next search uses the result of the last one also after a post: nothing has changed before the post.
func TestAPostKeepsASearchsResult(t *testing.T) {
	const entries = 100
	for _, c := range []struct {
		name  string
		taken bool // after the posts one is taken, and then one more is posted
		most  int  // entries that a refusal looks at: the one that has to leave, and the ones that find where the 12 hours begin
	}{
		{"posts alone: the first entry is known", false, 3},
		{"and a take: where the 12 hours begin is known too", true, 1},
	} {
		s := redisServer(t)
		l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
		ctx, limit := t.Context(), int64(entries)
		ask := func() quota.Ask {
			a := benchAsk("a", 1, limit, "units")
			a.Charges[0].Bounds[1].Window = quota.Window{Name: "12h", Length: 12 * time.Hour, Limit: limit}
			return a
		}
		post := func(at time.Time) {
			if err := l.Post(ctx, ask(), at); err != nil {
				t.Fatal(err)
			}
		}
		for i := range entries {
			post(time.Now().Add(-23*time.Hour + time.Duration(i)*10*time.Minute))
		}
		if c.taken {
			limit += 2
			if d, err := l.Take(ctx, ask()); err != nil || !d.Allowed {
				t.Fatalf("%+v, %v, want it admitted", d, err)
			}
			post(time.Now())
		}
		s.client.ConfigResetStat(ctx)
		if d, err := l.Take(ctx, ask()); err != nil || d.Allowed {
			t.Fatalf("%s: %+v, %v: want a refusal", c.name, d, err)
		}
		looked := entriesLookedAt(t, s)
		t.Logf("%s: a refusal looks at %d entries", c.name, looked)
		if looked > c.most {
			t.Errorf("%s: a refusal looks at %d entries, want at most %d", c.name, looked, c.most)
		}
	}
}

// entriesLookedAt returns how many single entries of logs were read since the statistics were reset.
func entriesLookedAt(t *testing.T, s *server) (n int) {
	t.Helper()
	for line := range strings.Lines(s.client.Info(t.Context(), "commandstats").Val()) {
		if strings.HasPrefix(line, "cmdstat_lindex:") {
			if _, err := fmt.Sscanf(line, "cmdstat_lindex:calls=%d", &n); err != nil {
				t.Fatal(err)
			}
		}
	}
	return n
}

// Where all entries cost the same, the one that has to leave is found at once, whatever the log's length and the cost:
// the guess is not rounded to the one behind it.
func TestARefusalLooksAtTwoEntriesAtAnyCost(t *testing.T) {
	s := redisServer(t)
	l := openLedger(t, s.url(), redisledger.Options{Timeout: patient})
	shared(t, l, "a", 1)
	const entries = 1750
	sync := sharedledger.Batch{Account: "a", Generation: 1, Horizon: quota.MinHorizon, Host: &sharedledger.Host{ID: "a"}}
	sync.Rows = rows("a", "a", entries-1, time.Now().Add(-20*time.Hour), 10*time.Second)
	if _, err := l.Sync(t.Context(), sync); err != nil {
		t.Fatal(err)
	}
	ask := func(amount int64) quota.Ask {
		a := benchAsk("a", amount, entries, "units")
		a.Charges[0].Bounds = a.Charges[0].Bounds[:1]
		return a
	}
	take(t, l, ask(1)) // which notes where the window begins
	for cost := int64(1); cost <= 200; cost++ {
		s.client.ConfigResetStat(t.Context())
		if d := take(t, l, ask(cost)); d.Allowed {
			t.Fatalf("%d more of %d used is admitted", cost, entries)
		}
		if looked := entriesLookedAt(t, s); looked > 2 {
			t.Errorf("a refusal of %d looks at %d entries, want at most 2", cost, looked)
		}
	}
}
