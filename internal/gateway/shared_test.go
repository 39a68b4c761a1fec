package gateway_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/gateway"
	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
	"github.com/trendvidstream/ingest/quota/pgledger"
	"github.com/trendvidstream/ingest/quota/redisledger"
)

// onEachLedger runs a test with two connections to one ledger of each kind that several gateways can share.
func onEachLedger(t *testing.T, test func(t *testing.T, one, other quota.Ledger)) {
	const patient = 20 * time.Second
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		l := &memledger.Ledger{Now: time.Now}
		test(t, l, l)
	})
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		url, both := "redis://"+faulty.Redis(t).Addr(), [2]*redisledger.Ledger{}
		for i := range both {
			var err error
			if both[i], err = redisledger.Open(t.Context(), url, redisledger.Options{Timeout: patient}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = both[i].Close() })
		}
		test(t, both[0], both[1])
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		url, both := faulty.Postgres(t).URL(), [2]*pgledger.Ledger{}
		for i := range both {
			var err error
			if both[i], err = pgledger.Open(t.Context(), url, pgledger.Options{Timeout: patient}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = both[i].Close() })
		}
		test(t, both[0], both[1])
	})
}

// office is two gateways on one ledger, before one stand-in that counts for itself and has the limit that they have.
type office struct {
	gateways  [2]string // their URLs
	governors [2]*quota.Governor
	upstream  *youtube.Client
	sim       *youtubesim.Server
}

