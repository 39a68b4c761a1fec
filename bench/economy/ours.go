package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
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
type options struct{ noPacing, noDoubt bool }

// ours is made of the program's own parts as its run command puts them together, started by a cron line every five
// minutes, in one process: its store and its ledger are files, in memory if the machine has such a place.
func ours(o options) worker {
	return func(ctx context.Context, w world, seed uint64, from, to time.Time) (result, error) {
		p, err := newProgram(ctx, w, seed, from, o)
		if err != nil {
			return result{}, err
		}
		defer p.close()
		rec := newRecorder(from, to, w.regions)
		p.reconciler.OnSlot = func(s fetch.SlotResult) {
			switch {
			case s.State != ingest.Done:
			case s.Kind == ingest.KindRefresh:
				rec.refreshes++
			case s.Kind == ingest.KindChart:
				rec.pages += int64(s.Pages)
				if s.Job == "chart" {
					rec.done(s.Key, s.FetchedAt)
				} else if s.Pages == w.pages {
					rec.rare++
				}
			}
		}
		for tick := from; tick.Before(to); tick = tick.Add(5 * time.Minute) {
			p.clock.reach(tick)
			p.skew = 0
			if tick.Equal(from.Add(clockLiesAt)) {
				p.skew = w.trouble.ahead
			}
			if _, err := p.reconciler.Run(ctx, fetch.RunOptions{}); onlyFatal(err) != nil {
				return result{}, fmt.Errorf("at %s: %w", p.clock.now(), err)
			}
			if w.backfill {
				if _, err := p.reconciler.CarryOn(ctx, []ingest.Backfill{p.backfill}); onlyFatal(err) != nil {
					return result{}, fmt.Errorf("at %s, the backfill: %w", p.clock.now(), err)
				}
			}
		}
		rec.probes = p.probes
		return rec.result(p.up.sim), nil
	}
}

// clockLiesAt is the time into a world at which its clock is ahead for one run.
const clockLiesAt = 60 * time.Hour

// onlyFatal returns nil for an error after which cron starts the next run as usual.
func onlyFatal(err error) error {
	if errors.Is(err, fetch.ErrClock) {
		return nil
	}
	if call := (*fetch.Error)(nil); errors.As(err, &call) {
		return nil
	}
	return err
}

// program is our worker, opened.
type program struct {
	clock      clock         // the world's
	skew       time.Duration // of the program's own clock
	up         *upstream
	reconciler *fetch.Reconciler
	backfill   ingest.Backfill
	closers    []func()
	probes     int
}

// now is the program's clock.
func (p *program) now() time.Time { return p.clock.now().Add(p.skew) }

func (p *program) close() {
	for _, c := range p.closers {
		c()
	}
}

// newProgram opens everything in a directory of its own.
func newProgram(ctx context.Context, w world, seed uint64, from time.Time, o options) (_ *program, err error) {
	p := &program{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	p.clock.set(from)
	if p.up, err = newUpstream(w, seed, &p.clock); err != nil {
		return nil, err
	}
	p.closers = append(p.closers, p.up.server.Close)
	dir, err := os.MkdirTemp(memory(), "economy-")
	if err != nil {
		return nil, err
	}
	p.closers = append(p.closers, func() { _ = os.RemoveAll(dir) })
	client, err := youtube.New(ctx, youtube.Config{BaseURL: p.up.server.URL + "/"})
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, dir, store.Options{Upstream: "localhost", Now: p.now})
	if err != nil {
		return nil, err
	}
	ledger, err := sqliteledger.Open(ctx, filepath.Join(dir, "quota.db"))
	if err != nil {
		return nil, err
	}
	ledger.Now = p.now
	p.closers = append([]func(){client.Close, func() { _ = s.Close() }, func() { _ = ledger.Close() }}, p.closers...)
	if err := p.wire(w, seed, o, client, s, ledger); err != nil {
		return nil, err
	}
	if w.backfill {
		p.backfill, err = addBackfill(ctx, s, from)
	}
	return p, err
}

// wire puts the parts together.
func (p *program) wire(w world, seed uint64, o options, client *youtube.Client, s *store.Store, ledger *sqliteledger.Ledger) error {
	tariff, err := tariffOf(w.units)
	if err != nil {
		return err
	}
	jobs, err := regions.NewSchedule(w.jobs())
	if err != nil {
		return err
	}
	g := &quota.Governor{Ledger: ledger, EmergencyAccount: ledger, Tariff: tariff, Account: "default", Now: p.now}
	schedule := budget.PricedSchedule{Jobs: jobs, Upstream: client, Tariff: tariff}
	reserve := &budget.ReserveCache{Now: p.now, Log: slog.New(slog.DiscardHandler), Compute: func(ctx context.Context) (budget.Reserve, error) {
		r, err := schedule.Reserve(ctx, s, p.now())
		if err == nil {
			r.Used, _ = g.ScheduledUse(ctx) // as run does
		}
		return r, err
	}}
	p.reconciler = &fetch.Reconciler{
		Jobs: map[string]ingest.Job{}, Schedule: jobs, Slots: s, Sink: s, Library: s, Upstream: client, Namer: client, Quota: g,
		Reserve: reserve.Reserve, Owner: "economy", FreeBursts: tariff.FreeBursts, Now: p.now, Date: client.AskDate, Log: slog.New(slog.DiscardHandler),
		Pause: func(_ context.Context, d time.Duration) error { p.clock.pass(d); return nil },
	}
	if !o.noPacing {
		watch := budget.OthersWatch{Notes: s, Tariff: tariff, Log: slog.New(slog.DiscardHandler)}
		p.reconciler.Pace = schedule.PaceBy(watch.Reports(g))
	}
	p.reconciler.Quota = asker{g, p}
	if o.noDoubt {
		p.reconciler.Quota = believer{g}
	}
	for _, job := range w.jobs() {
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
		a.program.probes++
	}
	return d, err
}

// believer is a governor that never doubts a refusal of the provider.
type believer struct{ *quota.Governor }

func (b believer) Drain(ctx context.Context, d quota.Decision, _ string) error {
	for _, midnight := range quota.Midnights(d.At, b.Tariff.Zone) {
		if midnight.After(d.At) {
			return b.Ledger.Drain(ctx, b.Account, "units", quota.Drain{Until: midnight})
		}
	}
	return nil
}

// addBackfill plans a search over two years, newest first.
func addBackfill(ctx context.Context, s *store.Store, now time.Time) (ingest.Backfill, error) {
	b := ingest.Backfill{Kind: ingest.BackfillSearch, Spec: ingest.BackfillSpec{Query: ingest.Query{Text: "music"}}, Table: table, Created: now}
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
