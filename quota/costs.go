package quota

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/internal/strictyaml"
	"github.com/trendvidstream/ingest/internal/terms"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// costsFile mirrors costs.yaml.
type costsFile struct {
	Version   int                     `yaml:"version"`
	Upstreams map[string]upstreamFile `yaml:"upstreams"`
}

type upstreamFile struct {
	Zone     string                  `yaml:"zone"`
	Table    string                  `yaml:"table"`
	Grace    string                  `yaml:"grace"`
	ClockGap string                  `yaml:"clock_gap"`
	Bursts   string                  `yaml:"bursts"`
	Ceilings map[string]string       `yaml:"ceilings"`
	Failure  failureFile             `yaml:"failure"`
	Policy   map[string]terms.Clause `yaml:"policy"`
	Tables   map[string]tableFile    `yaml:"tables"`
}

type failureFile struct {
	OpenAtMost string `yaml:"open_at_most"`
	Emergency  string `yaml:"emergency"`
	SyncWait   string `yaml:"settle"`
}

type tableFile struct {
	Pools   map[string]map[string]strictyaml.TextOrList `yaml:"pools"`
	Methods map[string]map[string]strictyaml.Text       `yaml:"methods"`
}

// ParseCosts reads costs.yaml and returns the tariff of one upstream under one of its tables; table "" is the one that
// the file chooses. The whole file is checked, including other upstreams. A mistake is a *strictyaml.PositionError
// that names the file as name.
func ParseCosts(name string, data []byte, upstream, table string) (*Tariff, error) {
	var file costsFile
	tree, err := strictyaml.Decode(name, data, &file)
	if err != nil {
		return nil, err
	}
	r := costsReader{yaml: tree}
	if file.Version != 1 {
		r.wrong(place{"version"}, "version %d is not known to this program: use version: 1", file.Version)
	}
	tariffs := map[string]map[string]*Tariff{}
	for _, up := range slices.Sorted(maps.Keys(file.Upstreams)) {
		tariffs[up] = r.upstream(up, file.Upstreams[up])
	}
	if tariffs[upstream] == nil {
		r.wrong(place{"upstreams"}, "upstream %q has no costs here: %s", upstream, oneOf(tariffs))
	}
	table = cmp.Or(table, file.Upstreams[upstream].Table)
	t := tariffs[upstream][table]
	if t == nil {
		r.wrong(place{"upstreams", upstream, "tables"}, "table %q does not exist: %s", table, oneOf(tariffs[upstream]))
	}
	if r.err != nil {
		return nil, r.err
	}
	return t, nil
}

// namesAZone refuses names that time.LoadLocation resolves to this machine's own zone, and zones that count leap
// seconds.
func namesAZone(name string) bool {
	switch name {
	case "", "Local", "localtime", "posixrules":
		return false
	}
	return !strings.HasPrefix(name, "right/")
}

// costsReader makes the checks that strict decoding cannot make, and keeps the first mistake.
type costsReader struct {
	yaml *strictyaml.Document
	err  error
}

// place is a path of keys in the file.
type place []string

func (p place) of(names ...string) place { return slices.Concat(p, names) }

func (r *costsReader) wrong(at place, format string, args ...any) {
	if r.err == nil {
		r.err = r.yaml.Errorf(at, format, args...)
	}
}