// newOffice has ten tools, each a client, and a limit of units in an hour.
func newOffice(t *testing.T, account string, units int64, ledgers [2]quota.Ledger, reserve func(context.Context) quota.Reserve) *office {
	t.Helper()
	o := &office{}
	var err error
	if o.sim, err = youtubesim.New(youtubesim.Options{Limits: map[string]int64{"units": units}, Now: morning}); err != nil {
		t.Fatal(err)
	}
	up := httptest.NewServer(o.sim)
	t.Cleanup(up.Close)
	if o.upstream, err = youtube.New(t.Context(), youtube.Config{BaseURL: up.URL, Key: ingest.NewSecret(ourKey)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.upstream.Close)
	for i, ledger := range ledgers {
		tariff, err := quota.ParseCosts("costs.yaml", ingest.Costs, "youtube", "")
		if err != nil {
			t.Fatal(err)
		}
		tariff.Grace = 0
		for j := range tariff.Pools {
			tariff.Pools[j].Windows = []quota.Window{{Name: "1h", Length: time.Hour, Limit: units}}
		}
		o.governors[i] = &quota.Governor{Ledger: ledger, Tariff: tariff, Account: account, Now: time.Now, Reserve: reserve}
		c := gateway.Config{Governor: o.governors[i], Upstream: o.upstream}
		for tool := range 10 {
			c.Clients = append(c.Clients, gateway.Client{Name: fmt.Sprintf("tool-%d", tool), TokenSHA256: sha256.Sum256([]byte(fmt.Sprintf("token-%d", tool)))})
		}
		s := httptest.NewServer(gateway.New(c))
		t.Cleanup(s.Close)
		o.gateways[i] = s.URL
	}
	return o
}

// ask makes a call that no other makes, for a tool, and returns the status.
func (o *office) ask(t *testing.T, tool int, serial int64) int {
	url := fmt.Sprintf("%s/youtube/v3/videos?part=id&id=video-%06d&key=token-%d", o.gateways[(int64(tool)+serial)%2], serial, tool)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Errorf("tool %d: %v", tool, err)
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// TestEightUnknownClientsAtOnceForOneUnitAreOneCall: the ledger has seen neither the account nor any of the clients.
func TestEightUnknownClientsAtOnceForOneUnitAreOneCall(t *testing.T) {
	onEachLedger(t, func(t *testing.T, one, other quota.Ledger) {
		for round := range 10 {
			o := newOffice(t, "round-"+strconv.Itoa(round), 1, [2]quota.Ledger{one, other}, nil)
			for _, g := range o.governors {
				g.Tariff.Ceilings[quota.Client] = g.Tariff.Ceilings[quota.Manual]
				for j := range g.Tariff.Pools {
					g.Tariff.Pools[j].Windows[0].Limit = 2 // 99.5 % of that is one
				}
			}
			var wait sync.WaitGroup
			var served atomic.Int64
			for tool := range 8 {
				wait.Go(func() {
					switch status := o.ask(t, tool, int64(tool)); status {
					case http.StatusOK:
						served.Add(1)
					case http.StatusForbidden, http.StatusTooManyRequests:
					default:
						t.Errorf("round %d, tool %d: %d", round, tool, status)
					}
				})
			}
			wait.Wait()
			if got := o.sim.Ledger(); served.Load() != 1 || got.Units["units"] != 1 || got.Refused["units"] != 0 {
				t.Fatalf("round %d: %d served, the stand-in counted %v and refused %v, want 1, 1 and 0", round, served.Load(), got.Units, got.Refused)
			}
		}
	})
}

// TestLongTenToolsThroughTwoGatewaysShareTheSchedulesRest: on a day of twelve seconds, ten tools ask as often as each
// other for much more than there is, and a backfill takes the rest, beside a schedule of eight regions.
func TestLongTenToolsThroughTwoGatewaysShareTheSchedulesRest(t *testing.T) {
	const day, units, regions, ticks = 12 * time.Second, 1000, 8, 24
	onEachLedger(t, func(t *testing.T, one, other quota.Ledger) {
		var due atomic.Int64 // the schedule's remaining need
		due.Store(regions * ticks)
		reserve := func(context.Context) quota.Reserve { return quota.Reserve{Today: quota.Cost{"units": due.Load()}} }
		o := newOffice(t, "shared", units, [2]quota.Ledger{one, other}, reserve)
		var serial, late, backfilled atomic.Int64
		call := func(r quota.Request) bool {
			d, err := o.governors[serial.Add(1)%2].Take(t.Context(), r)
			if err != nil {
				t.Errorf("%s: %v", r.Purpose, err)
			}
			if err != nil || !d.Allowed {
				return false
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://upstream/youtube/v3/videos?part=id&id=other-%06d", serial.Load()), nil)
			if err != nil {
				t.Error(err)
				return false
			}
			return o.upstream.Forward(req).Status == http.StatusOK
		}
		var got [10]atomic.Int64
		var wait sync.WaitGroup
		end := time.Now().Add(day)
		every := func(pause time.Duration, do func()) {
			wait.Go(func() {
				for ; time.Now().Before(end) && !t.Failed(); time.Sleep(pause) {
					do()
				}
			})
		}
		for tool := range got {
			every(50*time.Millisecond, func() {
				if o.ask(t, tool, serial.Add(1)) == http.StatusOK {
					got[tool].Add(1)
				}
			})
		}
		every(25*time.Millisecond, func() {
			if call(quota.Request{Method: "videos.list", Purpose: quota.Backfill, Reserve: reserve(t.Context())}) {
				backfilled.Add(1)
			}
		})
		for range ticks {
			for region := range regions {
				if !call(quota.Request{Method: "videos.list", Purpose: quota.Scheduled, Region: strconv.Itoa(region)}) {
					late.Add(1)
				}
				due.Add(-1)
			}
			time.Sleep(day / ticks)
		}
		wait.Wait()
		sum, least, all := int64(0), int64(units), []int64{}
		for tool := range got {
			n := got[tool].Load()
			sum, least, all = sum+n, min(least, n), append(all, n)
		}
		upstream := o.sim.Ledger()
		counted, refused := upstream.Units["units"], upstream.Refused["units"]
		t.Logf("upstream counted %d of %d and refused %d; schedule %d, %d late; backfill %d; tools %d: %v", counted, units, refused, regions*ticks, late.Load(), backfilled.Load(), sum, all)
		if counted > units || refused != 0 || counted != regions*ticks+sum+backfilled.Load() {
			t.Errorf("the stand-in counted %d and refused %d", counted, refused)
		}
		if late.Load() != 0 {
			t.Errorf("%d scheduled calls were refused, want 0", late.Load())
		}
		if sum < units/4 || least*10*100 < sum*80 {
			t.Errorf("the tools got %v: one has less than 80 %% of its share of %d", all, sum)
		}
	})
}
