package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/trendvidstream/ingest/internal/config"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/regions"
)

// closeWithin is how long the files may take to close at the end: behind the passes, which have 4.5 s of
// the five seconds that a stop may take.
const closeWithin = 400 * time.Millisecond

func (a *app) serveCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Fetch what is due, all day: for systemd and containers",
		Long: `serve fetches every slot when it is due, several regions at once (concurrency:
in the config), and looks every 30 s at what a timer cannot know: a laptop that
slept, a clock that was set, a ledger that is back. It refuses a schedule that
does not fit under its quota.

Two at once on one data directory, or a serve beside ingest run, are safe and
of no use: a slot is fetched once, by whoever claims it first.

It logs to standard error: a line per finished slot, a warning where one was
stopped or failed; --quiet leaves the warnings, --json prints finished slots as
JSON lines on standard output. With --listen it answers GET /livez, /readyz and
/freshness; there is no password, so give it an address that only those reach
who may read that. Under systemd (Type=notify) it reports READY and STATUS, and
feeds the watchdog.

It ends with SIGTERM or Ctrl-C, within 5 s; a second signal ends it at once.
SIGHUP ends it in the same way, with exit code 129: the shipped unit starts it
again then, with the config as it is by that time.

Exit codes: 1 the address is taken, 77 no usable key, 78 bad config or a
schedule that does not fit, 129, 130 and 143 signals. While the ledger cannot
answer, or the key is refused, it goes on, says so at /readyz, and tries again.`,
		Example: "  ingest serve --key-file youtube.key\n  ingest serve --listen 127.0.0.1:8080",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("listen") {
				a.cfg.Listen = listen
			}
			return a.serve(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "`address` that answers /readyz (INGEST_LISTEN)")
	return cmd
}

// serve runs until ctx is done. What can be refused is refused before anything is opened, and the
// address is taken before that.
func (a *app) serve(ctx context.Context) error {
	if err := a.checkClock(ctx); err != nil {
		return err
	}
	s, err := a.newService()
	if err != nil {
		return err
	}
	l, err := listenAt(ctx, a.cfg.Listen)
	if err != nil {
		s.sendFailure(ctx, err)
		return err
	}
	ctx, stop := endOnHangup(ctx)
	defer stop(nil)
	err = s.open(ctx)
	if err != nil && exitCode(err) != exitUnavailable {
		if l != nil {
			_ = l.Close()
		}
		s.sendFailure(ctx, err)
		return err
	}
	if err != nil {
		s.warnClosed(ctx, err)
	}
	s.run(ctx, stop, l)
	return context.Cause(ctx)
}

// run is the service from its start to its end.
func (s *service) run(ctx context.Context, stop context.CancelCauseFunc, l net.Listener) {
	var running sync.WaitGroup
	address := ""
	if l != nil {
		address = "http://" + l.Addr().String() + "/"
		running.Go(func() {
			if err := web.Serve(ctx, l, s.site.Handler(), s.log); err != nil {
				stop(err)
			}
		})
	}
	running.Go(func() { s.tend(ctx) })
	running.Go(func() { s.carryOn(ctx) })
	s.greet(address)
	s.manager.send(ready, s.status())
	s.plan.Serve(ctx, s.heartbeat, s.clock.Now, s.beat)
	s.manager.send(stopping)
	s.waitForWorkers()
	running.Wait()
	s.close()
}

// beat is the heart of the service: it feeds the watchdog, and wakes who works. It waits for nobody.
func (s *service) beat(context.Context, time.Time) {
	now := time.Now()
	s.beaten.Store(&now)
	s.manager.feed()
	s.wake()
	select {
	case s.tending <- struct{}{}:
	default: // it will look anyway
	}
}

// alive is nil while the heart beats. It goes by the clock that neither a suspended machine nor a person
// moves.
func (s *service) alive() error {
	const missed = 3
	since := time.Since(*s.beaten.Load())
	if since <= missed*max(s.heartbeat, time.Second) {
		return nil
	}
	return fmt.Errorf("the scheduler has not moved for %v", since.Round(time.Second))
}

// listenAt is nil for no address.
func listenAt(ctx context.Context, address string) (net.Listener, error) {
	if address == "" {
		return nil, nil //nolint:nilnil // none is wanted
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, config.Invalid(fmt.Errorf("listen %q is not an address such as 127.0.0.1:8080", address))
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, codeError{exitError, fmt.Errorf("%w: is another ingest serve there? Give another --listen; port 0 picks a free one", err)}
	}
	return l, nil
}

// endOnHangup ends the context at SIGHUP too, which nothing else of the program catches. A second one
// kills.
func endOnHangup(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		select {
		case <-hangups:
			cancel(signalled{syscall.SIGHUP})
		case <-ctx.Done():
		}
		signal.Stop(hangups)
	}()
	return ctx, cancel
}

// heartbeat is how often the schedule is looked at: twice in the time that systemd's watchdog waits, at
// least.
func heartbeat(watchdog time.Duration) time.Duration {
	if half := watchdog / 2; half > 0 && half < regions.Heartbeat {
		return half
	}
	return regions.Heartbeat
}

var (
	errNotOpen   = errors.New("not open yet")
	errNotLooked = errors.New("not asked yet")
)
