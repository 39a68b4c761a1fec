package ingest

import (
	"strings"
	"time"
)

// Kind is the task of a job. Each has a pass of its own in package fetch.
type Kind string

// The kinds of jobs that a config may name. Slots have one more: KindBackfill.
const (
	KindChart   Kind = "chart"   // one pass over one region's chart per slot
	KindSearch  Kind = "search"  // one search per slot: its results are looked up and stored
	KindUploads Kind = "uploads" // per slot, one look at a channel's new uploads, and one look-up for all channels
	KindVideos  Kind = "videos"  // the counts of a list of videos per slot, kept like a chart's counts
	KindRefresh Kind = "refresh" // refetch data older than RefreshAfter, delete data older than KeepFor
)

// Job is one line of the schedule: the kind of work, its regions, and how often.
type Job struct {
	Name     string
	Kind     Kind
	Regions  []Region      // empty for a job that has no regions
	Every    time.Duration // the interval; 0 when Cron is set
	Cron     string        // a five-field cron line, in UTC unless it begins with CRON_TZ=
	AtOnce   bool          // its regions are due at the same time, not spread
	Pages    int           // at most this many pages a pass
	Category string        // "" or "0" is the whole chart
	Query    string        // of a search
	Queries  []string      // of a search, in place of Query: each is a series, and they take turns
	Channels []string      // of uploads: ids or handles, as the upstream writes them
	Videos   []string      // of videos: ids
	Charted  time.Duration // of videos: also every video charted within that time; 0: none
}

// Series is all slots of one key of one job: a region's chart, hour after hour. Each has its own freshness and pace.
type Series struct{ Job, Key string }

// String names the series for a person: "chart DE", or "refresh" where there is no key.
func (s Series) String() string { return strings.TrimSpace(s.Job + " " + s.Key) }

// Series returns the series of the job: one for each query, region or channel, or one without a key if it has none of
// these. A job of uploads has one more, without a key, which looks up the ids that the others have found.
func (j Job) Series() []Series {
	var all []Series
	add := func(key string) { all = append(all, Series{j.Name, key}) }
	switch {
	case len(j.Queries) > 0:
		for _, query := range j.Queries {
			add(queryKey(query))
		}
	case len(j.Regions) > 0:
		for _, region := range j.Regions {
			add(string(region))
		}
	default:
		for _, channel := range j.Channels {
			add(channel)
		}
		add("")
	}
	return all
}

// queryKey returns the key of a query's series. A query that has the form of a region's code gets quotes, which change
// no answer: the key of a search is a region's code only where the search has regions.
func queryKey(query string) string {
	if isCode(query) {
		return `"` + query + `"`
	}
	return query
}

// isCode reports whether a text has the form of a region's code.
func isCode(text string) bool {
	return len(text) == 2 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'A' && text[1] <= 'Z'
}

// Search returns the query of the slots of a key of a search job. A job with queries has at most one region.
func (j Job) Search(key string) Query {
	q := Query{Text: j.Query, Region: Region(key), Category: j.Category}
	if len(j.Queries) > 0 {
		q.Text, q.Region = key, ""
		if len(j.Regions) > 0 {
			q.Region = j.Regions[0]
		}
	}
	return q
}
