package memremote_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/trendvidstream/ingest/quota/quotatest"
	"github.com/trendvidstream/ingest/quota/quotatest/memremote"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRemoteConforms(t *testing.T) {
	quotatest.RunRemote(t, quotatest.Backend{
		Name: "memremote",
		Open: func(_ testing.TB, clock *quotatest.Clock) quotatest.Store {
			l := &memremote.Remote{Now: clock.Now}
			return quotatest.Store{
				Ledger: l,
				Evict:  func(testing.TB) { l.Load(memremote.Image{}) },
				EvictPart: func(_ testing.TB, account string, part quotatest.Part) {
					l.Load(l.Image().WithoutPart(account, string(part)))
				},
			}
		},
	})
}
