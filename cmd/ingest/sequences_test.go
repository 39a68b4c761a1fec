//go:build unix

package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// sequenceLimit is the limit of units, per day and in any 24 hours, in every sequence.
const sequenceLimit = 100

// operator makes a person's possible steps on one data directory; the stand-in counts arriving calls.
type operator struct {
	t       *testing.T
	sim     *youtubesim.Server
	ledgers map[string]string // the value of --ledger, by name
}

// on goes on with another ledger.
func on(ledger string) func(*operator) {
	return func(o *operator) { o.t.Setenv("INGEST_LEDGER", o.ledgers[ledger]) }
}

// chartRuns fetches all charts the given number of times, unless it is stopped.
func chartRuns(times int) func(*operator) {
	return func(o *operator) {
		for range times {
			if code, _ := ingestAny("run", "--force", "--quiet"); code != exitOK {
				return
			}
		}
	}
}

// takes makes the given number of calls as a script does that asks with quota take, unless it is refused.
func takes(calls int) func(*operator) {
	return func(o *operator) {
		for range calls {
			if code, _ := ingestAny("quota", "take", "videos.list"); code != exitOK {
				return
			}
			o.get(os.Getenv("INGEST_UPSTREAM_URL") + "youtube/v3/videos?part=id&chart=mostPopular")
		}
	}
}

var gatewayListens = regexp.MustCompile(`the gateway listens at (http://[^/]+/)`)

// startGateway starts a gateway in a process of its own.
func startGateway(t *testing.T) (p *served, address string) {
	t.Helper()
	p = startProcess(t, "gateway", "--listen", "127.0.0.1:0")
	p.until("it says where it listens", func() bool {
		if m := gatewayListens.FindStringSubmatch(p.stdout.String() + p.stderr.String()); m != nil {
			address = m[1]
		}
		return address != ""
	})
	return p, address
}

// gateway makes the given number of calls through a gateway, with any answers.
func gateway(calls int) func(*operator) {
	return func(o *operator) {
		p, address := startGateway(o.t)
		for i := range calls {
			o.get(fmt.Sprintf("%syoutube/v3/videos?part=id&chart=mostPopular&maxResults=%d", address, i%50+1))
		}
		p.end(syscall.SIGTERM)
	}
}

// A gateway goes on after quota.db was lost or replaced while it ran, and was rebuilt: no person has to start it
// again.
func TestAGatewayOpensAgainAfterARepair(t *testing.T) {
	sim := standIn(t, youtubesim.Options{})
	configured(t, "jobs: [{name: chart, kind: chart, every: 24h, pages: 1}]\n")
	p, address := startGateway(t)
	defer p.end(syscall.SIGTERM)
	ask := func() int {
		resp, err := http.Get(address + "youtube/v3/videos?part=id&chart=mostPopular")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for range 3 {
		if code := ask(); code != http.StatusOK {
			t.Fatalf("it answers %d, want %v", code, http.StatusOK)
		}
		loseLedger()
		ingestCode(t, exitUnavailable, "quota", "rebuild")
		ingestCode(t, exitOK, "quota", "post", "units", fmt.Sprint(sim.Ledger().Units["units"])) // as the console shows
		p.until("it is open again", func() bool { return ask() == http.StatusOK })
	}
	units := ingestJSON[quotaDocument](t, exitOK, "quota").Pools[2]
	if arrived := sim.Ledger().Units["units"]; units.Windows[0].Used != arrived || arrived < 6 {
		t.Errorf("%d arrived, %d are counted", arrived, units.Windows[0].Used)
	}
}

func (o *operator) get(url string) {
	o.t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		o.t.Fatal(err)
	}
	_ = resp.Body.Close()
}

// does runs a command that has to end so.
func does(code int, args ...string) func(*operator) {
	return func(o *operator) { ingestCode(o.t, code, args...) }
}

// loses deletes files of the data directory.
func loses(patterns ...string) func(*operator) {
	return func(o *operator) {
		for _, pattern := range patterns {
			files, _ := filepath.Glob(filepath.Join(os.Getenv("INGEST_DATA"), pattern))
			for _, file := range files {
				if err := os.Remove(file); err != nil {
					o.t.Fatal(err)
				}
			}
		}
	}
}

// damagesHeader overwrites the header of quota.db.
func damagesHeader(o *operator) {
	path := filepath.Join(os.Getenv("INGEST_DATA"), ledgerFile)
	data, err := os.ReadFile(path)
	if err == nil {
		clear(data[:100])
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		o.t.Fatal(err)
	}
}

// clock sets the program's clock, which no ledger on a server allows.
func clock(now string) func(*operator) {
	return func(o *operator) { at(o.t, now) }
}

// costs changes the costs.
func costs(from, to string) func(*operator) {
	return func(o *operator) {
		data, err := os.ReadFile(os.Getenv("INGEST_COSTS"))
		if err == nil {
			err = os.WriteFile(os.Getenv("INGEST_COSTS"), []byte(strings.ReplaceAll(string(data), from, to)), 0o600)
		}
		if err != nil {
			o.t.Fatal(err)
		}
	}
}

// everything spends the rest, by every allowed spender.
func everything(o *operator) {
	chartRuns(7)(o)
	takes(sequenceLimit)(o)
}

// sequence is an operator's steps, one after the other.
type sequence struct {
	name   string
	closed bool // at the end, because the spends are not known
	steps  []func(*operator)
}

