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
)

// costsFile mirrors costs.yaml.
type costsFile struct {
	Version   int                     `yaml:"version"`
	Upstreams map[string]upstreamFile `yaml:"upstreams"`
}

type upstreamFile struct {
	Zone     string                `yaml:"zone"`
	Table    string                `yaml:"table"`
	Grace    string                `yaml:"grace"`
	ClockGap string                `yaml:"clock_gap"`
	Bursts   string                `yaml:"bursts"`
	Ceilings map[string]string     `yaml:"ceilings"`
	Failure  failureFile           `yaml:"failure"`
	Policy   map[string]clauseFile `yaml:"policy"`
	Tables   map[string]tableFile  `yaml:"tables"`
}

type failureFile struct {
	OpenAtMost string `yaml:"open_at_most"`
	Emergency  string `yaml:"emergency"`
	Settle     string `yaml:"settle"`
}

type tableFile struct {
	Pools   map[string]map[string]strictyaml.Text `yaml:"pools"`
	Methods map[string]map[string]strictyaml.Text `yaml:"methods"`
}

// ParseCosts reads costs.yaml and returns the tariff of one upstream under one of its tables; table
// "" is the one that the file chooses. The whole file is checked, whichever part is asked for. A
// mistake is a *strictyaml.PositionError that names the file as name.
func ParseCosts(name string, data []byte, upstream, table string) (*Tariff, error) {
	var file costsFile
	tree, err := strictyaml.Decode(name, data, &file)
	if err != nil {
		return nil, err
	}
	r := costsReader{yaml: tree}
	if file.Version != 1 {
		return nil, tree.Errorf([]string{"version"}, "version %d is not known to this program: use version: 1", file.Version)
	}
	tariffs := map[string]map[string]*Tariff{}
	for _, up := range slices.Sorted(maps.Keys(file.Upstreams)) {
		if tariffs[up], err = r.upstream(up, file.Upstreams[up]); err != nil {
			return nil, err
		}
	}
	tables, ok := tariffs[upstream]
	if !ok {
		return nil, tree.Errorf([]string{"upstreams"}, "upstream %q has no costs here: %s", upstream, oneOf(tariffs))
	}
	if table == "" {
		table = file.Upstreams[upstream].Table
	}
	t, ok := tables[table]
	if !ok {
		return nil, tree.Errorf([]string{"upstreams", upstream, "tables"}, "table %q does not exist: %s", table, oneOf(tables))
	}
	return t, nil
}

// namesAZone refuses the names by which time.LoadLocation finds what this machine is set to, or a clock that counts
// leap seconds, which no provider's does.
func namesAZone(name string) bool {
	switch name {
	case "", "Local", "localtime", "posixrules":
		return false
	}
	return !strings.HasPrefix(name, "right/")
}

// costsReader checks what the strict decoding cannot.
type costsReader struct{ yaml *strictyaml.Document }

func (r costsReader) upstream(name string, u upstreamFile) (map[string]*Tariff, error) {
	at := []string{"upstreams", name}
	base := Tariff{Upstream: name, Ceilings: map[Purpose]Share{}}
	var err error
	if base.Zone, err = time.LoadLocation(u.Zone); err != nil || !namesAZone(u.Zone) {
		return nil, r.yaml.Errorf(append(at, "zone"), "zone %q is not a time zone: use a name like America/Los_Angeles", u.Zone)
	}
	if base.Grace, err = r.duration(u.Grace, 10*time.Minute, append(at, "grace")); err != nil {
		return nil, err
	}
	if base.ClockGap, err = r.duration(cmp.Or(u.ClockGap, usualGap.String()), MaxClockGap, append(at, "clock_gap")); err != nil {
		return nil, err
	}
	switch u.Bursts {
	case "", "charged":
	case "free":
		base.FreeBursts = true
	default:
		return nil, r.yaml.Errorf(append(at, "bursts"), "bursts: %q is not known: use charged, or free where the provider does not charge what it refuses for its rate", u.Bursts)
	}
	for _, p := range slices.Sorted(maps.Keys(u.Ceilings)) {
		if Purpose(p).Check() != nil {
			return nil, r.yaml.Errorf(append(at, "ceilings", p), "unknown purpose %q: %s", p, strictyaml.Suggest(p, purposeNames()))
		}
		if base.Ceilings[Purpose(p)], err = r.share(u.Ceilings[p], append(at, "ceilings", p)); err != nil {
			return nil, err
		}
	}
	for _, p := range Purposes() {
		if base.Ceilings[p] == 0 {
			return nil, r.yaml.Errorf(append(at, "ceilings"), "purpose %s has no ceiling: add one, such as %s: 95%%", p, p)
		}
	}
	if base.Failure, err = r.failure(u.Failure, append(at, "failure")); err != nil {
		return nil, err
	}
	if base.Policy, err = r.policy(u.Policy, append(at, "policy")); err != nil {
		return nil, err
	}
	if len(u.Tables) == 0 {
		return nil, r.yaml.Errorf(at, "no tables: a table names pools and methods")
	}
	if _, ok := u.Tables[u.Table]; !ok {
		return nil, r.yaml.Errorf(append(at, "table"), "table %q does not exist: %s", u.Table, oneOf(u.Tables))
	}
	out := map[string]*Tariff{}
	for _, name := range slices.Sorted(maps.Keys(u.Tables)) {
		t := base
		t.Table = name
		if err := r.table(&t, u.Tables[name], append(slices.Clone(at), "tables", name)); err != nil {
			return nil, err
		}
		out[name] = &t
	}
	return out, nil
}

