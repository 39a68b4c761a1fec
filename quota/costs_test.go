package quota_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

const smallCosts = `version: 1
upstreams:
  youtube:
    zone: America/Los_Angeles
    table: classic
    grace: 30s
    ceilings: {scheduled: 95%, refresh: 95%, backfill: 70%, manual: 99.5%, client: 70%}
    failure: {open_at_most: 0.1%, emergency: 0.5%, settle: 10m}
    tables:
      classic:
        pools:
          units: {24h: 10000, day: 10000}
          search: {24h: 100, day: 100}
        methods:
          videos.list: {units: 1}
          search.list: {units: 100, search: 1}
`

func TestCostsThatAreWrongSayWhereAndWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new string
		want     string
	}{
		{"a route that is none", "{units: 1}", "{units: 1, route: videos}", `costs.yaml:15: route "videos": use a method and a path, such as GET /youtube/v3/videos`},
		{"a route that leaves its path", "{units: 1}", "{units: 1, route: GET /youtube/../videos?key=x}", `costs.yaml:15: route "GET /youtube/../videos?key=x": use a method`},
		{"a route of two methods", "{units: 1}\n          search.list: {", "{units: 1, route: GET /search}\n          search.list: {route: GET /search, ", `costs.yaml:15: route "GET /search" already belongs to search.list`},
		{"a method for nothing but a route", "{units: 1}", "{route: GET /videos}", `costs.yaml:15: method videos.list costs nothing`},
		{"a misspelt field", "ceilings:", "ceiling:", `costs.yaml:7: unknown field "ceiling": did you mean "ceilings"?`},
		{"a misspelt field inside", "open_at_most", "open_atmost", `costs.yaml:8: unknown field "open_atmost": did you mean "open_at_most"?`},
		{"a field of nowhere", "    grace: 30s", "    grace: 30s\n    colour: red", `costs.yaml:7: unknown field "colour": use one of `},
		{"a misspelt clause", "    grace: 30s", "    grace: 30s\n    policy: {one_projct: {source: https://a.example/, read: 2026-11}}", `costs.yaml:7: unknown clause "one_projct": did you mean "one_project"?`},
		{"a clause of nowhere", "    grace: 30s", "    grace: 30s\n    policy: {attribution: {source: a page, read: 2026-11}}", `costs.yaml:7: source: "a page" is not the https address`},
		{"a clause that was never read", "    grace: 30s", "    grace: 30s\n    policy: {attribution: {source: https://a.example/, read: lately}}", `costs.yaml:7: read: "lately" is not the month or day`},
		{"a clause without its days", "    grace: 30s", "    grace: 30s\n    policy: {retention: {source: https://a.example/, read: 2026-11-23}}", `costs.yaml:7: days: 0: clauses retention and unused_quota need a number of days above 0`},
		{"a misspelt pool", "{units: 1}", "{unit: 1}", `costs.yaml:15: unknown pool "unit": did you mean "units"?`},
		{"a pool of nowhere", "search: 1}", "calls: 1}", `costs.yaml:16: unknown pool "calls": use one of search, units`},
		{"a pool's bad name", "          search: {24h: 100, day: 100}", "          a b: {24h: 100, day: 100}", `costs.yaml:13: pool "a b": use letters`},
		{"a misspelt purpose", "backfill: 70%", "backfil: 70%", `costs.yaml:7: unknown purpose "backfil": did you mean "backfill"?`},
		{"a missing ceiling", "backfill: 70%, ", "", `costs.yaml:7: purpose backfill has no ceiling: add one, such as backfill: 95%`},
		{"no ceilings", "    ceilings: {scheduled: 95%, refresh: 95%, backfill: 70%, manual: 99.5%, client: 70%}\n", "", `costs.yaml:3: purpose scheduled has no ceiling`},
		{"a window of nothing", "24h: 100,", "fortnight: 100,", `costs.yaml:13: window "fortnight" is neither day nor a duration like 24h or 60s`},
		{"a window too short", "24h: 100,", "10ms: 100,", `costs.yaml:13: window "10ms" is outside 100ms..768h0m0s`},
		{"a window too long", "24h: 100,", "800h: 100,", `costs.yaml:13: window "800h" is outside 100ms..768h0m0s`},
		{"a window of fractions", "24h: 100,", "1.0001s: 100,", `costs.yaml:13: window "1.0001s" is not a whole number of milliseconds`},
		{"no window", "search: {24h: 100, day: 100}", "search: {}", `costs.yaml:13: pool search has no window: add 24h: and day:`},
		{"a negative limit", "24h: 100,", "24h: -100,", `costs.yaml:13: limit "-100" of pool search is not a whole number in 1..1000000000000`},
		{"a limit of zero", "24h: 100,", "24h: 0,", `costs.yaml:13: limit "0" of pool search`},
		{"a fractional limit", "24h: 100,", "24h: 100.5,", `costs.yaml:13: limit "100.5" of pool search`},
		{"a limit beyond what is exact", "24h: 100,", "24h: 1000000000001,", `costs.yaml:13: limit "1000000000001" of pool search`},
		{"an overflowing limit", "24h: 100,", "24h: 99999999999999999999,", `costs.yaml:13: limit "99999999999999999999" of pool search`},
		{"a limit in words", "24h: 100,", "24h: many,", `costs.yaml:13: limit "many" of pool search`},
		{"a limit of hexadecimal", "24h: 100,", "24h: 0x64,", `costs.yaml:13: limit "0x64" of pool search`},
		{"a limit that is empty", "24h: 100,", "24h: ,", `costs.yaml:13: limit`},
		{"a limit that is a list", "24h: 100,", "24h: [100],", `costs.yaml:13: limit`},
		{"a negative cost", "{units: 1}", "{units: -1}", `costs.yaml:15: method videos.list costs "-1" of units: a cost is a whole number of at least 1`},
		{"a cost of zero", "{units: 1}", "{units: 0}", `costs.yaml:15: method videos.list costs "0" of units`},
		{"a fractional cost", "{units: 1}", "{units: 1.5}", `costs.yaml:15: method videos.list costs "1.5" of units`},
		{"an overflowing cost", "{units: 1}", "{units: 9223372036854775808}", `costs.yaml:15: method videos.list costs "9223372036854775808" of units`},
		{"a method for nothing", "{units: 1}", "{}", `costs.yaml:15: method videos.list costs nothing: every call costs something`},
		{"a zone of nowhere", "America/Los_Angeles", "America/Los_Angles", `costs.yaml:4: zone "America/Los_Angles" is not a time zone: use a name like America/Los_Angeles`},
		{"the zone of this machine", "America/Los_Angeles", "Local", `costs.yaml:4: zone "Local" is not a time zone`},
		{"the zone of this machine by its file", "America/Los_Angeles", "localtime", `costs.yaml:4: zone "localtime" is not a time zone`},
		{"a zone that counts leap seconds", "America/Los_Angeles", "right/America/Los_Angeles", `costs.yaml:4: zone "right/America/Los_Angeles" is not a time zone`},
		{"no zone", "    zone: America/Los_Angeles\n", "", `costs.yaml:3: zone "" is not a time zone`},
		{"a share without a sign", "backfill: 70%", "backfill: 70", `costs.yaml:7: backfill: "70" is not a percentage like 95%`},
		{"a share of nothing", "backfill: 70%", "backfill: 0%", `costs.yaml:7: backfill: "0%" is outside 0.0001%..100%`},
		{"a share above all", "backfill: 70%", "backfill: 100.1%", `costs.yaml:7: backfill: "100.1%" is outside 0.0001%..100%`},
		{"a share finer than is kept", "backfill: 70%", "backfill: 70.00001%", `costs.yaml:7: backfill: "70.00001%" has more than four decimals`},
		{"a negative share", "backfill: 70%", "backfill: -70%", `costs.yaml:7: backfill: "-70%" is outside 0.0001%..100%`},
		{"a share that is no number", "backfill: 70%", "backfill: NaN%", `costs.yaml:7: backfill: "NaN%" is outside`},
		{"a share in words", "emergency: 0.5%", "emergency: half", `costs.yaml:8: emergency: "half" is not a percentage like 95%`},
		{"no emergency", "emergency: 0.5%, ", "", `costs.yaml:8: emergency: "" is not a percentage like 95%`},
		{"bursts in a word of its own", "grace: 30s", "grace: 30s\n    bursts: cheap", `costs.yaml:7: bursts: "cheap" is not known: use charged, or free`},
		{"a grace in words", "grace: 30s", "grace: soon", `costs.yaml:6: grace: "soon" is not a duration of 0s..10m0s`},
		{"clocks that may be too far apart", "grace: 30s", "grace: 30s\n    clock_gap: 61s", `costs.yaml:7: clock_gap: "61s" is not a duration of 0s..1m0s`},
		{"a negative grace", "grace: 30s", "grace: -30s", `costs.yaml:6: grace: "-30s" is not a duration of 0s..10m0s`},
		{"a grace too long", "grace: 30s", "grace: 11m", `costs.yaml:6: grace: "11m" is not a duration of 0s..10m0s`},
		{"a settle too long", "settle: 10m", "settle: 48h", `costs.yaml:8: settle: "48h" is not a duration of 0s..24h0m0s`},
		{"a table that is not there", "table: classic", "table: modern", `costs.yaml:5: table "modern" does not exist: use one of classic`},
		{"no tables", smallCosts[strings.Index(smallCosts, "    tables:"):], "", `costs.yaml:3: no tables`},
		{"no pools", "        pools:\n          units: {24h: 10000, day: 10000}\n          search: {24h: 100, day: 100}\n", "", `costs.yaml:10: no pools`},
		{"another version", "version: 1", "version: 2", `costs.yaml:1: version 2 is not known to this program: use version: 1`},
		{"no version", "version: 1\n", "", `costs.yaml: version 0 is not known`},
		{"another upstream", "  youtube:", "  vimeo:", `costs.yaml:2: upstream "youtube" has no costs here: use one of vimeo`},
		{"a key twice", "grace: 30s", "grace: 30s\n    grace: 31s", `costs.yaml:7: mapping key "grace" already defined`},
		{"an earlier name that is no list", "search: {24h: 100", "search: {was: queries, 24h: 100", `costs.yaml:13: was: give a list of the names that pool search had, the first one first, such as was: [queries]`},
		{"an earlier name that is none", "search: {24h: 100", "search: {was: [a b], 24h: 100", `costs.yaml:13: was: "a b" is not the name of a pool`},
		{"an earlier name of another pool", "search: {24h: 100", "search: {was: [units], 24h: 100", `costs.yaml:13: pool search was units, which is also a name of another pool`},
		{"only an earlier name", "search: {24h: 100, day: 100}", "search: {was: [queries]}", `costs.yaml:13: pool search has no window`},
		{"a pool twice", "          search: {24h", "          units: {day: 1}\n          search: {24h", `costs.yaml:13: mapping key "units" already defined`},
		{"a second document", "version: 1\n", "version: 1\n---\nversion: 1\n", `costs.yaml:2: a second document: a file has only one`},
		{"a second document that is empty", "search: 1}\n", "search: 1}\n---\n", `costs.yaml:17: a second document: a file has only one`},
		{"more windows than are counted", "24h: 100, day: 100}", "24h: 100" + numbered(protocol.MaxWindows, ", %dm: 100") + "}", `costs.yaml:13: pool search has 256 windows: at most 255 are counted`},
		{"more pools than are counted", "          search: {24h: 100, day: 100}", "          p0: {24h: 100}" + numbered(protocol.MaxPools-1, "\n          p%d: {24h: 100}"), `costs.yaml:11: 65 pools: at most 64 are counted`},
		{"100 KB of brackets", "{units: 1}", strings.Repeat("[", 100_000), `costs.yaml:15: nested more than 32 deep`},
		{"a list", smallCosts, "- version: 1\n", `costs.yaml:1: fields belong here, such as name: value`},
		{"not YAML", "grace: 30s", "grace: {30s", `costs.yaml:6: could not find flow map content`},
		{"nothing", smallCosts, "", `costs.yaml: version 0 is not known`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(smallCosts, c.old) {
				t.Fatalf("%q is not in the file", c.old)
			}
			data := strings.Replace(smallCosts, c.old, c.new, 1)
			_, err := quota.ParseCosts("costs.yaml", []byte(data), "youtube", "")
			var at *strictyaml.PositionError
			if !errors.As(err, &at) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
		})
	}
}

