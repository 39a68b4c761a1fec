// Package policy says which of the provider's terms an installation keeps. The clauses, with their sources, are in
// costs.yaml; the caller states the facts. It reads nothing itself.
package policy

import (
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/terms"
)

// Facts are the facts of an installation that Judge needs. Judge looks nothing up itself.
type Facts struct {
	Account     string
	Others      []string  // other accounts that the same data directory spends of the same pools
	Reachable   string    // the address where others can reach the fetched data; "": none
	OwnFrontEnd bool      // the user says that it is for their own front end
	NoMetrics   bool      // nothing is computed from the provider's figures
	Copies      []string  // of the store, older than allowed
	Searched    []string  // the directories that were searched for copies
	Unread      []string  // directories that could not be searched
	LastUsed    time.Time // when quota was last spent; zero: never
	NoStore     error     // why that is not known
	Now         time.Time
}

// Status is whether a clause is kept.
type Status string

// The statuses.
const (
	Kept    Status = "kept"
	NotKept Status = "not kept"
	Yours   Status = "yours" // the program cannot know: the user has to see to it
)

// Verdict is the judgement on one clause.
type Verdict struct {
	Clause string `json:"clause"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Advice string `json:"advice"` // what to do if it is not kept
	Source string `json:"source"`
	Read   string `json:"read"` // when it was read there

	refused bool // nothing may be done before it is kept
}

// String returns the verdict in one line.
func (v Verdict) String() string { return v.Clause + ": " + string(v.Status) + ": " + v.Detail }

// Judge judges the given clauses, in the order of terms.Names. It judges terms.OneProject without a clause too if
// another account was spent: a renamed account would begin at 0.
func Judge(clauses map[string]terms.Clause, f Facts) []Verdict {
	verdicts := []Verdict{}
	for _, name := range terms.Names() {
		if c, ok := clauses[name]; ok || name == terms.OneProject && len(f.Others) > 0 {
			v := judges[name](c, f)
			v.Clause, v.Source, v.Read = name, c.Source, c.Read
			verdicts = append(verdicts, v)
		}
	}
	return verdicts
}

// Refusal returns why nothing may be done, or nil.
func Refusal(verdicts []Verdict) error {
	for _, v := range verdicts {
		switch {
		case v.refused && v.Source == "":
			return fmt.Errorf("%s: %s", v.Detail, v.Advice)
		case v.refused:
			return fmt.Errorf("%s: %s (policy %s: %s, read %s)", v.Detail, v.Advice, v.Clause, v.Source, v.Read)
		}
	}
	return nil
}

var judges = map[string]func(terms.Clause, Facts) Verdict{
	terms.OneProject:     oneProject,
	terms.Retention:      retention,
	terms.DerivedMetrics: derivedMetrics,
	terms.Attribution:    attribution,
	terms.OwnFrontEnd:    ownFrontEnd,
	terms.UnusedQuota:    unusedQuota,
}

func oneProject(_ terms.Clause, f Facts) Verdict {
	if len(f.Others) > 0 {
		return Verdict{Status: NotKept, refused: true,
			Detail: fmt.Sprintf("account %s and account %s spend from one data directory, as if they were two projects",
				f.Account, strings.Join(f.Others, ", ")),
			Advice: fmt.Sprintf("write account: %s, also if the project was renamed: the name is the ledger's own, "+
				"and can change once its last calls are a day old; for more quota see ingest quota audit-report", f.Others[0])}
	}
	return Verdict{Status: Kept, Detail: "all calls are counted on account " + f.Account}
}

// keepDays is the age in days at which stored data is deleted, unless it was fetched again.
const keepDays = int(ingest.KeepFor / (24 * time.Hour))

func retention(c terms.Clause, f Facts) Verdict {
	const shown = 3
	if c.Days < keepDays {
		return Verdict{Status: NotKept,
			Detail: fmt.Sprintf("data is stored for %d days, and the clause allows %d", keepDays, c.Days),
			Advice: "ask the provider whether that suits it: this program cannot delete earlier"}
	}
	if n := len(f.Copies); n > 0 {
		list := strings.Join(f.Copies[:min(n, shown)], ", ")
		if n > shown {
			list += fmt.Sprintf(" and %d more", n-shown)
		}
		return Verdict{Status: NotKept,
			Detail: fmt.Sprintf("copies of the store that are older than %d days: %s", c.Days, list),
			Advice: "ingest backup --expire deletes backups that ingest backup DIRECTORY has named; delete the others by hand"}
	}
	if len(f.Unread) > 0 {
		return Verdict{Status: Yours, Detail: "cannot look for old copies in " + strings.Join(f.Unread, ", ")}
	}
	return Verdict{Status: Kept, Detail: fmt.Sprintf("data older than %d days is deleted, "+
		"and no copy is older than %d days in %s", keepDays, c.Days, strings.Join(f.Searched, ", "))}
}

func derivedMetrics(_ terms.Clause, f Facts) Verdict {
	if f.NoMetrics {
		return Verdict{Status: Kept, Detail: "derived_metrics: off, nothing is computed from the provider's figures"}
	}
	return Verdict{Status: Yours, Detail: "ranks moved and views gained are computed from the provider's figures: " +
		"accept the amendment that its page describes before you show them to others"}
}

func attribution(_ terms.Clause, f Facts) Verdict {
	if f.Reachable == "" {
		return Verdict{Status: Kept, Detail: "only this machine sees the pages"}
	}
	return Verdict{Status: Yours,
		Detail: "your front end has to say that its data is from the provider, and link to each video there"}
}

func ownFrontEnd(_ terms.Clause, f Facts) Verdict {
	switch {
	case f.Reachable == "":
		return Verdict{Status: Kept, Detail: "only this machine can ask for what was fetched"}
	case f.OwnFrontEnd:
		return Verdict{Status: Yours, Detail: fmt.Sprintf("others can reach %s: own_front_end: "+
			"true says that they do so by your own front end, and that you sell no access", f.Reachable)}
	}
	return Verdict{Status: NotKept, refused: true, Detail: fmt.Sprintf("others can reach %s", f.Reachable),
		Advice: "listen on 127.0.0.1; or, if it serves a front end of your own and you sell no access to it, " +
			"say so with own_front_end: true"}
}

func unusedQuota(c terms.Clause, f Facts) Verdict {
	last := f.LastUsed.UTC().Format(time.DateOnly)
	switch {
	case f.NoStore != nil:
		return Verdict{Status: Yours, Detail: "the store cannot be read, which knows when quota was last used"}
	case f.LastUsed.IsZero():
		return Verdict{Status: Kept, Detail: "nothing was fetched from here yet"}
	case f.Now.Before(f.LastUsed.AddDate(0, 0, c.Days)):
		return Verdict{Status: Kept, Detail: "quota was last used on " + last}
	}
	return Verdict{Status: NotKept,
		Detail: fmt.Sprintf("no quota was used since %s, and after %d days the provider may take it back", last, c.Days),
		Advice: "run ingest, and see the quota of your project in the provider's console"}
}
