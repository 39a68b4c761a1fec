//go:build unix

package main_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/pgledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

// A fleet is processes of ingest serve with an upstream that logs arriving calls. They share a data directory, like
// several on one machine. Or they share a PostgreSQL, each with a data directory of its own, like machines.

// ticksEnv gives ingest serve its schedule.
const ticksEnv = "INGEST_TEST_TICKS"

// ticks is a schedule of a tick per second, given to the fleet.
type ticks struct {
	Dir   string
	Place string // of the PostgreSQL; "": the files in Dir
	From  int64  // the second before the first tick
	Ticks int
	Jobs  int
}

const (
	fleetLease = 8 * time.Second // a page takes a sixtieth of them
	fleetPages = 2               // of fleetVideos each
	fleetVideo = 3
)

// Every tick has a slot in each of two kinds of job. The slots of "newest" jobs are one series: only the newest is
// worth fetching, as with a chart. Each slot of an "every" job is a series of its own, so that none supersedes another:
// every one must be fetched, like the pieces of a backfill.
func (o ticks) slots(i int) []ingest.SlotKey {
	due := time.Unix(o.From+int64(i), 0).UTC()
	var out []ingest.SlotKey
	for j := range o.Jobs {
		out = append(out, ingest.SlotKey{Job: fmt.Sprint("newest", j), Key: "US", DueAt: due},
			ingest.SlotKey{Job: fmt.Sprint("every", j), Key: fmt.Sprint("T", i), DueAt: due})
	}
	return out
}

func (o ticks) jobs() map[string]ingest.Job {
	jobs := map[string]ingest.Job{}
	for i := 1; i <= o.Ticks; i++ {
		for _, k := range o.slots(i) {
			job := jobs[k.Job]
			job.Name, job.Kind, job.Pages, job.Category = k.Job, ingest.KindChart, fleetPages, k.Job
			if k.Key != "US" || len(job.Regions) == 0 {
				job.Regions = append(job.Regions, k.Region())
			}
			jobs[k.Job] = job
		}
	}
	return jobs
}

// Due implements fetch.Scheduler, like regions.Schedule, which does not allow jobs this frequent.
func (o ticks) Due(known map[ingest.Series]time.Time, now time.Time) []ingest.Slot {
	var out []ingest.Slot
	newest := min(int(now.Unix()-o.From), o.Ticks)
	for i := 1; i <= newest; i++ {
		for _, k := range o.slots(i) {
			slot := ingest.Slot{SlotKey: k, Kind: ingest.KindChart, State: ingest.Due}
			if !k.DueAt.After(known[k.Series()]) {
				continue
			}
			if k.Key == "US" && i < newest {
				slot.State, slot.Reason = ingest.Missed, "nothing ran while it was the newest"
			}
			out = append(out, slot)
		}
	}
	return out
}

// into makes a reconciler of ingest serve work on the ticks.
func (o ticks) into() func(*fetch.Reconciler) {
	arrivals, err := os.OpenFile(o.arrivals(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	up := &paper{log: arrivals}
	return func(r *fetch.Reconciler) {
		r.Jobs, r.Schedule, r.Upstream, r.Lease = o.jobs(), o, up, fleetLease
		r.Date, r.Namer, r.Counter, r.Pace = nil, nil, nil, nil
	}
}

func (o ticks) governor(ctx context.Context) (*quota.Governor, quota.Ledger, error) {
	tariff, err := quota.ParseCosts("costs.yaml", ingest.Costs, "youtube", "")
	if err != nil {
		return nil, nil, err
	}
	var ledger quota.Ledger
	if o.Place == "" {
		ledger, err = sqliteledger.Open(ctx, filepath.Join(o.Dir, ledgerFile))
	} else {
		ledger, err = pgledger.Open(ctx, o.Place, pgledger.Options{Timeout: time.Minute})
	}
	if err != nil {
		return nil, nil, err
	}
	return &quota.Governor{Ledger: ledger, Tariff: tariff, Account: "default", Now: time.Now}, ledger, nil
}

func (o ticks) arrivals() string { return filepath.Join(o.Dir, "arrivals") }

// paper is an upstream that logs every call before it answers: who calls, for what, and the call's number, which is in
// the ids of the videos in its answer.
type paper struct {
	log   *os.File
	calls atomic.Int64
}

func (p *paper) Chart(region ingest.Region, category, token string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: "videos.list", Region: region, Do: func(ctx context.Context) (ingest.Page, error) {
		id := fmt.Sprintf("%d-%d", os.Getpid(), p.calls.Add(1))
		number := "1"
		if token != "" {
			number = token
		}
		if _, err := fmt.Fprintf(p.log, "%s %s %s %s\n", id, category, region, number); err != nil {
			return ingest.Page{}, err
		}
		select { // a call lasts for as long as a busy machine needs to stop a process in the middle of it
		case <-time.After(120 * time.Millisecond):
		case <-ctx.Done():
			return ingest.Page{}, ctx.Err()
		}
		page := ingest.Page{}
		for v := range fleetVideo {
			page.Videos = append(page.Videos, ingest.Video{ID: fmt.Sprintf("%s/%s/%d", id, number, v), Title: "a tick"})
		}
		if number == "1" {
			page.Next = "2"
		}
		return page, nil
	}}
}

func (*paper) Limits() fetch.Limits { return fetch.Limits{IDsPerCall: 50} }

func (p *paper) Videos([]string) fetch.Call[ingest.Page] {
	return fetch.Call[ingest.Page]{Method: "videos.list", Do: func(context.Context) (ingest.Page, error) {
		return ingest.Page{}, errors.New("no job of this schedule refreshes")
	}}
}
