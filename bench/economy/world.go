package main

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// world is a worker's surroundings: how many units the provider gives per day, and the faults.
type world struct {
	units    int64
	backfill bool // a search of the archive takes everything that it can get
	trouble  trouble
	regions  []ingest.Region // the wanted regions
	every    time.Duration   // the charts' interval
	pages    int             // per chart
	also     []ingest.Job    // wanted besides these charts
	hosts    int             // hosts that want all this, each for its own store, and share one ledger; 0: one
	tick     time.Duration   // how often our worker is started; 0: every five minutes
	backlogs int             // number of backfills if there are several
	lookups  int             // calls of a backfill of known size, of one unit each
}

// names returns the series of charts in the world. With several hosts, the first one's have plain names.
func (w world) names() (names []string) {
	for host := range max(w.hosts, 1) {
		for _, r := range w.regions {
			names = append(names, seriesOf(host, string(r)))
		}
	}
	return names
}

func seriesOf(host int, region string) string {
	if host == 0 {
		return region
	}
	return fmt.Sprintf("%s of host %d", region, host+1)
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
	switch {
	case w.backlogs > 1:
		s += fmt.Sprintf(" and %d backfills", w.backlogs)
	case w.backfill:
		s += " and a backfill"
	}
	if w.lookups > 0 {
		s += fmt.Sprintf(" and a backfill of %d", w.lookups)
	}
	if w.hosts > 1 {
		s += fmt.Sprintf(", %d hosts", w.hosts)
	}
	if len(w.regions) > 8 {
		s += fmt.Sprintf(", %d regions", len(w.regions))
	}
	switch {
	case w.tick >= time.Minute:
		s += fmt.Sprintf(", cron every %.0f min", w.tick.Minutes())
	case w.tick > 0:
		s += ", serve"
	}
	return s
}

// trouble is a fault of an upstream's answers.
type trouble struct {
	name   string
	faults []string                       // of the stand-in
	ahead  time.Duration                  // of our worker's own clock, for one run
	lies   time.Duration                  // how long, from 18:00 UTC each day, every call is refused for quota although some is left
	takes  func(*rand.Rand, int) []taking // the others' takes from the provider on each day, outside our ledger
	free   bool                           // the provider does not charge the calls that it fails
	slow   time.Duration                  // how long an answer takes; 0: callTakes
	away   time.Duration                  // how long, from awayAt on, no call is answered
	sleeps time.Duration                  // how long our machine sleeps each day, from 22:00 UTC on
	edits  []edit                         // of the config, while our worker lives
	random bool                           // it cannot be known when others come
	seeds  int                            // number of random variants; our worker shows the worst of them; 0: one
}

// awayAt is when in a world the upstream stops to answer.
const awayAt = 100 * time.Hour

// edit is a change of the config.
type edit struct {
	at   time.Duration // since the world began
	make func(*world)
}

// asleep reports whether our machine sleeps.
func (t trouble) asleep(at time.Time) bool {
	return t.sleeps > 0 && at.Add(-22*time.Hour).Sub(at.Add(-22*time.Hour).Truncate(24*time.Hour)) < t.sleeps
}

// taking is the others' takes from the provider's quota, at that time after the provider's day has begun.
type taking struct {
	at    time.Duration
	units int64
}

var (
	clean = trouble{name: "clean"}
	// The machine's clock is wrong for one run: to a worker that believes it, everything is too old, or already done.
	yearAhead  = trouble{name: "a year ahead for one run", ahead: 365 * 24 * time.Hour}
	hoursAhead = trouble{name: "2 h ahead for one run", ahead: 2 * time.Hour}
	// Five calls in a hundred: three are charged in vain, one is refused for its rate and not charged, one is answered
	// slowly but well.
	faulty = trouble{name: "5 % faults", faults: []string{"503:1%", "drop:1%", "truncate:1%", "429min:1%", "slow=1ms:1%"}}
	lying  = trouble{name: "false quotaExceeded 0.1 %", faults: []string{"403quota:0.1%"}}
	// One answer in a thousand is a lie above; here it is every answer, for longer than three doubts last.
	lyingDaily = trouble{name: "false quotaExceeded for 90 min a day", lies: 90 * time.Minute}
	// Some charts are wanted more often than others.
	mixed = trouble{name: "one region every 10 min, seven every 6 h"}
	// From the fourth day on the provider gives 500 units, and from the ninth on as many as before.
	cut = trouble{name: "10,000, then 500, then 10,000 at the provider", takes: func(_ *rand.Rand, day int) []taking {
		if day < 3 || day >= 8 {
			return nil
		}
		return []taking{{0, 9_500}}
	}}
	hourly  = trouble{name: "another tool takes 70 % at one hour daily", takes: func(*rand.Rand, int) []taking { return []taking{{10 * time.Hour, 210}} }}
	erratic = trouble{name: "another tool takes 50 % at random", random: true, seeds: 5, takes: func(random *rand.Rand, _ int) (all []taking) {
		for range 30 {
			if at := time.Duration(random.Int64N(int64(24 * time.Hour))); random.IntN(2) == 0 {
				all = append(all, taking{at, 10})
			}
		}
		slices.SortFunc(all, func(a, b taking) int { return cmp.Compare(a.at, b.at) })
		return all
	}}
	// Tools that come at times known to a person.
	weekly   = trouble{name: "another tool takes 70 % on Mondays", takes: onDays(210, func(day int) bool { return day%7 == 1 })}
	weekend  = trouble{name: "another tool takes 70 % on Saturdays and Sundays", takes: onDays(210, func(day int) bool { return day%7 == 0 || day%7 == 6 })}
	event    = trouble{name: "another tool takes 70 % on one day", takes: onDays(210, func(day int) bool { return day == 4 })}
	cutToTen = trouble{name: "10,000, then 300 at the provider", takes: func(_ *rand.Rand, day int) []taking {
		if day < 3 {
			return nil
		}
		return []taking{{0, 9_700}}
	}}
	asleep    = trouble{name: "asleep from 22:00 to 07:00", sleeps: 9 * time.Hour}
	away      = trouble{name: "no answer for 6 h", away: 6 * time.Hour}
	edited    = trouble{name: "edited at noon", edits: []edit{{4*24*time.Hour + 12*time.Hour, func(w *world) { w.pages = 2 }}, {8*24*time.Hour + 12*time.Hour, func(w *world) { w.pages = 4 }}}}
	raised    = trouble{name: "600 at the provider, in the costs from day 7", edits: []edit{{6*24*time.Hour + 12*time.Hour, func(w *world) { w.units = 600 }}}}
	sluggish  = trouble{name: "an answer takes 20 s", slow: 20 * time.Second}
	uncharged = trouble{name: "10 % errors, not charged", faults: []string{"503:10%"}, free: true, seeds: 3}
)

