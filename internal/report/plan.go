package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// PlanDocument is the plan of a backfill: the request, its progress, and its price.
type PlanDocument struct {
	PlanLine

	Order     ingest.Order `json:"order,omitempty"`
	CreatedAt time.Time    `json:"created_at"`
	Cancelled *time.Time   `json:"cancelled_at"`
	Table     string       `json:"cost_table"` // that the price is from
	Under     string       `json:"planned_under"`

	Known        int        `json:"known"`    // left out because they had just been fetched
	GivenUp      int        `json:"given_up"` // ids that cannot be looked up
	Waiting      int        `json:"waiting"`  // ids found but not yet looked up
	PaidTwice    int        `json:"again"`    // pages paid for again, because the upstream refused their token
	RetryAt      *time.Time `json:"retry_at"`
	LastAt       *time.Time `json:"last_at"`
	ClaimedUntil *time.Time `json:"claimed_until,omitempty"` // when claimed pieces are due again if their run has died

	Failures   []ingest.PieceFailure   `json:"failures,omitempty"`
	Incomplete []PlanLack              `json:"incomplete"`            // pieces that ended with less than there is
	Confirmed  map[string]int64        `json:"confirmed,omitempty"`   // by pool: the total that a person agreed to spend
	Exhausted  bool                    `json:"exhausted,omitempty"`   // all of that is spent: it waits for a person
	Lost       int64                   `json:"lost_units,omitempty"`  // the part of units spent by calls whose run died
	Upkeep     budget.Upkeep           `json:"upkeep"`                // later cost of the videos
	RetryCost  int64                   `json:"retry_units,omitempty"` // approximate cost of retry
	RepeatCost int64                   `json:"again_units,omitempty"` // approximate cost of --again
	Price      map[string]budget.Range `json:"price"`                 // of the remaining work, by pool
	Assuming   string                  `json:"assuming,omitempty"`
	// for the rest at the rate of the done part; 0: not known
	Likely int64         `json:"likely_units,omitempty"`
	Asked  quota.Cost    `json:"asked,omitempty"` // spent to find out the sizes of channels
	Today  PlanToday     `json:"today"`
	Days   *budget.Range `json:"days"` // the provider's days; null: the schedule leaves too little
	EndsAt *time.Time    `json:"ends_at"`
	Never  string        `json:"never,omitempty"` // why it can never end

	Found    bool           `json:"planned_before,omitempty"`
	IDs      int            `json:"ids,omitempty"` // read just now, without repeats
	Repeated int            `json:"repeated,omitempty"`
	Wrong    int            `json:"wrong_lines,omitempty"`
	Rejected []RejectedLine `json:"rejected,omitempty"` // the first rejected lines
}

// PlanLine is a backfill in the list of all backfills. PlanDocument has all that is known about one.
type PlanLine struct {
	ID       string              `json:"id"`
	Kind     ingest.BackfillKind `json:"kind"`
	What     string              `json:"what"` // in words
	Outcome  ingest.State        `json:"outcome"`
	Wait     bool                `json:"wait"`    // ingest serve may continue it
	Pieces   map[string]int      `json:"pieces"`  // by state, and their total
	Units    int64               `json:"units"`   // spent so far: of each call, the charge to its most expensive pool
	Charges  map[string]int64    `json:"charges"` // spent so far, by pool
	Lacking  int                 `json:"lacking"` // done pieces that brought less than there is
	Videos   int                 `json:"videos"`  // fetched and kept
	Vanished int                 `json:"vanished"`
}

// BackfillDocument is a backfill's progress on the status page. PlanLine is the same for a list.
type BackfillDocument struct {
	ID      string           `json:"id"`
	What    string           `json:"what"`
	Outcome ingest.State     `json:"outcome"`
	Ended   int              `json:"ended"` // pieces that have ended
	Pieces  int              `json:"pieces"`
	Units   int64            `json:"units"`   // the charge to the pool units
	Charges map[string]int64 `json:"charges"` // by pool
}

// PlanToday is the amount that can be spent before the provider's day ends.
type PlanToday struct {
	Until time.Time        `json:"until"`
	Left  map[string]int64 `json:"left"` // for backfills
	Kept  map[string]int64 `json:"kept"` // for the schedule
}

// PlanLack is a piece that ended with less than there is.
type PlanLack struct {
	Piece    string `json:"piece"`
	Stored   int    `json:"stored"`
	Expected *int   `json:"expected"` // approximate; null: not known
	Reason   string `json:"reason"`
}

// NewPlanLack converts a lack to its document.
func NewPlanLack(l ingest.Lack) PlanLack {
	d := PlanLack{Piece: term.Clean(l.Piece), Stored: l.Stored, Reason: term.Clean(l.Reason)}
	if l.Expected > 0 {
		d.Expected = &l.Expected
	}
	return d
}

// String describes it in words: "500 of about 1,500 in @name: its list ends there".
func (l PlanLack) String() string {
	if l.Expected == nil {
		return fmt.Sprintf("%s in %s, and there is more: %s", term.Thousands(int64(l.Stored)), l.Piece, l.Reason)
	}
	return fmt.Sprintf("%s of about %s in %s: %s", term.Thousands(int64(l.Stored)),
		term.Thousands(int64(*l.Expected)), l.Piece, l.Reason)
}

// BackfillText describes a backfill in words.
func BackfillText(b ingest.Backfill) string {
	return requestText(b) + map[ingest.Upkeep]string{ingest.KeepFresh: ", kept fresh",
		ingest.LetGo: ", let go"}[b.Spec.Upkeep]
}

func requestText(b ingest.Backfill) string {
	switch b.Kind {
	case ingest.BackfillUploads:
		const most = 3
		names := b.Spec.Channels
		if len(names) > most {
			return fmt.Sprintf("uploads of %s and %s", strings.Join(names[:most], ", "),
				term.Plural(len(names)-most, "more channel"))
		}
		return "uploads of " + strings.Join(names, ", ")
	case ingest.BackfillSearch:
		q := b.Spec.Query
		what := fmt.Sprintf("search for %q", term.Clean(q.Text))
		if q.Region != "" {
			what += " in " + string(q.Region)
		}
		if !q.After.IsZero() {
			what += fmt.Sprintf(", published from %s until %s", term.Day(q.After), term.Day(q.Before))
		}
		return what
	case ingest.BackfillVideos:
		return "videos by their ids"
	default:
		return "videos last fetched more than " + spanText(b.Spec.OlderThan) + " before"
	}
}

// spanText returns a duration in its largest unit: "7 days", "36 hours", "90m0s".
func spanText(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return term.Plural(int(d/(24*time.Hour)), "day")
	case d%time.Hour == 0:
		return term.Plural(int(d/time.Hour), "hour")
	default:
		return d.String()
	}
}
