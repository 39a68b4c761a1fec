package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/budget"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// options leave out parts of our worker.
type options struct{ noPacing, noDoubt, wholePages, dayAlone, knowsSleep bool }

// usualTick is how often cron starts our worker.
const usualTick = 5 * time.Minute

// ours is made of the program's own parts, put together as its run command does, and started by a cron line every five
// minutes, in one process. Its store and its ledger are files, in memory if the machine has such a directory. Several
// hosts have a store each, and share one ledger.
func ours(o options) worker {
	return func(ctx context.Context, w world, seed uint64, from, to time.Time) (result, error) {
		s, err := newSetting(ctx, w, seed, from, to, o)
		if err != nil {
			return result{}, err
		}
		defer s.close()
		rec, order := newRecorder(w, s.clock.now, from, to), rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // a simulation
		for host, p := range s.programs {
			p.reconciler.OnSlot = func(slot ingest.SlotResult) { rec.slot(w, host, slot) }
		}
		edits, asked := w.trouble.edits, from
		for tick := from; tick.Before(to); tick = tick.Add(cmp.Or(w.tick, usualTick)) {
			if w.trouble.asleep(tick) {
				continue
			}
			s.clock.reach(tick)
			for ; len(edits) > 0 && !tick.Before(from.Add(edits[0].at)); edits = edits[1:] {
				if err := s.edit(edits[0]); err != nil {
					return result{}, err
				}
			}
			s.up.catchUp()
			s.skew = 0
			var worked []ingest.SlotResult // by the first host
			if tick.Equal(from.Add(clockLiesAt)) {
				s.skew = w.trouble.ahead
			}
			for _, host := range order.Perm(len(s.programs)) { // which host is first at the same minute is chance
				results, err := s.programs[host].run(ctx)
				if err != nil {
					return result{}, fmt.Errorf("at %s: %w", s.clock.now(), err)
				}
				if host == 0 {
					worked = results
				}
			}
			if !tick.Before(asked) && !o.noPacing {
				for !asked.After(tick) { // a machine that sleeps is not asked
					asked = asked.Add(65 * time.Minute) // at every minute of the hour in turn
				}
				if err := s.programs[0].say(ctx, rec, worked); err != nil {
					return result{}, fmt.Errorf("at %s, its words: %w", s.clock.now(), err)
				}
			}
		}
		rec.probes, rec.asked = len(s.probes), s.probes
		return rec.result(s.up), nil
	}
}

// slot records how a slot ended.
func (rec *recorder) slot(w world, host int, s ingest.SlotResult) {
	if host == 0 && s.State == ingest.Done {
		rec.fetched[s.Series()] = append(rec.fetched[s.Series()], rec.now())
	}
	if since := rec.now().Sub(rec.from.Add(awayAt)); since >= 0 && since < w.trouble.away {
		rec.away += s.Spent
	}
	switch {
	case s.State == ingest.Stopped && s.Kind == ingest.KindChart:
		rec.stops = append(rec.stops, rec.now())
		if traced {
			fmt.Printf("%s stopped %s of %s: %s\n", rec.now().Format("01-02 15:04"), s.Key, s.DueAt.Format("15:04"), s.Reason)
		}
	case s.State != ingest.Done:
	case s.Kind == ingest.KindRefresh:
		rec.refreshes++
	case s.Kind == ingest.KindChart:
		if traced {
			fmt.Printf("%s chart %s of %s\n", rec.now().Format("01-02 15:04"), s.Key, s.DueAt.Format("15:04"))
		}
		rec.pages += int64(s.Pages)
		if s.Job == "chart" {
			rec.done(seriesOf(host, s.Key), s.FetchedAt)
		} else if s.Pages == w.pages {
			rec.rare++
		}
	}
}

// run is one start of the program.
func (p *program) run(ctx context.Context) ([]ingest.SlotResult, error) {
	worked, err := p.reconciler.Run(ctx, fetch.RunOptions{})
	if onlyFatal(err) != nil || len(p.backfills) == 0 {
		return worked, onlyFatal(err)
	}
	if _, err := p.reconciler.CarryOn(ctx, p.backfills); onlyFatal(err) != nil {
		return worked, fmt.Errorf("the backfill: %w", err)
	}
	return worked, nil
}

