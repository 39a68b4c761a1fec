// Package ingest holds the nouns of the program: the fetched data (Region, Video, Page), when (Job, Slot) and how it
// ended (State). It imports no other package of the program, and all may import it.
//
// Data flows one way: tick -> slot -> pass -> take -> call -> save -> search.
package ingest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Region is an ISO 3166-1 alpha-2 country code in upper case, "US". Package regions parses one.
type Region string

// Video is one video as an upstream describes it, verbatim: no text is trimmed or escaped.
type Video struct {
	ID          string
	Title       string
	Channel     string // the channel's display name
	ChannelID   string
	Category    string // the upstream's category id, "10" for music on YouTube
	Language    string // BCP 47, as the upstream gives it; "" if unknown
	Thumbnail   string // an https URL; "" when there is none
	PublishedAt time.Time
	Duration    time.Duration // whole seconds; 0 while Live
	Live        bool          // a live or upcoming broadcast, which has no duration yet
	Tags        []string      // in the upstream's order
	Description string        // "" unless the config asks for descriptions

	// Counts are nil when the upstream withholds them, which is not the same as zero.
	Views, Likes, Comments *int64
}

// Page is one answer of an upstream list: its videos in the upstream's order, and the token of the next page, "" on
// the last.
type Page struct {
	Videos    []Video
	Next      string
	Malformed Malformed
}

// Malformed counts the parts of an answer that were left out because they made no sense: the number of videos with
// such a field, by the upstream's name for it. "id" counts the videos left out entirely. Nil means none.
type Malformed map[string]int

// Count counts the field for one more video.
func (o *Malformed) Count(field string) { o.Add(Malformed{field: 1}) }

// Add adds the counts of others.
func (o *Malformed) Add(others Malformed) {
	for field, n := range others {
		if *o == nil {
			*o = Malformed{}
		}
		(*o)[field] += n
	}
}

// LeftOut sets the number of videos left out.
func (o *Malformed) LeftOut(n int) {
	delete(*o, "id")
	if n > 0 {
		o.Add(Malformed{"id": n})
	}
}

// String describes the counts in one line for a person; "" if nothing was left out.
func (o Malformed) String() string {
	var parts []string
	for _, field := range slices.Sorted(maps.Keys(o)) {
		if field != "id" {
			parts = append(parts, fmt.Sprintf("%s of %d", field, o[field]))
		}
	}
	said := ""
	if n := o["id"]; n > 0 {
		said = fmt.Sprintf("left out, without a usable id: %d; ", n)
	}
	if len(parts) > 0 {
		said += "left out as it made no sense: " + strings.Join(parts, ", ")
	}
	return strings.TrimSuffix(said, "; ")
}

// Query describes a search by an upstream, which costs quota. A search of the stored videos is a store.SearchQuery.
type Query struct {
	Text        string
	Region      Region    // where the videos may be watched; "" is anywhere
	Channel     string    // the upstream's channel id; "" is any
	Category    string    // "" or "0" is any
	After       time.Time // published at this time or later; zero: no bound
	Before      time.Time // and before this time; zero: no bound
	NewestFirst bool      // else by the upstream's relevance
}

// Found is one answer of a search or of a list of uploads: only ids, as such answers say too little about a video to
// store it. Results may repeat, within a page and across pages.
type Found struct {
	IDs       []string
	Next      string    // the token of the next page, "" on the last
	Total     int       // the upstream's estimate of all results, unreliable; 0: none
	Newest    time.Time // when the newest was published; zero unless known for all
	Malformed Malformed
}

// Channel is a channel as an upstream describes it.
type Channel struct {
	ID      string
	Title   string
	Uploads string // the name of its list of videos, for the upstream's Uploads call
	Videos  *int64 // the upstream's count of public ones; nil if unknown
}

// Category is one of the upstream's categories, with its name in a region.
type Category struct{ ID, Name string }

// Counts is the part of a video that changes from hour to hour. A fetch.Counter fetches it alone.
type Counts struct {
	ID                     string
	Views, Likes, Comments *int64    // nil if the upstream withholds them
	Malformed              Malformed // of the whole answer; only in its first element
}

// Placement is one video's place in one region's chart at one slot, with the whole video. For events see Place.
type Placement struct {
	Rank  int // from 1, counted over the pages of the pass
	Video Video
}