// upstream returns the tariffs of an upstream, by table.
func (r *costsReader) upstream(name string, u upstreamFile) map[string]*Tariff {
	here := place{"upstreams", name}
	zone, err := time.LoadLocation(u.Zone)
	if err != nil || !namesAZone(u.Zone) {
		r.wrong(here.of("zone"), "zone %q is not a time zone: use a name like America/Los_Angeles", u.Zone)
	}
	if !slices.Contains([]string{"", "charged", "free"}, u.Bursts) {
		r.wrong(here.of("bursts"), "bursts: %q is not known: "+
			"use charged, or free if the provider does not charge requests that it refuses for coming too fast", u.Bursts)
	}
	base := Tariff{
		Upstream: name, Zone: zone, FreeBursts: u.Bursts == "free", Ceilings: map[Purpose]Share{},
		Grace:    r.duration(u.Grace, 10*time.Minute, here.of("grace")),
		ClockGap: r.duration(cmp.Or(u.ClockGap, usualGap.String()), MaxClockGap, here.of("clock_gap")),
		Failure: Failure{
			OpenAtMost: r.share(u.Failure.OpenAtMost, here.of("failure", "open_at_most")),
			Emergency:  r.share(u.Failure.Emergency, here.of("failure", "emergency")),
			SyncWait:   r.duration(u.Failure.SyncWait, 24*time.Hour, here.of("failure", "settle")),
		},
		Policy: r.policy(u.Policy, here.of("policy")),
	}
	for _, p := range slices.Sorted(maps.Keys(u.Ceilings)) {
		if Purpose(p).Check() != nil {
			r.wrong(here.of("ceilings", p), "unknown purpose %q: %s", p, strictyaml.Suggest(p, purposeNames()))
		}
		base.Ceilings[Purpose(p)] = r.share(u.Ceilings[p], here.of("ceilings", p))
	}
	for _, p := range Purposes() {
		if base.Ceilings[p] == 0 {
			r.wrong(here.of("ceilings"), "purpose %s has no ceiling: add one, such as %s: 95%%", p, p)
		}
	}
	if len(u.Tables) == 0 {
		r.wrong(here, "no tables: a table names pools and methods")
	}
	if _, ok := u.Tables[u.Table]; !ok {
		r.wrong(here.of("table"), "table %q does not exist: %s", u.Table, oneOf(u.Tables))
	}
	tables := map[string]*Tariff{}
	for _, name := range slices.Sorted(maps.Keys(u.Tables)) {
		t := base
		t.Table = name
		r.table(&t, u.Tables[name], here.of("tables", name))
		tables[name] = &t
	}
	return tables
}

func (r *costsReader) table(t *Tariff, f tableFile, here place) {
	if len(f.Pools) == 0 {
		r.wrong(here, "no pools: a pool is something the provider counts, such as units: {24h: 10000, day: 10000}")
	}
	if n := len(f.Pools); n > protocol.MaxPools {
		r.wrong(here.of("pools"), "%d pools: at most %d are counted", n, protocol.MaxPools)
	}
	pools := slices.Sorted(maps.Keys(f.Pools))
	for _, name := range pools {
		t.Pools = append(t.Pools, r.pool(name, f.Pools[name], here.of("pools", name)))
	}
	r.checkWas(t.Pools, here.of("pools"))
	t.Methods, t.Routes = map[string]Cost{}, map[string]string{}
	for _, method := range slices.Sorted(maps.Keys(f.Methods)) {
		cost := Cost{}
		for _, pool := range slices.Sorted(maps.Keys(f.Methods[method])) {
			at, text := here.of("methods", method, pool), f.Methods[method][pool]
			amount, ok := wholeNumber(text)
			switch {
			case pool == routeField:
				r.route(t, method, string(text), at)
			case !slices.Contains(pools, pool):
				r.wrong(at, "unknown pool %q: %s", pool, strictyaml.Suggest(pool, pools))
			case !ok:
				r.wrong(at, "method %s costs %q of %s: a cost is a whole number of at least 1", method, text, pool)
			default:
				cost[pool] = amount
			}
		}
		if len(cost) == 0 {
			r.wrong(here.of("methods", method), "method %s costs nothing: every call costs something", method)
		}
		t.Methods[method] = cost
	}
}

// routeField is the key in a method's entry that is not a pool but the method's route.
const routeField = "route"