// onDays is a tool that takes so many units at 10:00 of some days.
func onDays(units int64, is func(day int) bool) func(*rand.Rand, int) []taking {
	return func(_ *rand.Rand, day int) []taking {
		if !is(day) {
			return nil
		}
		return []taking{{10 * time.Hour, units}}
	}
}

// clock is the time of a world: workers and the stand-in read it, and the ones that wait or call advance it.
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
	clock  *clock
	coming []comes     // the others' takes still to come
	days   []time.Time // when each of the provider's days begins
	taken  []int64     // the others' demand on each day
}

// comes is a taking at its time.
type comes struct {
	at    time.Time
	units int64
}

// day returns the number of the provider's day of a time, the first one being 0.
func (u *upstream) day(t time.Time) int {
	later := slices.IndexFunc(u.days, t.Before)
	if later < 0 {
		later = len(u.days)
	}
	return max(later-1, 0)
}

// catchUp lets others take their demand until now.
func (u *upstream) catchUp() {
	for len(u.coming) > 0 && !u.coming[0].at.After(u.clock.now()) {
		u.sim.Spend("units", u.coming[0].units)
		u.coming = u.coming[1:]
	}
}

// plan decides what others take in a world of that many days.
func (u *upstream) plan(w world, seed uint64, from, to time.Time) {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a simulation
	zone, _ := time.LoadLocation("America/Los_Angeles")
	for day, begins := 0, from.In(zone); begins.Before(to); day, begins = day+1, begins.AddDate(0, 0, 1) {
		u.days, u.taken = append(u.days, begins), append(u.taken, 0)
		if w.trouble.takes == nil {
			continue
		}
		for _, d := range w.trouble.takes(random, day) {
			u.coming = append(u.coming, comes{begins.Add(d.at), d.units})
			u.taken[day] += d.units
		}
	}
}

func newUpstream(w world, seed uint64, c *clock) (*upstream, error) {
	most := w
	for _, e := range w.trouble.edits { // the provider raises a limit before the costs say so
		e.make(&most)
	}
	o := youtubesim.Options{Seed: seed, CostTable: table, Limits: map[string]int64{"units": max(w.units, most.units)}, Now: c.now, PageVideos: 2, FreeFaults: w.trouble.free}
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
	u := &upstream{sim: sim, clock: c}
	u.server = httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		u.catchUp()
		c.pass(cmp.Or(w.trouble.slow, callTakes))
		if since := c.now().Sub(start.Add(awayAt)); since >= 0 && since < w.trouble.away {
			panic(http.ErrAbortHandler)
		}
		if w.trouble.lies > c.now().Sub(c.now().Truncate(24*time.Hour).Add(18*time.Hour)) && c.now().UTC().Hour() >= 18 {
			answer.Header().Set("Content-Type", "application/json")
			answer.Header().Set("Date", c.now().Format(http.TimeFormat)) // else the machine's Date: to our worker one clock is wrong then
			answer.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(answer, `{"error":{"code":403,"message":"The request cannot be completed because you have exceeded your quota.","errors":[{"domain":"youtube.quota","reason":"quotaExceeded"}]}}`)
			return
		}
		r.Header.Del("Accept-Encoding")                                      // the loopback device needs no compression
		if q := r.URL.Query(); strings.HasPrefix(q.Get("regionCode"), "X") { // the stand-in has charts of eight regions
			q.Set("regionCode", "US")
			r.URL.RawQuery = q.Encode()
		}
		sim.ServeHTTP(answer, r)
	}))
	return u, nil
}
