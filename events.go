package ingest

import (
	"encoding/json"
	"time"
)

// EventName is the type of an event. A hook receives the types that it lists.
type EventName string

// The events.
const (
	ChartSaved     EventName = "chart.saved"     // a chart is complete: ChartChange
	UploadNew      EventName = "upload.new"      // a watched channel has a new video: Upload
	SeriesStale    EventName = "series.stale"    // a series is older than its schedule allows: Situation.Data
	SeriesFresh    EventName = "series.fresh"    // and is no longer
	QuotaThreshold EventName = "quota.threshold" // a pool has reached a part of its limit: Situation.Data
	BackfillEnded  EventName = "backfill.ended"  // a backfill has no piece left to work on: EndedBackfill
)

// EventNames lists all events.
var EventNames = []EventName{ChartSaved, UploadNew, SeriesStale, SeriesFresh, QuotaThreshold, BackfillEnded}

// KeepEvents and MaxEvents bound the events that wait for a hook: older ones, and all but the newest, are dropped.
const (
	KeepEvents = 3 * 24 * time.Hour
	MaxEvents  = 10_000
)

// Event is a change, for hooks. The store writes it in the transaction of the change.
type Event struct {
	ID   int64  // in the order of the changes
	Key  string // the same for each delivery of the event, and different for each event
	Name EventName
	At   time.Time
	Data json.RawMessage

	Tries int // deliveries to the hook that failed
}

// RoseBy is by how many places a video must have risen to be in ChartChange.Rose.
const RoseBy = 10

// ChartChange compares a chart with the whole one before it in the same series. A first chart, and one that came back
// short, lists nothing.
type ChartChange struct {
	Job       string     `json:"job"`
	Region    string     `json:"region"`
	DueAt     time.Time  `json:"due_at"`
	FetchedAt time.Time  `json:"fetched_at"`
	Before    *time.Time `json:"before"` // when the chart before it was due; null: there is none
	Videos    int        `json:"videos"`
	Short     string     `json:"short,omitempty"` // says how short; "": it is whole
	Entered   []Place    `json:"entered"`
	Left      []Place    `json:"left"`
	Rose      []Place    `json:"rose"` // by RoseBy places or more
}

// Place is a video's place in a chart and in the one before, for a ChartChange. Stored charts have Placements.
type Place struct {
	VideoID string `json:"video_id"`
	Title   string `json:"title"`
	Channel string `json:"channel"`
	Rank    int    `json:"rank,omitempty"` // 0: it left
	Was     int    `json:"was,omitempty"`  // 0: it entered
}

// Upload is the data of UploadNew: a new video of a watched channel.
type Upload struct {
	Job         string    `json:"job"`
	ChannelID   string    `json:"channel_id"`
	Channel     string    `json:"channel"`
	VideoID     string    `json:"video_id"`
	Title       string    `json:"title"`
	PublishedAt time.Time `json:"published_at"`
}

// EndedBackfill is the data of BackfillEnded: how the backfill has ended, and the amounts that it spent.
type EndedBackfill struct {
	ID        string           `json:"id"`
	Kind      BackfillKind     `json:"kind"`
	Cancelled bool             `json:"cancelled"`
	Pieces    map[State]int    `json:"pieces"`
	Charges   map[string]int64 `json:"charges"`
}

// Situation is a state that lasts. Hooks receive an event when it begins and, if Ended names one, when it ends.
type Situation struct {
	Key         string    // unique among situations
	Begun       EventName //
	Ended       EventName // "": its end has no event
	Data, After any       // of the two events
}

// HookState is the progress of the deliveries to a hook, for all processes: the one with the lease sends to it.
type HookState struct {
	On      []EventName `json:"on"`
	Cursor  int64       `json:"cursor"` // the newest event that it received
	Owner   string      `json:"owner,omitempty"`
	Lease   time.Time   `json:"lease,omitzero"` // until then no other process sends to it
	SeenAt  time.Time   `json:"seen_at"`        // when a config last had it, to the hour
	Failing time.Time   `json:"failing,omitzero"`
	Tries   int         `json:"tries,omitempty"` // that failed since
	RetryAt time.Time   `json:"retry_at,omitzero"`
	Why     string      `json:"why,omitempty"`
	Dropped int         `json:"dropped,omitempty"` // events lost since the last delivery
	Waiting int         `json:"-"`                 // events that it has not received yet
}

// HookClaim asks for the next event of a hook.
type HookClaim struct {
	Name  string
	Owner string
	Now   time.Time
	Lease time.Duration
	Died  func(owner string) bool
}
