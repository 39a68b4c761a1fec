package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/pgstore"
)

// observatory runs jobs against the stand-in whose channels upload, on a clock of its own.
type observatory struct {
	t     *testing.T
	start time.Time
	now   atomic.Int64
	store *store.Store
	up    *youtubesim.Server
	run   *fetch.Reconciler
	plan  budget.PricedSchedule

	governor *quota.Governor

	seen  map[string][]time.Time // by video: the times of its look-ups
	ended map[string]string      // by key: its newest slot's outcome and reason
	done  map[string]int         // by key: its done slots
	units map[string]int64       // by job: charged to its slots

	step    time.Duration        // between runs
	fresh   map[string]time.Time // by key: when its newest chart was done
	aged    time.Duration        // the sum of the charts' ages
	ages    int
	looked  map[string]time.Time // by channel: when its newest slot was done
	longest time.Duration        // between two done slots of a channel
}

// uploadsJob watches that many channels of the stand-in, every hour: half by their handles, half by their ids.
func uploadsJob(up *youtubesim.Server, channels int) ingest.Job {
	job := ingest.Job{Name: "creators", Kind: ingest.KindUploads, Every: time.Hour}
	for i := range channels {
		ref := fmt.Sprintf("@creator%d", i)
		if _, id := up.Uploads(ref); i%2 == 1 {
			ref = id
		}
		job.Channels = append(job.Channels, ref)
	}
	return job
}

