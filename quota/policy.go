package quota

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest/internal/strictyaml"
)

// Clause is one of the provider's terms on which the quota hangs.
type Clause struct {
	Source string // the address where it stands
	Read   string // the month or the day on which it was read there, such as 2026-11
	Days   int    // that it speaks of; 0: of none
}

// The clauses that costs.yaml may name. One that it does not name is not looked at.
const (
	OneProject     = "one_project"     // all calls of a client are made for one project
	Retention      = "retention"       // what was fetched is fetched again, or deleted, within Days
	DerivedMetrics = "derived_metrics" // figures that are computed from the provider's need its consent
	Attribution    = "attribution"     // whoever sees the data sees where it is from
	OwnFrontEnd    = "own_front_end"   // access to the data is not given to others
	UnusedQuota    = "unused_quota"    // quota that is not used for Days may be taken back
)

// Clauses returns the names of the clauses, in the order in which they are shown.
func Clauses() []string {
	return []string{OneProject, Retention, DerivedMetrics, Attribution, OwnFrontEnd, UnusedQuota}
}

type clauseFile struct {
	Source string `yaml:"source"`
	Read   string `yaml:"read"`
	Days   int    `yaml:"days"`
}

var dayOrMonth = regexp.MustCompile(`^[0-9]{4}-(0[1-9]|1[0-2])(-[0-3][0-9])?$`)

func (r costsReader) policy(file map[string]clauseFile, at []string) (map[string]Clause, error) {
	clauses := map[string]Clause{}
	for _, name := range slices.Sorted(maps.Keys(file)) {
		here, c := append(slices.Clone(at), name), file[name]
		counts := name == Retention || name == UnusedQuota
		switch {
		case !slices.Contains(Clauses(), name):
			return nil, r.yaml.Errorf(here, "unknown clause %q: %s", name, strictyaml.Suggest(name, Clauses()))
		case !strings.HasPrefix(c.Source, "https://"):
			return nil, r.yaml.Errorf(append(here, "source"), "source: %q is not the https address where the clause stands", c.Source)
		case !dayOrMonth.MatchString(c.Read):
			return nil, r.yaml.Errorf(append(here, "read"), "read: %q is not when the clause was read there, such as 2026-11 or 2026-11-23", c.Read)
		case counts != (c.Days > 0) || c.Days < 0:
			return nil, r.yaml.Errorf(append(here, "days"), "days: %d: %s and %s have a number of days above 0, the others have none", c.Days, Retention, UnusedQuota)
		}
		clauses[name] = Clause(c)
	}
	return clauses, nil
}
