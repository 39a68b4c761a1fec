// Package terms names the clauses of the provider's terms that costs.yaml may state.
package terms

// Clause is one of the provider's terms that access to the quota depends on.
type Clause struct {
	Source string `yaml:"source"` // its https address
	Read   string `yaml:"read"`   // when it was read there: 2026-11 or 2026-11-23
	Days   int    `yaml:"days"`   // the clause's period; 0: it has none
}

// The clauses that costs.yaml may name. Others are not checked.
const (
	OneProject     = "one_project"     // all calls of a client are made for one project
	Retention      = "retention"       // data is fetched again or deleted within Days
	DerivedMetrics = "derived_metrics" // figures computed from the provider's need its consent
	Attribution    = "attribution"     // the source is shown with the data
	OwnFrontEnd    = "own_front_end"   // access to the data is not given to others
	UnusedQuota    = "unused_quota"    // quota that is not used for Days may be taken back
)

// Names returns the names of the clauses, in the order of the screen.
func Names() []string {
	return []string{OneProject, Retention, DerivedMetrics, Attribution, OwnFrontEnd, UnusedQuota}
}