var routePattern = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE) (/[A-Za-z0-9:._-]+|/\{[a-z]+\})+$`)

func (r *costsReader) route(t *Tariff, method, route string, at place) {
	if other, taken := t.Routes[route]; taken {
		r.wrong(at, "route %q already belongs to %s: one route names one method", route, other)
	}
	if !routePattern.MatchString(route) {
		r.wrong(at, "route %q: use a method and a path, such as GET /youtube/v3/videos", route)
	}
	t.Routes[route] = method
}

// wasField is the key in a pool's entry that is not a window but lists the pool's earlier names.
const wasField = "was"

// checkWas refuses an earlier name of a pool that is also a name, now or earlier, of another pool.
func (r *costsReader) checkWas(pools []Pool, here place) {
	for _, p := range pools {
		for _, was := range p.Was {
			if slices.ContainsFunc(pools, func(other Pool) bool {
				return other.Name != p.Name && (other.Name == was || slices.Contains(other.Was, was))
			}) {
				r.wrong(here.of(p.Name, wasField),
					"pool %s was %s, which is also a name of another pool: list it under the pool that continues the counts",
					p.Name, was)
			}
		}
	}
}

func (r *costsReader) pool(name string, windows map[string]strictyaml.TextOrList, here place) Pool {
	p := Pool{Name: name, Line: r.yaml.Line(here)}
	if given, ok := windows[wasField]; ok && !given.IsList {
		r.wrong(here.of(wasField), "was: give a list of the names that pool %s had, the first one first, such as was: [%s]",
			name, given.Text)
	}
	for _, was := range windows[wasField].List {
		if CheckAccount(string(was)) != nil {
			r.wrong(here.of(wasField), "was: %q is not the name of a pool: use letters, digits, '.', '-' and '_'", was)
		}
		p.Was = append(p.Was, string(was))
	}
	delete(windows, wasField)
	switch n := len(windows); {
	case CheckAccount(name) != nil:
		r.wrong(here, "pool %q: use letters, digits, '.', '-' and '_'", name)
	case n == 0:
		r.wrong(here, "pool %s has no window: add 24h: and day: with the limit", name)
	case n > protocol.MaxWindows:
		r.wrong(here, "pool %s has %d windows: at most %d are counted", name, n, protocol.MaxWindows)
	}
	for _, w := range slices.Sorted(maps.Keys(windows)) {
		window, err := ParseWindow(w)
		if err != nil {
			r.wrong(here.of(w), "%v", err)
		}
		var ok bool
		if window.Limit, ok = wholeNumber(windows[w].Text); !ok {
			r.wrong(here.of(w), "limit %q of pool %s is not a whole number in 1..%d", windows[w].Text, name, int64(MaxLimit))
		}
		p.Windows = append(p.Windows, window)
	}
	return p
}

func (r *costsReader) share(text string, at place) Share {
	share, err := parseShare(text)
	if err != nil {
		r.wrong(at, "%s: %v", at[len(at)-1], err)
	}
	return share
}

func (r *costsReader) duration(text string, longest time.Duration, at place) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > longest {
		r.wrong(at, "%s: %q is not a duration of 0s..%v", at[len(at)-1], text, longest)
	}
	return d
}

// wholeNumber reads an amount of 1 to MaxLimit.
func wholeNumber(text strictyaml.Text) (amount int64, ok bool) {
	amount, err := strconv.ParseInt(string(text), 10, 64)
	return amount, err == nil && amount >= 1 && amount <= MaxLimit
}

func purposeNames() []string {
	var names []string
	for _, p := range Purposes() {
		names = append(names, string(p))
	}
	return names
}

func oneOf[V any](m map[string]V) string {
	return "use one of " + strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

var dayOrMonth = regexp.MustCompile(`^[0-9]{4}-(0[1-9]|1[0-2])(-[0-3][0-9])?$`)

func (r *costsReader) policy(clauses map[string]terms.Clause, here place) map[string]terms.Clause {
	for _, name := range slices.Sorted(maps.Keys(clauses)) {
		at, c := here.of(name), clauses[name]
		counts := name == terms.Retention || name == terms.UnusedQuota
		switch {
		case !slices.Contains(terms.Names(), name):
			r.wrong(at, "unknown clause %q: %s", name, strictyaml.Suggest(name, terms.Names()))
		case !strings.HasPrefix(c.Source, "https://"):
			r.wrong(at.of("source"), "source: %q is not the https address where the clause stands", c.Source)
		case !dayOrMonth.MatchString(c.Read):
			r.wrong(at.of("read"), "read: %q is not the month or day when the clause was read, such as 2026-11", c.Read)
		case counts != (c.Days > 0) || c.Days < 0:
			r.wrong(at.of("days"), "days: %d: clauses %s and %s need a number of days above 0, the others take none",
				c.Days, terms.Retention, terms.UnusedQuota)
		}
	}
	return clauses
}