func (r costsReader) failure(f failureFile, at []string) (Failure, error) {
	open, err1 := r.share(f.OpenAtMost, append(at, "open_at_most"))
	emergency, err2 := r.share(f.Emergency, append(at, "emergency"))
	settle, err3 := r.duration(f.Settle, 24*time.Hour, append(at, "settle"))
	return Failure{OpenAtMost: open, Emergency: emergency, Settle: settle}, cmp.Or(err1, err2, err3)
}

func (r costsReader) table(t *Tariff, f tableFile, at []string) error {
	if len(f.Pools) == 0 {
		return r.yaml.Errorf(at, "no pools: a pool is something the provider counts, such as units: {24h: 10000, day: 10000}")
	}
	if n := len(f.Pools); n > MaxPools {
		return r.yaml.Errorf(append(at, "pools"), "%d pools: at most %d are counted", n, MaxPools)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Pools)) {
		pool, err := r.pool(name, f.Pools[name], append(slices.Clone(at), "pools", name))
		if err != nil {
			return err
		}
		t.Pools = append(t.Pools, pool)
	}
	t.Methods, t.Routes = map[string]Cost{}, map[string]string{}
	for _, method := range slices.Sorted(maps.Keys(f.Methods)) {
		here := append(slices.Clone(at), "methods", method)
		err := r.route(t, method, f, here)
		if err != nil {
			return err
		}
		if len(f.Methods[method]) == 0 {
			return r.yaml.Errorf(here, "method %s costs nothing: every call costs something", method)
		}
		if t.Methods[method], err = r.cost(method, f, here); err != nil {
			return err
		}
	}
	return nil
}

// routeField, among the pools of a method, says how the method is called.
const routeField = "route"

var routePattern = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE) (/[A-Za-z0-9:._-]+|/\{[a-z]+\})+$`)

// route reads how a method is called, if that is said, and takes it out of what is read as pools.
func (r costsReader) route(t *Tariff, method string, f tableFile, at []string) error {
	route, ok := f.Methods[method][routeField]
	if !ok {
		return nil
	}
	if other, taken := t.Routes[string(route)]; taken {
		return r.yaml.Errorf(append(at, routeField), "route %q is that of %s already: one route names one method", route, other)
	}
	if !routePattern.MatchString(string(route)) {
		return r.yaml.Errorf(append(at, routeField), "route %q: use a method and a path, such as GET /youtube/v3/videos", route)
	}
	t.Routes[string(route)] = method
	delete(f.Methods[method], routeField)
	return nil
}

func (r costsReader) cost(method string, f tableFile, at []string) (Cost, error) {
	pools := slices.Sorted(maps.Keys(f.Pools))
	cost := Cost{}
	for _, pool := range slices.Sorted(maps.Keys(f.Methods[method])) {
		here := append(slices.Clone(at), pool)
		if !slices.Contains(pools, pool) {
			return nil, r.yaml.Errorf(here, "unknown pool %q: %s", pool, strictyaml.Suggest(pool, pools))
		}
		amount, ok := wholeNumber(f.Methods[method][pool])
		if !ok {
			return nil, r.yaml.Errorf(here, "method %s costs %q of %s: a cost is a whole number of at least 1", method, f.Methods[method][pool], pool)
		}
		cost[pool] = amount
	}
	return cost, nil
}

func (r costsReader) pool(name string, windows map[string]strictyaml.Text, at []string) (Pool, error) {
	if err := CheckAccount(name); err != nil {
		return Pool{}, r.yaml.Errorf(at, "pool %q: use letters, digits, '.', '-' and '_'", name)
	}
	if len(windows) == 0 {
		return Pool{}, r.yaml.Errorf(at, "pool %s has no window: add 24h: and day: with the limit", name)
	}
	if n := len(windows); n > MaxWindows {
		return Pool{}, r.yaml.Errorf(at, "pool %s has %d windows: at most %d are counted", name, n, MaxWindows)
	}
	p := Pool{Name: name, Line: r.yaml.Line(at)}
	for _, w := range slices.Sorted(maps.Keys(windows)) {
		window, err := ParseWindow(w)
		if err != nil {
			return Pool{}, r.yaml.Errorf(append(at, w), "%v", err)
		}
		var ok bool
		if window.Limit, ok = wholeNumber(windows[w]); !ok {
			return Pool{}, r.yaml.Errorf(append(at, w), "limit %q of pool %s is not a whole number in 1..%d", windows[w], name, int64(MaxLimit))
		}
		p.Windows = append(p.Windows, window)
	}
	return p, nil
}

func (r costsReader) share(s string, at []string) (Share, error) {
	share, err := ParseShare(s)
	if err != nil {
		return 0, r.yaml.Errorf(at, "%s: %v", at[len(at)-1], err)
	}
	return share, nil
}

func (r costsReader) duration(s string, longest time.Duration, at []string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > longest {
		return 0, r.yaml.Errorf(at, "%s: %q is not a duration of 0s..%v", at[len(at)-1], s, longest)
	}
	return d, nil
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