// edit changes the config of all hosts, whose next runs read it.
func (s *setting) edit(e edit) error {
	for _, p := range s.programs {
		e.make(&p.world)
		onSlot := p.reconciler.OnSlot
		if err := p.wire(p.options, p.client); err != nil {
			return err
		}
		p.reconciler.OnSlot = onSlot
	}
	return nil
}

// clockLiesAt is when in a world our clock is ahead for one run.
const clockLiesAt = 60 * time.Hour

// onlyFatal returns nil for an error after which cron starts the next run as usual.
func onlyFatal(err error) error {
	if errors.Is(err, ingest.ErrClock) {
		return nil
	}
	if call := (*fetch.Error)(nil); errors.As(err, &call) {
		return nil
	}
	return err
}

// setting is the common setting of our hosts in a world.
type setting struct {
	clock    clock         // of the world
	skew     time.Duration // of the programs' own clock
	up       *upstream
	ledger   *sqliteledger.Ledger
	dir      string
	programs []*program // one per host
	closers  []func()
	probes   []time.Time // when a call asked whether a refusal still holds
}

// program is our worker on one host, opened.
type program struct {
	*setting
	world
	options    options
	client     *youtube.Client
	reconciler *fetch.Reconciler
	schedule   budget.PricedSchedule
	governor   *quota.Governor
	watch      budget.OthersWatch
	store      *store.Store
	backfills  []ingest.Backfill
}

// now is the programs' clock.
func (s *setting) now() time.Time { return s.clock.now().Add(s.skew) }

func (s *setting) close() {
	for _, c := range slices.Backward(s.closers) {
		c()
	}
}

// newSetting opens everything in its own directory.
func newSetting(ctx context.Context, w world, seed uint64, from, to time.Time, o options) (_ *setting, err error) {
	s := &setting{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	s.clock.set(from)
	if s.up, err = newUpstream(w, seed, &s.clock); err != nil {
		return nil, err
	}
	s.up.plan(w, seed, from, to)
	s.closers = append(s.closers, s.up.server.Close)
	if s.dir, err = os.MkdirTemp(memory(), "economy-"); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() { _ = os.RemoveAll(s.dir) })
	if s.ledger, err = sqliteledger.Open(ctx, filepath.Join(s.dir, "quota.db")); err != nil {
		return nil, err
	}
	s.ledger.Now = s.now
	s.closers = append(s.closers, func() { _ = s.ledger.Close() })
	for host := range max(w.hosts, 1) {
		p, err := s.newProgram(ctx, w, host, o)
		if err != nil {
			return nil, err
		}
		s.programs = append(s.programs, p)
	}
	return s, nil
}

// newProgram opens the parts of one host.
func (s *setting) newProgram(ctx context.Context, w world, host int, o options) (*program, error) {
	client, err := youtube.New(ctx, youtube.Config{BaseURL: s.up.server.URL + "/"})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, client.Close)
	opened, err := store.Open(ctx, filepath.Join(s.dir, fmt.Sprint(host)), store.Options{Upstream: "localhost", Now: s.now})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() { _ = opened.Close() })
	p := &program{setting: s, world: w, options: o, client: client, store: opened}
	if err := p.wire(o, client); err != nil {
		return nil, err
	}
	if o.knowsSleep {
		if err := p.tellSleep(ctx); err != nil {
			return nil, err
		}
	}
	if w.lookups > 0 {
		b, err := addLookups(ctx, opened, s.clock.now(), w.lookups)
		if err != nil {
			return nil, err
		}
		p.backfills = append(p.backfills, b)
	}
	for i := range w.backlogs {
		b, err := addBackfill(ctx, opened, s.clock.now(), []string{"music", "news"}[i])
		if err != nil {
			return nil, err
		}
		p.backfills = append(p.backfills, b)
	}
	return p, nil
}

// tellSleep notes the hours with runs of the days before the world begins, as if our worker had lived then.
func (p *program) tellSleep(ctx context.Context) error {
	history := budget.OthersHistory{}
	for ago := 5; ago > 0; ago-- {
		day := budget.OthersDay{Begins: p.clock.now().AddDate(0, 0, -ago)}
		for hour := range 24 {
			if !p.trouble.asleep(day.Begins.Add(time.Duration(hour) * time.Hour)) {
				day.Ran |= 1 << hour
			}
		}
		for _, pool := range p.schedule.Tariff.Pools {
			history[pool.Name] = append(history[pool.Name], day)
		}
	}
	note, err := json.Marshal(history)
	if err != nil {
		return err
	}
	return p.store.SetNote(ctx, "others", string(note))
}

