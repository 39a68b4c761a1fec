// Package service runs ingest serve. The schedule wakes the workers at every slot and every heartbeat; a second loop
// maintains everything else: it opens the parts that could not be opened, asks the ledger, and reports the state to
// systemd and a dead man's switch; a third continues the backfills that wait for quota.
//
// A service goes on if its ledger is down or its key is refused: that is logged once, shown at /readyz, and tried
// again.
package service

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/hooks"
	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/regions"
)

// closeWithin is how long the files may take to close at the end, after the passes, which have 4.5 s of the five
// seconds that a stop may take.
const closeWithin = 400 * time.Millisecond

// Options configure a service before its store is open. For its parts once it is open see Runtime.
type Options struct {
	Schedule   regions.Schedule
	Version    string // of the program
	Moved      string // says that the clock was moved; "": it was not
	Workers    int    // passes at once
	Upstream   string // its name
	AccessLog  bool   // each request is logged
	StaleAfter int    // intervals until a region counts as stale
	Now        func() time.Time
	Stderr     io.Writer // where the log goes
	Quiet      bool      // only failures
	LogFormat  LogFormat
	About      []slog.Attr  // the configuration in the first line of the log
	Pinger     *Pinger      // tells the dead man's switch; nil: there is none
	Admin      net.Listener // serves all but /v1/ and /livez; nil: the main address does
	// Gateway is where other tools spend the same quota, by GatewayHandler; nil: nowhere.
	Gateway        net.Listener
	GatewayHandler http.Handler
	Pages          pages.Site     // how the pages look; the service adds their content
	API            *web.API       // the handler under /v1/, from Runtime.Documents; nil: nothing
	Hosts          []string       // host names that requests may use, besides localhost and addresses
	BasePath       string         // where visitors see the site, such as /ingest; "": at the root of their host
	Proxies        []netip.Prefix // who may name another BasePath

	// Open opens everything. If it fails with an error that is Temporary, the service runs without and tries again at
	// every heartbeat.
	Open      func(context.Context) (*Runtime, error)
	Temporary func(error) bool
	// OpenReader opens the readable parts while Open fails: the Store, Source, Documents and Close of a Runtime. why
	// returns the error of Open. nil: nothing.
	OpenReader func(ctx context.Context, why func() error) (*Runtime, error)
	// Reopen reports whether an error of the ledger means that everything must be closed and opened again. nil: never.
	Reopen func(error) bool
	// Outdated reports whether an error means that a newer program has changed the data: the service ends with a
	// LoggedError, and leaves all work to the newer one. nil: never.
	Outdated func(error) bool
	OnSlot   func(ingest.SlotResult) error // prints a slot that has ended; nil: none is printed
}

// Runtime holds the opened store, ledger and upstream of a service. Options opens one, again after a move.
type Runtime struct {
	Reconciler func() *fetch.Reconciler // a new one for each use
	// Reserve returns the amounts that a backfill's calls leave for the schedule.
	Reserve   func(context.Context) (func(context.Context) quota.Reserve, error)
	Store     Store
	Ledger    Ledger
	Source    *web.Source       // the source of the metrics
	Documents *report.Documents // the source of the API's answers
	// Stand returns the standing by the facts of the store and a report of the ledger; nil: the schedule is as configured.
	Stand func(context.Context, standing.Facts, quota.Report) (standing.Standing, error)
	// Queue starts workers from a queue that many machines share; nil: this process's own workers fetch the due
	// slots.
	Queue func(context.Context, *Queued) (trigger, wait func(), err error)
	// MayWork returns why this machine must leave the queue to the others, and an error if that is not known. nil without
	// a Queue, as are the next two.
	MayWork func(context.Context) (why, err error)
	// ReportIdle reports to the other machines why this one does not work; nil: it works again.
	ReportIdle func(ctx context.Context, why error) error
	// OtherIdle returns the other machines that do not work.
	OtherIdle func(context.Context) ([]ingest.IdleMachine, error)
	Hooks     *hooks.Sender         // sends events to programs and addresses; may be nil
	Save      func(context.Context) // saves the knowledge of this process alone; every heartbeat calls it
	Close     func()
}

// Store is the part of the store that the service reads.
type Store interface {
	standing.Store
	// Check reads a little, and returns where the store is.
	Check(context.Context) (path string, err error)
	Room() error // why it has no room for one more answer
	// WaitingBackfills returns the backfills that the service may continue.
	WaitingBackfills(context.Context) ([]ingest.Backfill, error)
}

// Ledger reports the rest, which costs nothing.
type Ledger interface {
	Report(context.Context) (quota.Report, error)
}

// Service is all that ingest serve does until its context ends: the schedule, the pages, the API and backfills.
type Service struct {
	Options

	log       *slog.Logger
	warnings  *slog.Logger  // failures, for callers whose successes are logged elsewhere
	watchdog  time.Duration // of the service manager; 0: none
	heartbeat time.Duration
	maintain  chan struct{} // asks the maintenance loop to look
	end       func(error)   // ends Run with that error
	outdated  sync.Once
	site      *web.Site
	state     stateBox
	outcomes  map[ingest.Series]outcome // the latest of each series

	stops        []ingest.SlotResult // stopped by quota and not logged yet
	stoppedUntil time.Time           // RetryAt of the stop that was logged last
}

// outcome is how a slot of a series has ended.
type outcome struct {
	dueAt time.Time
	state ingest.State
}