// numbered repeats a text with the numbers from 1 to n.
func numbered(n int, text string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, text, i+1)
	}
	return b.String()
}

// A mistake in an unused part is one anyway.
func TestCostsAreCheckedWhole(t *testing.T) {
	other := strings.Replace(smallCosts[strings.Index(smallCosts, "  youtube:"):], "youtube", "other", 1)
	other = strings.Replace(other, "{units: 1}", "{units: 0}", 1)
	_, err := quota.ParseCosts("costs.yaml", []byte(smallCosts+other), "youtube", "")
	if err == nil || !strings.HasPrefix(err.Error(), "costs.yaml:29: method videos.list costs") {
		t.Errorf("%v, want the line of the other upstream", err)
	}
}

func TestUnknownTableOrUpstreamNamesTheKnown(t *testing.T) {
	_, err := quota.ParseCosts("costs.yaml", []byte(smallCosts), "youtube", "modern")
	if err == nil || !strings.Contains(err.Error(), `table "modern" does not exist: use one of classic`) {
		t.Error(err)
	}
}

func TestShippedCostsPriceEveryMethodUnderBothTables(t *testing.T) {
	data, err := os.ReadFile("../costs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		table  string
		pools  []string
		search quota.Cost
	}{
		{"", []string{"batch_stats", "search", "units"}, quota.Cost{"search": 1}},
		{"classic", []string{"search", "units"}, quota.Cost{"units": 100, "search": 1}},
		{"split-2026-06", []string{"batch_stats", "search", "units"}, quota.Cost{"search": 1}},
	} {
		tariff, err := quota.ParseCosts("costs.yaml", data, "youtube", c.table)
		if err != nil {
			t.Fatal(err)
		}
		var pools []string
		for _, p := range tariff.Pools {
			pools = append(pools, p.Name)
			if len(p.Windows) != 2 || p.Windows[0].Length != 24*time.Hour || !p.Windows[1].Day() {
				t.Errorf("%s: pool %s has windows %v", c.table, p.Name, p.Windows)
			}
		}
		if !slices.Equal(pools, c.pools) {
			t.Errorf("%s: pools %v, want %v", c.table, pools, c.pools)
		}
		search, err := tariff.Cost("search.list")
		if err != nil || len(search) != len(c.search) || search["search"] != 1 || search["units"] != c.search["units"] {
			t.Errorf("%s: search.list costs %v (%v), want %v", c.table, search, err, c.search)
		}
		if videos, err := tariff.Cost("videos.list"); err != nil || videos["units"] != 1 || len(videos) != 1 {
			t.Errorf("%s: videos.list costs %v (%v), want one unit and nothing else", c.table, videos, err)
		}
		if tariff.Zone.String() != "America/Los_Angeles" || tariff.Grace != 30*time.Second || tariff.Ceilings[quota.Backfill].String() != "70%" {
			t.Errorf("%s: %+v, want Los Angeles, a grace of 30 s and backfill at 70%%", c.table, tariff)
		}
	}
}

