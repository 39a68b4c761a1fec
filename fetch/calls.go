package fetch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/trendvidstream/ingest"
)

// Limits are the sizes of an upstream's answers and lists: they turn numbers of videos into numbers of calls.
type Limits struct {
	IDsPerCall  int // ids per look-up
	PerPage     int // results on a full page of a search or of a channel's uploads
	ChartPages  int // most pages of a chart
	SearchPages int // most pages of a search, however much it finds
	Uploads     int // most videos listed of a channel
}

// Calls are the methods that a piece of work calls, as costs.yaml names them; "" if it makes no such call.
type Calls struct {
	Channel string // once a channel: finds its list of uploads
	Page    string // once a page: of a chart, of a search, of a list of uploads
	Lookup  string // once for every Limits.IDsPerCall ids given or found
}

// Calls that an upstream may lack.
var (
	ErrNoSearch  = errors.New("this upstream cannot be searched")
	ErrNoUploads = errors.New("this upstream cannot list the uploads of a channel")
	ErrNoCounts  = errors.New("this upstream gives no counts without the videos")
)

// JobCalls returns the methods that a job's slots call, without the few calls of a refresh that name categories and
// count videos. A slot of uploads calls one of them, seldom two.
func JobCalls(up Upstream, job ingest.Job) (Calls, error) {
	switch job.Kind {
	case ingest.KindChart:
		return Calls{Page: up.Chart("US", job.Category, "").Method}, nil
	case ingest.KindSearch:
		return BackfillCalls(up, ingest.BackfillSearch)
	case ingest.KindUploads:
		return BackfillCalls(up, ingest.BackfillUploads)
	case ingest.KindVideos:
		counter, ok := up.(Counter)
		if !ok {
			return Calls{}, ErrNoCounts
		}
		return Calls{Lookup: counter.Counts(nil).Method}, nil
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

// Methods returns the methods in the order of their first calls.
func (c Calls) Methods() []string {
	return slices.DeleteFunc([]string{c.Channel, c.Page, c.Lookup}, func(method string) bool { return method == "" })
}

// MethodCount is a number of calls of a method. Times the method's cost, it is the price of a part of the work.
type MethodCount struct {
	Method string
	Calls  int
}

// PerPage returns the calls that a full page takes, in order: the page's own and the look-ups of its ids; nothing for
// work without pages.
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