// New makes a service. Nothing is opened yet.
func New(o Options) *Service {
	s := &Service{Options: o, watchdog: watchdog(), maintain: make(chan struct{}, 1),
		outcomes: map[ingest.Series]outcome{}}
	s.heartbeat, s.state.state.beat = heartbeat(s.watchdog), time.Now()
	s.log, s.warnings = newLogs(o.Stderr, o.Quiet, o.LogFormat)
	if o.Pinger != nil {
		o.Pinger.Log = s.log
	}
	s.site = s.newSite()
	return s
}

// Log returns the service's log, for all that works for it.
func (s *Service) Log() *slog.Logger { return s.log }

// LoggedError ends a service, and is in its log already.
type LoggedError struct{ error }

func (e LoggedError) Unwrap() error { return e.error }

// endIfOutdated ends the service if err says that a newer program has taken over. Only the first such error is logged.
func (s *Service) endIfOutdated(ctx context.Context, err error) bool {
	if err == nil || s.Outdated == nil || !s.Outdated(err) {
		return false
	}
	s.outdated.Do(func() {
		s.log.ErrorContext(ctx, "a newer program has changed the tables: this one ends, and leaves all work to it; "+
			"install the newer program here", slog.Any("error", err))
		s.end(LoggedError{err})
	})
	return true
}

// Run serves until ctx is done, and meanwhile answers at l unless that is nil. It returns the cause of the end, or an
// error of Open that is not Temporary.
func (s *Service) Run(ctx context.Context, l net.Listener) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer s.API.Close()
	s.end = stop
	if err := s.open(ctx); err != nil {
		if !s.Temporary(err) {
			for _, l := range []net.Listener{l, s.Admin, s.Gateway} {
				if l != nil {
					_ = l.Close()
				}
			}
			s.ReportFailedStart(ctx, err)
			return err
		}
		s.warnNotOpen(ctx, err)
	}
	var running sync.WaitGroup
	serve := func(l net.Listener, h http.Handler) (address string) {
		running.Go(func() {
			if err := web.Serve(ctx, l, h, s.log); err != nil {
				stop(err)
			}
		})
		return "http://" + l.Addr().String() + "/"
	}
	answer := func(l net.Listener, h http.Handler) (address string) {
		if l == nil {
			return "nowhere"
		}
		s.warnReachable(ctx, l)
		return serve(l, h)
	}
	public := s.site.Handler()
	if s.Admin != nil {
		public = s.site.PublicHandler()
		s.About = append(s.About, slog.String("admin", answer(s.Admin, s.site.Handler())))
	}
	address := answer(l, public)
	if s.Gateway != nil {
		s.About = append(s.About, slog.String("gateway", serve(s.Gateway, s.site.Logged(s.GatewayHandler))))
	}
	running.Go(func() { s.runMaintenance(ctx) })
	running.Go(func() { s.continueBackfills(ctx) })
	s.log.LogAttrs(ctx, slog.LevelInfo, "ingest serves",
		append(s.About, slog.Time("next", s.Schedule.Next(s.Now())), slog.String("listen", address))...)
	notify(daemon.SdNotifyReady, "STATUS="+s.status())
	s.Schedule.Serve(ctx, s.heartbeat, s.Now, s.beat)
	notify(daemon.SdNotifyStopping)
	if wait := s.state.read().wait; wait != nil {
		wait() // within 4.5 s of the stop
		s.logStops()
	}
	running.Wait()
	s.close()
	if reader := s.state.read().reader; reader != nil {
		reader.Close()
	}
	return context.Cause(ctx)
}

// warnReachable warns of an address that other machines can reach.
func (s *Service) warnReachable(ctx context.Context, l net.Listener) {
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		s.log.WarnContext(ctx, "other machines can reach this address, which needs no password: "+
			"listen at 127.0.0.1, or let only permitted clients connect",
			slog.String("listen", "http://"+a.String()+"/"))
	}
}

// beat is the heartbeat of the service: it feeds the watchdog and wakes the workers and the maintenance. It never
// blocks.
func (s *Service) beat(context.Context, time.Time) {
	s.state.update(func(st *state) { st.beat = time.Now() })
	if s.watchdog > 0 {
		notify(daemon.SdNotifyWatchdog) // from here only: a service that hangs has to be restarted
	}
	s.wake()
	s.askMaintenance()
}

// checkAlive returns nil while the scheduler beats. It goes by the monotonic clock, which neither a suspended machine
// nor a person moves.
func (s *Service) checkAlive() error {
	const missed = 3
	since := time.Since(s.state.read().beat)
	if since <= missed*max(s.heartbeat, time.Second) {
		return nil
	}
	return fmt.Errorf("the scheduler has not moved for %v", since.Round(time.Second))
}

// heartbeat returns how often the schedule is examined: at least twice in the time after which systemd's watchdog
// fires.
func heartbeat(watchdog time.Duration) time.Duration {
	if half := watchdog / 2; half > 0 && half < regions.Heartbeat {
		return half
	}
	return regions.Heartbeat
}

// watchdog returns the time after which the service manager, systemd or another that speaks its protocol, restarts a
// service that has not fed it; 0: never.
func watchdog() time.Duration {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return 0 // the variables are not from systemd
	}
	return every
}

// notify tells the service manager, if there is one: sd_notify(3). A message that does not arrive is lost: there is
// no place left to report it to.
func notify(lines ...string) { _, _ = daemon.SdNotify(false, strings.Join(lines, "\n")) }