// Whatever is in the file, it is a tariff that can be used or a mistake with a place; never a panic.
func FuzzCosts(f *testing.F) {
	shipped, err := os.ReadFile("../costs.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(shipped))
	f.Add(smallCosts)
	f.Add("version: 1\nupstreams: {youtube: {tables: &a {b: *a}}}")
	f.Add("? {a: b}\n: - c\n")
	f.Fuzz(func(t *testing.T, data string) {
		tariff, err := quota.ParseCosts("costs.yaml", []byte(data), "youtube", "")
		if err != nil {
			var at *strictyaml.PositionError
			if !errors.As(err, &at) || at.What == "" {
				t.Fatalf("%#v", err)
			}
			return
		}
		for method := range tariff.Methods {
			cost, err := tariff.Cost(method)
			if err != nil || len(cost) == 0 {
				t.Fatalf("%s: %v %v, want a cost", method, cost, err)
			}
			for pool, amount := range cost {
				if amount < 1 || amount > quota.MaxLimit || !slices.ContainsFunc(tariff.Pools, func(p quota.Pool) bool { return p.Name == pool }) {
					t.Fatalf("%s costs %d of %q", method, amount, pool)
				}
			}
		}
		for _, p := range tariff.Pools {
			for _, w := range p.Windows {
				for _, purpose := range quota.Purposes() {
					if c := tariff.Ceilings[purpose].Of(w.Limit); c < 0 || c > w.Limit || w.Limit < 1 {
						t.Fatalf("ceiling %d of %d", c, w.Limit)
					}
				}
			}
		}
	})
}

// A message that asks for another limit names the line of the limit.
func TestAPoolKnowsTheLineOfItsLimits(t *testing.T) {
	text, err := os.ReadFile("../costs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tariff, err := quota.ParseCosts("costs.yaml", text, "youtube", "classic")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, p := range tariff.Pools {
		if p.Line < 1 || !strings.Contains(lines[p.Line-1], p.Name+": {24h:") {
			t.Errorf("pool %s: line %d", p.Name, p.Line)
		}
	}
}
