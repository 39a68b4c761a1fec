package fetch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/trendvidstream/ingest"
)

// Limits are how much an upstream's answers hold, and where its lists end.
type Limits struct {
	IDsPerCall  int // ids that one look-up takes
	PerPage     int // results on a full page of a search or of a channel's uploads
	ChartPages  int // pages of a chart, at most
	SearchPages int // pages of a search, at most, however much it finds
	Uploads     int // videos of a channel that are listed, at most
}

// Calls are the methods that a piece of work calls, as costs.yaml names them; "" if it makes no such call.
type Calls struct {
	Channel string // once a channel: finds its list of uploads
	Page    string // once a page: of a chart, of a search, of a list of uploads
	Lookup  string // once for every Limits.IDsPerCall ids that the work is given or finds
}

// Calls that an upstream may lack.
var (
	ErrNoSearch  = errors.New("this upstream cannot be searched")
	ErrNoUploads = errors.New("this upstream cannot list the uploads of a channel")
)

// JobCalls returns the methods that the slots of a job call. It leaves out that a refresh names categories and counts
// videos, which costs next to nothing.
func JobCalls(up Upstream, job ingest.Job) (Calls, error) {
	switch job.Kind {
	case ingest.KindChart:
		return Calls{Page: up.Chart("US", job.Category, "").Method}, nil
	case ingest.KindSearch:
		return BackfillCalls(up, ingest.BackfillSearch)
	case ingest.KindRefresh:
		return BackfillCalls(up, ingest.BackfillRefresh)
	default:
		return Calls{}, fmt.Errorf("this program knows no jobs of kind %s", job.Kind)
	}
}

// BackfillCalls returns the methods that the pieces of a backfill call.
func BackfillCalls(up Upstream, kind ingest.BackfillKind) (Calls, error) {
	calls := Calls{Lookup: up.Videos(nil).Method}
	switch kind {
	case ingest.BackfillSearch:
		searcher, ok := up.(Searcher)
		if !ok {
			return Calls{}, ErrNoSearch
		}
		calls.Page = searcher.Search(ingest.Query{}, "").Method
	case ingest.BackfillUploads:
		archive, ok := up.(Archive)
		if !ok {
			return Calls{}, ErrNoUploads
		}
		calls.Channel, calls.Page = archive.Channel("").Method, archive.Uploads("", "").Method
	case ingest.BackfillVideos, ingest.BackfillRefresh: // their ids are known
	default:
		return Calls{}, fmt.Errorf("this program knows no backfills of kind %s", kind)
	}
	return calls, nil
}

// Methods returns the methods in the order in which the work first calls them.
func (c Calls) Methods() []string {
	return slices.DeleteFunc([]string{c.Channel, c.Page, c.Lookup}, func(method string) bool { return method == "" })
}

// MethodCount is a number of calls of a method.
type MethodCount struct {
	Method string
	Calls  int
}

// PerPage returns the calls that a full page takes, in order: the one for the page, and the look-ups of what it lists.
// It is empty for work that has no pages.
func (c Calls) PerPage(l Limits) []MethodCount {
	if c.Page == "" {
		return nil
	}
	page := []MethodCount{{c.Page, 1}}
	if c.Lookup != "" {
		page = append(page, MethodCount{c.Lookup, (l.PerPage + l.IDsPerCall - 1) / l.IDsPerCall})
	}
	return page
}