// observe has channels upload the given number of videos a day; limit is the limit of units, 0: the usual one.
func observe(t *testing.T, perDay []int, limit int64, open func(o store.Options) *store.Store) *observatory {
	t.Helper()
	o := &observatory{t: t, start: time.Date(2026, 9, 14, 8, 0, 0, 0, time.UTC), seen: map[string][]time.Time{}, ended: map[string]string{}, done: map[string]int{}, units: map[string]int64{},
		step: 10 * time.Minute, fresh: map[string]time.Time{}, looked: map[string]time.Time{}}
	o.now.Store(o.start.UnixNano())
	var err error
	options := youtubesim.Options{Seed: 1, Creators: perDay, PageVideos: 1, Now: o.clock}
	if limit > 0 {
		options.Limits = map[string]int64{"units": limit}
	}
	if o.up, err = youtubesim.New(options); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(o.up)
	t.Cleanup(server.Close)
	client, err := youtube.New(t.Context(), youtube.Config{BaseURL: server.URL, Key: ingest.NewSecret("a-key")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if open == nil {
		open = func(options store.Options) *store.Store {
			s, err := store.Open(t.Context(), t.TempDir(), options)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
	}
	o.store = open(store.Options{Upstream: "127.0.0.1", Now: o.clock})
	t.Cleanup(func() { _ = o.store.Close() })
	tariff, err := quota.ParseCosts("costs.yaml", ingest.Costs, "youtube", "")
	if err != nil {
		t.Fatal(err)
	}
	for i, pool := range tariff.Pools {
		for j := range pool.Windows {
			if pool.Name == "units" && limit > 0 {
				tariff.Pools[i].Windows[j].Limit = limit
			}
		}
	}
	ledger := &memledger.Ledger{Now: o.clock}
	t.Cleanup(func() { _ = ledger.Close() })
	o.plan = budget.PricedSchedule{Upstream: client, Tariff: tariff}
	o.governor = &quota.Governor{Ledger: ledger, Tariff: tariff, Account: "default", Now: o.clock}
	o.run = &fetch.Reconciler{
		Jobs: map[string]ingest.Job{}, Slots: o.store, Sink: telescope{o.store, o}, Library: o.store, Upstream: client,
		Quota: o.governor, Owner: "test", Pause: func(context.Context, time.Duration) error { return nil }, Now: o.clock, Log: slog.New(slog.DiscardHandler),
		OnSlot: func(r ingest.SlotResult) {
			before := o.ended[r.Key]
			o.ended[r.Key] = string(r.State) + ": " + r.Reason
			o.units[r.Job] += r.Drew["units"]
			if r.State == ingest.Done {
				o.done[r.Key]++
				switch r.Job {
				case "chart":
					o.fresh[r.Key] = o.clock()
				case "creators":
					if last := o.looked[r.Key]; !last.IsZero() && !strings.HasPrefix(before, "skipped") {
						o.longest = max(o.longest, o.clock().Sub(last))
					}
					o.looked[r.Key] = o.clock()
				}
			}
		},
	}
	return o
}

func (o *observatory) clock() time.Time { return time.Unix(0, o.now.Load()).UTC() }

// schedule sets the jobs.
func (o *observatory) schedule(jobs ...ingest.Job) {
	o.t.Helper()
	var err error
	if o.plan.Jobs, err = regions.NewSchedule(jobs); err != nil {
		o.t.Fatal(err)
	}
	o.run.Schedule = o.plan.Jobs
	for _, job := range jobs {
		o.run.Jobs[job.Name] = job
	}
	o.run.Pace = budget.OthersWatch{Notes: o.store, Schedule: o.plan, Log: slog.New(slog.DiscardHandler)}.PaceBy(o.governor)
}

// age returns the mean age of the charts, over all regions and runs.
func (o *observatory) age() time.Duration {
	return (o.aged / time.Duration(max(o.ages, 1))).Round(time.Second)
}

// until runs every step until a time after the start, and returns how many units arrived at the stand-in.
func (o *observatory) until(after time.Duration) int64 {
	o.t.Helper()
	before := o.up.Ledger().Units["units"]
	for end := o.start.Add(after); o.clock().Before(end); o.now.Add(int64(o.step)) {
		if _, err := o.run.Run(o.t.Context(), fetch.RunOptions{}); err != nil {
			o.t.Fatal(err)
		}
		for _, at := range o.fresh {
			o.aged, o.ages = o.aged+o.clock().Sub(at), o.ages+1
		}
	}
	return o.up.Ledger().Units["units"] - before
}

// onceInTime checks that each upload since a time was looked up once, within two intervals; lenient is the time that a
// channel was hidden, by handle.
func (o *observatory) onceInTime(channels int, since time.Time, hidden func(handle string, at time.Time) bool) (uploads int) {
	o.t.Helper()
	for i := range channels {
		uploads += o.inTime(fmt.Sprintf("creator%d", i), since, time.Hour, hidden)
	}
	return uploads
}

func (o *observatory) inTime(handle string, since time.Time, interval time.Duration, hidden func(handle string, at time.Time) bool) (uploads int) {
	o.t.Helper()
	all, _ := o.up.Uploads(handle)
	for _, u := range all {
		age := o.clock().Sub(u.At)
		if u.At.Before(since) || hidden != nil && hidden(handle, u.At) || len(o.seen[u.ID]) == 0 && age < 2*interval {
			continue
		}
		uploads++
		if seen := o.seen[u.ID]; len(seen) != 1 || seen[0].Sub(u.At) > 2*interval {
			o.t.Errorf("%s uploaded %s at %v, and it was looked up at %v", handle, u.ID, u.At, seen)
		}
	}
	return uploads
}

// A job watches 10 channels every hour. Where 20 uploads come in a day, that costs 260 units at most, by the
// stand-in's own count, and each is stored once, within two intervals.
func TestLongTenChannelsCostAtMost260UnitsADay(t *testing.T) {
	o := observe(t, []int{0, 1, 2, 5, 0, 1, 2, 5, 1, 3}, 0, nil)
	o.schedule(uploadsJob(o.up, 10))
	price, err := o.plan.DayPrice(o.start)
	if err != nil {
		t.Fatal(err)
	}
	first := o.until(10 * time.Minute)
	if want := int64(10 + 10 + 10); first != want { // the channel, its list, and a look-up of its newest 50
		t.Errorf("the first slots cost %d units, want %d", first, want)
	}
	if got := o.ended["@creator0"]; !strings.Contains(got, "the first look takes the newest 50") {
		t.Errorf("the first slot ends %q, want \"the first look takes the newest 50\" in it", got)
	}
	o.until(time.Hour)
	day := o.until(25 * time.Hour)
	uploads := o.onceInTime(10, o.start, nil)
	t.Logf("a day with %d uploads of 10 channels cost %d units", uploads, day)
	if uploads < 18 || day > 260 || day < 240 {
		t.Errorf("%d uploads cost %d units a day, want at most 260", uploads, day)
	}
	within(t, "the channels", price.Jobs[0].Expected(uploads)["units"], day)
}

// within checks that a job's price before is within 2 % of its cost.
func within(t *testing.T, job string, said, cost int64) {
	t.Helper()
	t.Logf("%s cost %d, said were %d", job, cost, said)
	if 100*max(said-cost, cost-said) > 2*cost {
		t.Errorf("%s cost %d, and %d were said before", job, cost, said)
	}
}

// A channel that is hidden or deleted, or has another handle, is reported by its slot; one that returns loses nothing;
// a burst of uploads takes a second page and no look-up of its own for the last ones.
func TestAHiddenOrDeletedChannelIsAState(t *testing.T) {
	o := observe(t, []int{1, 1, 1, 1, 0}, 0, nil)
	o.schedule(uploadsJob(o.up, 5))
	o.until(2 * time.Hour)
	_, id1 := o.up.Uploads("creator1")
	_, id2 := o.up.Uploads("creator2")
	o.up.Hide("creator1", true)
	o.up.Hide("creator0", true)
	o.up.Rename("creator2", "elsewhere")
	o.up.Burst("creator4", 70)
	if units := o.until(4 * time.Hour); units != 2*(5+0)+2*1+1+1+1 {
		t.Errorf("two hours cost %d units", units)
	}
	for key, want := range map[string]string{
		"@creator0": "skipped: @creator0 was deleted or hidden: gone since 2026-09-14 10:",
		id1:         "skipped: " + id1 + " was deleted or hidden: gone since 2026-09-14 10:",
		"@creator2": "done: ", // a slot asks for its handle once a week
		"@creator4": "done: ",
		"":          "done: ",
	} {
		if got := o.ended[key]; !strings.HasPrefix(got, want) {
			t.Errorf("%s ended %q, want %q", key, got, want)
		}
	}
	o.up.Hide("creator1", false)
	o.until(6 * time.Hour)
	hidden := func(handle string, at time.Time) bool {
		return handle == "creator0" && at.After(o.start.Add(2*time.Hour)) || handle == "creator1" && at.Before(o.start.Add(4*time.Hour))
	}
	o.onceInTime(2, o.start, hidden)
	o.now.Add(int64(7 * 24 * time.Hour)) // nothing runs for a week
	o.until(7*24*time.Hour + 8*time.Hour)
	if got, want := o.ended["@creator2"], "done: renamed: @creator2 leads to no channel now; the channel is "+id2; !strings.HasPrefix(got, want) {
		t.Errorf("the renamed one ended %q, want %q", got, want)
	}
	if got := o.ended[id1]; got != "done: " {
		t.Errorf("the one that returned ended %q, want \"done: \"", got)
	}
	for _, handle := range []string{"creator1", "elsewhere", "creator3", "creator4"} {
		all, _ := o.up.Uploads(handle)
		for _, u := range all {
			if u.At.After(o.start) && o.clock().Sub(u.At) > 2*time.Hour && len(o.seen[u.ID]) != 1 {
				t.Errorf("%s: %s of %v was looked up %d times", handle, u.ID, u.At, len(o.seen[u.ID]))
			}
		}
	}
}

// Forty searches that want to be made every hour take turns under the 95 search calls that the schedule may make in a
// day: each is made every 10 h, and none more often than another.
func TestManyQueriesTakeTurns(t *testing.T) {
	o := observe(t, []int{0}, 0, nil)
	job := ingest.Job{Name: "bands", Kind: ingest.KindSearch, Every: time.Hour, Pages: 1, Regions: []ingest.Region{"US"}}
	for i := range 40 {
		job.Queries = append(job.Queries, fmt.Sprintf("band %d", i))
	}
	o.schedule(job)
	if every, err := o.plan.Intervals(o.start); err != nil || every["bands"].Round(time.Minute) != 10*time.Hour+6*time.Minute {
		t.Errorf("each is said to be made every %v (%v)", every["bands"], err)
	}
	const days = 1
	o.until(days * 24 * time.Hour)
	least, most := days*24, 0
	for _, query := range job.Queries {
		least, most = min(least, o.done[query]), max(most, o.done[query])
	}
	t.Logf("in %d days each of 40 queries was asked %d to %d times, in %d calls", days, least, most, o.up.Ledger().Units["search"])
	if calls := o.up.Ledger().Units["search"]; least < 2 || most > least+1 || calls > 95*days+40 || o.up.Ledger().Refused["search"] > 0 {
		t.Errorf("%d to %d times in %d calls; %v refused", least, most, calls, o.up.Ledger().Refused)
	}
}

// A watch list's counts are fetched every hour, from the pool of batch_stats alone, and kept as a chart's are: the
// history of a video has them all, and a search by rise knows them. Only ids that are not stored are looked up, 50 a
// unit; an id of no video is asked for once a day.
func TestCountsOfAWatchListAreHistory(t *testing.T) {
	o := observe(t, []int{0, 0}, 0, nil)
	job := ingest.Job{Name: "mine", Kind: ingest.KindVideos, Every: time.Hour, Videos: []string{"AAAAAAAAAAA"}}
	for i := range 2 {
		all, _ := o.up.Uploads(fmt.Sprintf("creator%d", i))
		for _, u := range all {
			job.Videos = append(job.Videos, u.ID)
		}
	}
	o.schedule(job)
	price, err := o.plan.DayPrice(o.start)
	if err != nil || price.Total["batch_stats"] != 3*24 || price.Total["units"] != 0 {
		t.Errorf("a day is priced %v (%v)", price.Total, err)
	}
	o.until(6 * time.Hour)
	if got := o.up.Ledger().Units; got["units"] != 3 || got["batch_stats"] != 3*6 {
		t.Errorf("six slots of 121 ids drew %v; they ended %v", got, o.ended)
	}
	id := job.Videos[1]
	history, err := o.store.History(t.Context(), store.HistoryQuery{VideoID: id})
	if err != nil || len(history.Sightings) != 6 || history.Sightings[5].Gained == nil || history.Sightings[5].Views == nil || history.Sightings[0].Job != "mine" {
		t.Errorf("its history is %+v (%v)", history, err)
	}
	found, err := o.store.Search(t.Context(), store.SearchQuery{Text: "uploads", Order: store.ByRise, Limit: 5})
	if err != nil || len(found.Items) != 5 || found.Items[0].Gained == nil || *found.Items[0].Gained <= 0 {
		t.Errorf("by rise: %+v (%v)", found.Items, err)
	}
	o.now.Add(int64(27 * 24 * time.Hour)) // its videos are still seen, so that a refresh looks after them
	o.until(27*24*time.Hour + 8*time.Hour)
	if ids, err := o.store.VideosToRefresh(t.Context(), o.clock(), 0, 500); err != nil || len(ids) != 120 {
		t.Errorf("%d videos are to be refreshed (%v), want 120", len(ids), err)
	}
}

// TestLongAWeekOfFortyChannels watches 40 channels, quiet and busy, and 2,000 videos beside the charts of eight
// regions and 30 searches, for a week: one channel is deleted, one renamed, one hidden for two days, and one uploads
// 70 videos at once. Each upload is looked up once, within two intervals of its job; the stand-in counts the units,
// and the prices before are within 2 % of them. Under 10,000 units the charts are as fresh as in the same week without
// the other jobs; under 600 all series share the quota.
//
// PostgreSQL has a day of it, and 600 units three. With SOAK set both have the week, and the videos are counted every hour.
func TestLongAWeekOfFortyChannels(t *testing.T) {
	days, short := 1, 3
	if os.Getenv("SOAK") != "" {
		days, short = 7, 7
	}
	postgres, err := faulty.StartPostgres()
	if err == nil {
		t.Cleanup(postgres.Stop)
	}
	t.Run("SQLite 10000", func(t *testing.T) { weekOfFortyChannels(t, 10_000, 7, nil) })
	t.Run("SQLite 600", func(t *testing.T) { weekOfFortyChannels(t, 600, short, nil) })
	t.Run("PostgreSQL 10000", func(t *testing.T) {
		if errors.Is(err, faulty.ErrAbsent) {
			t.Skipf("postgres: %v", err)
		}
		weekOfFortyChannels(t, 10_000, days, func(o store.Options) *store.Store {
			s, err := pgstore.Open(t.Context(), postgres.URL()+"&search_path=week"+fmt.Sprint(o.Now().UnixNano()), o)
			if err != nil {
				t.Fatal(err)
			}
			return s
		})
	})
}

func weekOfFortyChannels(t *testing.T, limit int64, days int, open func(store.Options) *store.Store) {
	t.Parallel()
	var perDay []int
	for i := range 40 {
		perDay = append(perDay, []int{0, 1, 2, 8}[i%4])
	}
	o := observe(t, perDay, limit, open)
	if o.step = 15 * time.Minute; limit < 10_000 { // each series is hours apart
		o.step = 30 * time.Minute
	}
	channels := uploadsJob(o.up, 40)
	bands := ingest.Job{Name: "bands", Kind: ingest.KindSearch, Every: time.Hour, Pages: 1}
	for i := range 30 {
		bands.Queries = append(bands.Queries, fmt.Sprintf("band %d", i))
	}
	mine := ingest.Job{Name: "mine", Kind: ingest.KindVideos, Every: 6 * time.Hour}
	if os.Getenv("SOAK") != "" {
		mine.Every = time.Hour
	}
	for i := 0; len(mine.Videos) < 2000; i++ {
		all, _ := o.up.Uploads(fmt.Sprintf("creator%d", i))
		for _, u := range all[:min(len(all), 2000-len(mine.Videos))] {
			mine.Videos = append(mine.Videos, u.ID)
		}
	}
	chart := ingest.Job{Name: "chart", Kind: ingest.KindChart, Regions: regions.Default(), Every: 30 * time.Minute, Pages: 2}
	o.schedule(chart, channels, bands, mine)
	price, err := o.plan.DayPrice(o.start)
	if err != nil {
		t.Fatal(err)
	}
	length := time.Duration(days) * 24 * time.Hour
	o.until(time.Hour)
	o.up.Hide("creator1", true) // deleted
	o.until(length / 7)
	o.up.Rename("creator2", "elsewhere")
	o.up.Hide("creator3", true)
	o.until(2 * length / 7)
	o.up.Burst("creator4", 70)
	o.until(3 * length / 7)
	o.up.Hide("creator3", false)
	o.until(length)
	alone := observe(t, []int{0}, limit, nil)
	alone.step = o.step
	alone.schedule(chart)
	alone.until(24 * time.Hour)
	used, charged := o.up.Ledger(), int64(0)
	for _, units := range o.units {
		charged += units
	}
	t.Logf("%d days under %d units a day: %d units, %d batch_stats; slots done: %d of a query; refused: %v; charts are %v old on average, alone %v",
		days, limit, used.Units["units"], used.Units["batch_stats"], o.done["band 0"], used.Refused, o.age(), alone.age())
	if charged != used.Units["units"] || used.Refused["units"] > 0 || o.up.MaxInDay("units") > limit || o.up.MaxInWindow("units", 24*time.Hour) > limit {
		t.Errorf("%d units were charged to slots, %d arrived, refused %v", charged, used.Units["units"], used.Refused)
	}
	said := func(job int, day quota.Cost, pool string) int64 { // and the slots that are due at the start
		slots := int64(price.Jobs[job].Slots)
		return day[pool]*int64(days) + day[pool]*int64(len(price.Jobs[job].Job.Series()))/slots
	}
	within(t, "counts", said(3, price.Jobs[3].Cost, "batch_stats"), used.Units["batch_stats"])
	interval := time.Hour
	if days == 7 && limit == 10_000 { // the first day's slots weigh too much in less
		perDay := 0
		for _, n := range []int{0, 1, 2, 8} {
			perDay += 10 * n
		}
		first := int64(price.Jobs[1].Once(50))
		within(t, "the channels", said(1, price.Jobs[1].Expected(perDay), "units")+first, o.units["creators"])
		within(t, "charts", said(0, price.Jobs[0].Cost, "units"), o.units["chart"])
	}
	if limit == 10_000 && o.age() > alone.age()*105/100 {
		t.Errorf("charts are %v old on average, and alone %v", o.age(), alone.age())
	}
	if limit < 10_000 {
		interval = o.longest
		if most := limit * 95 / 100 * int64(days); charged < most*8/10 {
			t.Errorf("%d of %d units were used, and charts were %v old", charged, most, o.age())
		}
	}
	uploads := 0
	for i := range 40 {
		handle := fmt.Sprintf("creator%d", i)
		if i == 2 {
			handle = "elsewhere"
		}
		uploads += o.inTime(handle, o.start, interval, func(_ string, at time.Time) bool {
			return i == 1 || i == 3 && at.Before(o.start.Add(3*length/7)) // no slot sees them
		})
	}
	t.Logf("%d uploads, each looked up once within two intervals of %v", uploads, interval)
}

// telescope notes which videos are looked up when.
type telescope struct {
	*store.Store
	o *observatory
}

func (w telescope) SaveFound(ctx context.Context, slot ingest.Slot, asked ingest.Asked, page ingest.Page) (ingest.Slot, ingest.Absences, error) {
	for _, v := range page.Videos {
		if slices.Contains(asked.IDs, v.ID) {
			w.o.seen[v.ID] = append(w.o.seen[v.ID], w.o.clock())
		}
	}
	return w.Store.SaveFound(ctx, slot, asked, page)
}