// RefreshAfter and KeepFor bound the age of stored upstream data: the YouTube API Services Developer Policies,
// III.E.4.d, require it to be refreshed or deleted within 30 calendar days. One day is left in case the machine was
// off.
const (
	RefreshAfter = 25 * 24 * time.Hour
	RefreshEarly = 5 * 24 * time.Hour // before RefreshAfter, a refresh begins if one day has too much of it
	KeepFor      = 29 * 24 * time.Hour
)

// ClockAhead bounds trust in a clock: it is the largest trusted gap between this machine's clock and the clocks it is
// checked against, and between this clock and a later due time of a slot.
const ClockAhead = 10 * time.Minute

// SlotKey names a slot: a piece of a job's work that must happen once. DueAt is in UTC, whole seconds.
type SlotKey struct {
	Job string
	// a region's code, one of a job's queries, or a channel; "" for a job without these, and for the look-ups of uploads
	Key   string
	DueAt time.Time
}

// Slot is one row of the table of all work that must happen once, with its progress.
type Slot struct {
	SlotKey
	Kind  Kind
	State State

	// Owner and Attempt are the fence: a write counts only while the row still has both.
	Owner   string
	Attempt int
	Lease   time.Time // when the claim may be taken over by another owner

	Token   string    // the next page's token, where a stopped pass resumes; "" is page 1
	TokenAt time.Time // when Token was given
	Pages   int       // pages saved so far
	Videos  int       // placements saved so far
	Units   int64     // charged so far, over all attempts: for each call, its cost in its most expensive pool

	// Charges is the amount that this slot's calls drew from each pool, over all attempts: pool -> amount, without
	// zeros. Copies of a Slot share the map, so Charge and Refund replace it instead of changing it.
	Charges map[string]int64

	// Emergency is the part of Charges that its machine drew on its own emergency budget, while the ledger could not
	// answer: the ledger counts it when that machine reaches it again.
	Emergency map[string]int64

	// Tries counts the claims in a row that brought nothing, including the current one. Claims ended by quota or by a
	// stop of the run do not count.
	Tries int

	// Usual is, for a done chart, the median number of videos in the last ten charts before it that had any; 0: there
	// was none, or the job set where the chart ends.
	Usual int

	// Count is how many consecutive ticks a missed slot stands for, the first at FirstDueAt and the last at DueAt. 0,
	// with a zero FirstDueAt, means one, as in every other state.
	Count      int
	FirstDueAt time.Time

	Listing *Listing // of a piece: nil leaves the stored one unchanged
	Unsaved int64    // of a piece: units of calls whose answers were not saved yet

	Reason    string    // why it is not done, in one line for a person
	RetryAt   time.Time // when a stopped slot may find quota: advice, not a gate; until when a due piece waits
	FetchedAt time.Time // when the last page was saved
}

// Series returns the series that the slot belongs to.
func (k SlotKey) Series() Series { return Series{k.Job, k.Key} }

// Latest holds the newest slots of each series of the schedule: one read answers how fresh all of it is.
type Latest struct {
	Done  map[Series]Slot // done
	Ended map[Series]Slot // ended with any outcome
	Open  map[Series]Slot // due or claimed

	Short map[Series]Shortage // the series whose newest done slot is short

	Hooks map[string]HookState // by name
}

// Shortage is a series whose charts came back short.
type Shortage struct {
	Whole Slot // the newest done one that is not short; zero: there is none
	Since Slot // the oldest done one after it
}

// Whole returns the newest done slot of a series that is not short; zero if there is none.
func (l Latest) Whole(series Series) Slot {
	if short, ok := l.Short[series]; ok {
		return short.Whole
	}
	return l.Done[series]
}

// Known returns the due time of each series' newest slot, in any state.
func (l Latest) Known() map[Series]time.Time {
	known := map[Series]time.Time{}
	for _, slots := range []map[Series]Slot{l.Done, l.Ended, l.Open} {
		for series, slot := range slots {
			if slot.DueAt.After(known[series]) {
				known[series] = slot.DueAt
			}
		}
	}
	return known
}

// LastFetch returns when anything was last fetched, as far as the slots say; zero: never.
func (l Latest) LastFetch() time.Time {
	var last time.Time
	for _, slots := range []map[Series]Slot{l.Done, l.Ended, l.Open} {
		for _, slot := range slots {
			if slot.FetchedAt.After(last) {
				last = slot.FetchedAt
			}
		}
	}
	return last
}

// Claim says which slots a run wants, and how long it holds them.
type Claim struct {
	Owner  string
	Now    time.Time
	Lease  time.Duration
	Series map[Series]bool  // only these; nil: all
	Except map[SlotKey]bool // not these: this run has claimed them before

	Backfill string // only pieces of the backfill with this id; "": slots of the schedule, never a piece
	Reversed bool   // the backfill's last piece first
	Patient  bool   // no piece that waits (Slot.RetryAt)
}