var sequences = []sequence{
	{"charts on Redis until 75, then the same without the flag", false, []func(*operator){
		on("redis"), chartRuns(7), on("sqlite"), everything,
	}},
	{"Redis, a spell on SQLite, back to Redis", false, []func(*operator){
		on("redis"), chartRuns(2), on("sqlite"), chartRuns(1), on("redis"), everything,
	}},
	{"Redis, PostgreSQL, SQLite", false, []func(*operator){
		on("redis"), chartRuns(1), on("postgres"), chartRuns(2), on("sqlite"), everything,
	}},
	{"a gateway's calls on SQLite, then Redis for the first time", false, []func(*operator){
		on("sqlite"), gateway(40), on("redis"), everything,
	}},
	{"takes on SQLite, then PostgreSQL for the first time", false, []func(*operator){
		on("sqlite"), takes(20), on("postgres"), everything,
	}},
	{"quota.db lost after a gateway's calls, and rebuilt", true, []func(*operator){
		on("sqlite"), chartRuns(1), gateway(40), loses("quota.db*"),
		does(exitUnavailable, "run"), does(exitUnavailable, "quota", "rebuild"), everything,
	}},
	{"quota.db lost after takes on SQLite, and rebuilt with Redis", true, []func(*operator){
		on("sqlite"), takes(20), loses("quota.db", "quota.db-*"), on("redis"),
		does(exitUnavailable, "run"), does(exitUnavailable, "quota", "rebuild"), everything,
	}},
	{"its header damaged, and replaced", false, []func(*operator){
		on("sqlite"), chartRuns(1), gateway(40), damagesHeader,
		does(exitUnavailable, "run"), does(exitOK, "quota", "rebuild", "--replace"), everything,
	}},
	{"quota.db and ingest.db lost, rebuilt, past midnight", true, []func(*operator){
		on("sqlite"), clock("2026-02-14T09:40:00Z"), takes(20), loses("*.db", "*.db-*"), chartRuns(1),
		does(exitUnavailable, "quota", "rebuild"), clock("2026-02-15T08:40:00Z"), everything,
	}},
	{"both lost, rebuilt, and a pool opened again", true, []func(*operator){
		on("sqlite"), takes(20), chartRuns(1), loses("*.db", "*.db-*"),
		does(exitUnavailable, "quota", "rebuild"), does(exitUsage, "quota", "drain", "units", "--lift"), everything,
	}},
	{"a pool renamed in costs.yaml", false, []func(*operator){
		on("sqlite"), chartRuns(2), costs("units:", "points:"), does(exitConfig, "run"), everything,
		costs("points:", "units:"), everything,
	}},
	{"a renamed pool, counted on by was: on each ledger", false, []func(*operator){
		on("redis"), chartRuns(1), costs("units:", "points:"), costs("points: {24h", "points: {was: [units], 24h"), chartRuns(1),
		on("sqlite"), takes(10), on("postgres"), chartRuns(1), costs("was: [units]", "was: [units, points]"), costs("points:", "units:"), chartRuns(1), on("sqlite"), everything,
	}},
	{"a window of 768 h, lost after 30 days, until its use is posted", false, []func(*operator){
		on("sqlite"), costs("24h: 100", "768h: 100"), clock("2026-02-14T09:40:00Z"), chartRuns(2), clock("2026-03-16T09:40:00Z"), chartRuns(1),
		loses("quota.db*"), does(exitUnavailable, "run"), does(exitUnavailable, "quota", "rebuild"), does(exitStopped, "run", "--force"),
		does(exitOK, "quota", "post", "units", "48"), everything,
	}},
}

// After any steps of an operator who follows the program's own advice: no more arrives than the limit, and the ledger
// counts each arrived call once, or is closed.
func TestLongNoSequenceOfLedgersSpendsTwice(t *testing.T) {
	redis, postgres := faulty.Redis(t), faulty.Postgres(t)
	for _, c := range sequences {
		t.Run(c.name, func(t *testing.T) {
			o := &operator{t: t, sim: standIn(t, youtubesim.Options{}), ledgers: map[string]string{
				"sqlite": "sqlite", "redis": "redis://" + redis.Addr(), "postgres": postgres.URL(),
			}}
			configured(t, "jobs: [{name: chart, kind: chart, every: 24h, pages: 2}]\n")
			t.Setenv("INGEST_COSTS", limits(t, fmt.Sprint(sequenceLimit)))
			t.Setenv("INGEST_ACCOUNT", strings.Trim(regexp.MustCompile(`\W+`).ReplaceAllString(c.name, "-")[:20], "-"))
			for _, do := range c.steps {
				do(o)
			}
			arrived := o.sim.Ledger().Units["units"]
			doc := ingestJSON[quotaDocument](t, exitOK, "quota")
			units := doc.Pools[len(doc.Pools)-1]
			used := units.Windows[0].Used
			t.Logf("%d of %d arrived, %d are counted, closed by %q", arrived, sequenceLimit, used, units.DrainedBy)
			if arrived > sequenceLimit {
				t.Errorf("%d of %d arrived", arrived, sequenceLimit)
			}
			if closed := units.DrainedBy == "unknown"; closed != c.closed || !closed && (used != arrived || arrived < sequenceLimit*9/10) {
				t.Errorf("%d arrived, %d are counted, closed by %q", arrived, used, units.DrainedBy)
			}
		})
	}
}
