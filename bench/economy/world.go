package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// world is a worker's surroundings: how many units the provider gives a day, and what goes wrong.
type world struct {
	units    int64
	backfill bool // a search of the archive takes all it can get
	trouble  trouble
	regions  []ingest.Region // whose charts are wanted
	every    time.Duration   // how often
	pages    int             // of each
	also     []ingest.Job    // wanted besides these charts
}

// jobs returns the jobs our worker is configured with.
func (w world) jobs() []ingest.Job {
	return append([]ingest.Job{
		{Name: "chart", Kind: ingest.KindChart, Regions: w.regions, Every: w.every, Pages: w.pages},
		{Name: "refresh", Kind: ingest.KindRefresh, Every: 24 * time.Hour},
	}, w.also...)
}

func (w world) String() string {
	s := fmt.Sprintf("%d units", w.units)
	if w.backfill {
		s += " and a backfill"
	}
	return s
}

// trouble is what goes wrong with an upstream's answers.
type trouble struct {
	name   string
	faults []string      // of the stand-in
	ahead  time.Duration // of our worker's own clock, for one run
	lies   time.Duration // how long, from 18:00 UTC each day, every call is refused for quota although some is left
}

var (
	clean = trouble{name: "clean"}
	// The machine's clock lies for one run: to a worker that believes it, everything is too old, or already done.
	yearAhead  = trouble{name: "a year ahead for one run", ahead: 365 * 24 * time.Hour}
	hoursAhead = trouble{name: "2 h ahead for one run", ahead: 2 * time.Hour}
	// Five calls in a hundred: three of them charged for nothing, one refused for its rate and not charged, one
	// answered slowly but well.
	faulty = trouble{name: "5 % faults", faults: []string{"503:1%", "drop:1%", "truncate:1%", "429min:1%", "slow=1ms:1%"}}
	lying  = trouble{name: "false quotaExceeded 0.1 %", faults: []string{"403quota:0.1%"}}
	// One answer in a thousand is a lie above; here it is every answer, for longer than three doubts.
	lyingDaily = trouble{name: "false quotaExceeded for 90 min a day", lies: 90 * time.Minute}
	// Not all that is wanted is wanted equally often.
	mixed = trouble{name: "one region every 10 min, seven every 6 h"}
)

// clock is the time of a world: workers and the stand-in read it, and whoever waits or calls advances it.
type clock struct{ nanos atomic.Int64 }

func (c *clock) now() time.Time       { return time.Unix(0, c.nanos.Load()).UTC() }
func (c *clock) set(t time.Time)      { c.nanos.Store(t.UnixNano()) }
func (c *clock) pass(d time.Duration) { c.nanos.Add(int64(d)) }
func (c *clock) reach(t time.Time)    { c.set(latest(c.now(), t)) }
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// callTakes is how long the provider takes to answer.
const callTakes = 150 * time.Millisecond

// upstream is the provider of a world: the stand-in at a loopback address, whose clock each call advances.
type upstream struct {
	sim    *youtubesim.Server
	server *httptest.Server
}

func newUpstream(w world, seed uint64, c *clock) (*upstream, error) {
	o := youtubesim.Options{Seed: seed, CostTable: table, Limits: map[string]int64{"units": w.units}, Now: c.now, PageVideos: 2}
	for _, text := range w.trouble.faults {
		f, err := youtubesim.ParseFault(text)
		if err != nil {
			return nil, err
		}
		o.Faults = append(o.Faults, f)
	}
	sim, err := youtubesim.New(o)
	if err != nil {
		return nil, err
	}
	return &upstream{sim, httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		c.pass(callTakes)
		if w.trouble.lies > c.now().Sub(c.now().Truncate(24*time.Hour).Add(18*time.Hour)) && c.now().UTC().Hour() >= 18 {
			answer.Header().Set("Content-Type", "application/json")
			answer.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(answer, `{"error":{"code":403,"message":"The request cannot be completed because you have exceeded your quota.","errors":[{"domain":"youtube.quota","reason":"quotaExceeded"}]}}`)
			return
		}
		r.Header.Del("Accept-Encoding") // bytes are free here
		sim.ServeHTTP(answer, r)
	}))}, nil
}