// wire puts the parts together.
func (p *program) wire(o options, client *youtube.Client) error {
	tariff, err := tariffOf(p.units, o.dayAlone)
	if err != nil {
		return err
	}
	jobs, err := regions.NewSchedule(p.jobs())
	if err != nil {
		return err
	}
	g := &quota.Governor{Ledger: p.ledger, EmergencyAccount: p.ledger, Tariff: tariff, Account: "default", Now: p.now}
	p.governor, p.schedule = g, budget.PricedSchedule{Jobs: jobs, Upstream: client, Tariff: tariff, Hosts: p.hosts, WholePages: o.wholePages}
	p.watch = budget.OthersWatch{Notes: p.store, Schedule: p.schedule, Shared: p.hosts > 1, Log: slog.New(slog.DiscardHandler)}
	reserve := &budget.ReserveCache{Now: p.now, Log: slog.New(slog.DiscardHandler), Compute: func(ctx context.Context) (quota.Reserve, error) {
		r, err := p.schedule.Reserve(ctx, p.store, p.now())
		if err == nil {
			r.Used, _ = g.ScheduledUse(ctx) // as run does
		}
		return r, err
	}}
	p.reconciler = &fetch.Reconciler{
		Jobs: map[string]ingest.Job{}, Schedule: jobs, Slots: p.store, Sink: p.store, Library: p.store, Notes: p.store, Upstream: client, Namer: client, Quota: g,
		Reserve: reserve.Reserve, Owner: "economy", FreeBursts: tariff.FreeBursts, Now: p.now, Date: client.AskDate, Log: slog.New(slog.DiscardHandler),
		Pause: func(_ context.Context, d time.Duration) error { p.clock.pass(d); return nil },
	}
	if !o.noPacing {
		p.reconciler.Pace, p.reconciler.RefreshCalls = p.watch.PaceBy(g), p.watch.RefreshCalls
	}
	p.reconciler.Quota = asker{g, p}
	if o.noDoubt {
		p.reconciler.Quota = believer{g}
	}
	for _, job := range p.jobs() {
		p.reconciler.Jobs[job.Name] = job
	}
	return nil
}

// asker counts the probes of a governor.
type asker struct {
	*quota.Governor
	program *program
}

func (a asker) Take(ctx context.Context, r quota.Request) (quota.Decision, error) {
	d, err := a.Governor.Take(ctx, r)
	if d.Probe {
		a.program.probes = append(a.program.probes, a.program.now())
	}
	return d, err
}

// believer is a governor that never doubts a refusal by the provider.
type believer struct{ *quota.Governor }

func (b believer) Drain(ctx context.Context, d quota.Decision, _ string) error {
	for _, midnight := range quota.Midnights(d.At, b.Tariff.Zone) {
		if midnight.After(d.At) {
			return b.Ledger.Drain(ctx, b.Account, "units", quota.Drain{Until: midnight})
		}
	}
	return nil
}

// addLookups plans a backfill of videos that takes that many calls, of one unit each.
func addLookups(ctx context.Context, s *store.Store, now time.Time, calls int) (ingest.Backfill, error) {
	b := ingest.Backfill{Kind: ingest.BackfillVideos, Spec: ingest.BackfillSpec{IDs: "economy"}, Table: table, Created: now}
	pieces := iter.Seq2[ingest.Piece, error](func(yield func(ingest.Piece, error) bool) {
		for n := range calls {
			if !yield(ingest.IDPiece(n, []string{fmt.Sprintf("v%010d", n)}), nil) {
				return
			}
		}
	})
	b, _, err := s.AddBackfill(ctx, b, pieces)
	return b, err
}

// addBackfill plans a search over two years, newest first.
func addBackfill(ctx context.Context, s *store.Store, now time.Time, text string) (ingest.Backfill, error) {
	b := ingest.Backfill{Kind: ingest.BackfillSearch, Spec: ingest.BackfillSpec{Query: ingest.Query{Text: text}}, Table: table, Created: now}
	pieces := iter.Seq2[ingest.Piece, error](func(yield func(ingest.Piece, error) bool) {
		for _, piece := range ingest.Slices(now.AddDate(-2, 0, 0), now, 7*24*time.Hour) {
			if !yield(piece, nil) {
				return
			}
		}
	})
	b, _, err := s.AddBackfill(ctx, b, pieces)
	return b, err
}

// memory returns a directory in memory, if the machine has one.
func memory() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}