// ErrFenced is returned for a write by a claim that another run has taken over or that has ended. Nothing was written.
var ErrFenced = errors.New("the slot was taken over by another run")

// Charge records a call that drew these amounts, by pool, on the ledger or on the emergency budget.
func (s *Slot) Charge(pools map[string]int64, emergency bool) { s.charge(pools, emergency, 1) }

// Refund undoes the Charge of a call.
func (s *Slot) Refund(pools map[string]int64, emergency bool) { s.charge(pools, emergency, -1) }

func (s *Slot) charge(pools map[string]int64, emergency bool, sign int64) {
	most := int64(0)
	for _, amount := range pools {
		most = max(most, amount)
	}
	s.Units, s.Charges = s.Units+sign*most, plus(s.Charges, pools, sign)
	if emergency {
		s.Emergency = plus(s.Emergency, pools, sign)
	}
}

// plus returns a new map of the sums, or of the differences if sign is -1, without zeros.
func plus(a, b map[string]int64, sign int64) map[string]int64 {
	sum := map[string]int64{}
	maps.Copy(sum, a)
	for pool, amount := range b {
		sum[pool] += sign * amount
	}
	maps.DeleteFunc(sum, func(_ string, amount int64) bool { return amount == 0 })
	return sum
}

// Counted returns the part of Charges that the ledger counted before the calls were made.
func (s Slot) Counted() map[string]int64 { return plus(s.Charges, s.Emergency, -1) }

// Ticks returns the due times that the slot stands for, oldest first: its own, or the times of consecutive missed
// ticks, assumed to be evenly spaced.
func (s Slot) Ticks() []time.Time {
	if s.Count < 2 {
		return []time.Time{s.DueAt}
	}
	ticks, first := make([]time.Time, s.Count), s.FirstDueAt.Unix()
	for i := range ticks {
		ticks[i] = time.Unix(first+(s.DueAt.Unix()-first)*int64(i)/int64(s.Count-1), 0).UTC()
	}
	return ticks
}

// TicksSince returns the slot without its ticks due before t, but always with the last one.
func (s Slot) TicksSince(t time.Time) Slot {
	ticks := s.Ticks()
	for len(ticks) > 1 && ticks[0].Before(t) {
		ticks = ticks[1:]
	}
	if s.Count, s.FirstDueAt = len(ticks), ticks[0]; s.Count == 1 {
		s.Count, s.FirstDueAt = 0, time.Time{}
	}
	return s
}

// Region returns the region of a chart slot.
func (k SlotKey) Region() Region { return Region(k.Key) }

// ChargedRegion returns the region that the ledger counts a slot's calls for: the region of a chart or of a search,
// unless the search has a list of queries. The pass that pays for a slot and the audit of its payment both ask here.
func (s Slot) ChargedRegion() Region {
	if s.Kind == KindChart || s.Kind == KindSearch && isCode(s.Key) {
		return s.Region()
	}
	return ""
}

// State is where a slot is: due, claimed, or one of the outcomes.
type State string

// The states of a slot. Those after Claimed are outcomes, with the same names in rows, JSON, metrics and exit codes.
const (
	Due     State = "due"
	Claimed State = "claimed"

	Done    State = "done"
	Stopped State = "stopped" // by quota; may be claimed again until a newer slot of its job and key exists
	Failed  State = "failed"
	Skipped State = "skipped" // superseded by a newer slot, or by policy; the reason says which
	Missed  State = "missed"  // nothing ran while it was the newest
)

// CopiedTable is a table with the same rows in two stores.
type CopiedTable struct {
	Table string `json:"table"`
	Rows  int    `json:"rows"`
	Hash  string `json:"hash"` // of the rows; the same in every database and any order
}

// Backup is a complete copy of a store as of one moment, with its numbers of rows.
type Backup struct {
	Path       string `json:"file"`
	Bytes      int64  `json:"bytes"`
	Videos     int64  `json:"videos"`
	Placements int64  `json:"placements"`
	Slots      int64  `json:"slots"`
}

// Kept is how much of the fetched data is kept.
type Kept struct {
	Videos int64     `json:"videos"`
	Charts int64     `json:"charts"`
	Oldest time.Time `json:"-"` // fetch: a chart's exact time, a video's day in UTC; zero: nothing is kept
}
