package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/hooks"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
)

const (
	maxPingBytes = 10_000          // of a summary
	postWithin   = 5 * time.Second // one ping
)

// Pinger posts to a dead man's switch in the form of Healthchecks: URL for success, URL/start, URL/fail and
// URL/<exit status>, each with ?rid=<run id>. https://healthchecks.io/docs/http_api/
//
// Failures are logged, never with the URL in them, except a failed start, which the ping at the end makes up for.
type Pinger struct {
	to    hooks.Endpoint
	host  string // the name of this machine
	runID string // ties the pings of this process together

	Log *slog.Logger // of failures
}

// NewPinger returns a Pinger for a program of this version on this host; nil if there is no address.
func NewPinger(address ingest.Secret, version, host string, log *slog.Logger) *Pinger {
	if address.IsZero() {
		return nil
	}
	return &Pinger{to: hooks.NewEndpoint(address, version), host: term.Clean(host), runID: uuid.NewString(), Log: log}
}

// post sends a signal ("start", "fail", an exit status, or "" for success) with a summary for a person. It returns
// when the switch has answered, after postWithin, or when ctx is done.
func (p *Pinger) post(ctx context.Context, signal, command, summary string) error {
	text := fmt.Sprintf("ingest %s on %s: %s", command, p.host, summary)
	if len(text) > maxPingBytes {
		text = strings.ToValidUTF8(text[:maxPingBytes], "")
	}
	within, cancel := context.WithTimeout(ctx, postWithin)
	defer cancel()
	header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	err := p.to.Post(within, signal, url.Values{"rid": {p.runID}}, header, strings.NewReader(text))
	if err != nil && signal != "start" && !errors.Is(ctx.Err(), context.Canceled) { // not a ping that was given up
		p.Log.WarnContext(ctx, "the dead man's switch could not be reached", slog.String("error", p.to.WithoutURL(err)))
	}
	return err
}

// How long a ping may hold up the end of the program, within the five seconds of a stop.
const (
	lastPingWithin  = 2 * time.Second
	lastPingBy      = 4500 * time.Millisecond // after a signal
	startPingWithin = time.Second             // of lastPingWithin, for a start ping that is still on its way
)

// BeginRun tells the switch that a run has begun; end tells it that the run has ended, with the exit status and a
// summary. Only end waits for the switch, for two seconds at most, and a switch that cannot be reached fails nothing.
// For a nil Pinger both do nothing.
func (p *Pinger) BeginRun(ctx context.Context) (end func(status int, summary string)) {
	if p == nil {
		return func(int, string) {}
	}
	signalled := make(chan time.Time, 1)
	forget := context.AfterFunc(ctx, func() { signalled <- time.Now() })
	starting, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	started := make(chan struct{})
	go func() {
		defer close(started)
		_ = p.post(starting, "start", "run", "started\n")
	}()
	return func(status int, summary string) {
		forget()
		left := lastPingWithin
		select {
		case at := <-signalled:
			left = min(left, lastPingBy-time.Since(at))
		default:
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), left)
		defer cancel()
		select {
		case <-started:
		case <-time.After(min(startPingWithin, left/2)):
		}
		giveUp() // the switch must hear of the end last
		<-started
		_ = p.post(last, strconv.Itoa(status), "run", summary)
	}
}

const (
	pingEvery = 55 * time.Second // a little less than every second heartbeat
	// how long stale data is no failure while the workers catch up, as after a laptop's sleep
	catchUpFor = 5 * time.Minute
)

// ping tells the dead man's switch how things are, if that is due.
func (s *Service) ping(ctx context.Context) {
	var st state
	due := false
	s.state.update(func(now *state) {
		if st, due = *now, now.pingDue(); due {
			now.news, now.pinged = false, time.Now()
		}
	})
	if !due || s.Pinger == nil {
		return
	}
	signal, head := "", "well\n"
	lines, failing := s.healthLines(ctx, st)
	if failing {
		signal, head = "fail", "failing\n"
	}
	_ = s.Pinger.post(ctx, signal, "serve", head+strings.Join(lines, "\n")+"\n")
}

// ReportFailedStart tells the dead man's switch that the service could not start.
func (s *Service) ReportFailedStart(ctx context.Context, err error) {
	if s.Pinger == nil || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastPingWithin)
	defer cancel()
	_ = s.Pinger.post(ctx, "fail", "serve", "cannot start\n"+term.Clean(err.Error())+"\n")
}

// healthLines describes the service for a person who watches the switch. Running out of quota is no failure, and a
// region that is stale for that reason is none either; a failed slot or check is one.
func (s *Service) healthLines(ctx context.Context, st state) (lines []string, failing bool) {
	now := s.site.Standing(ctx)
	_, results := report.Ready(now)
	for _, r := range results {
		if r.OK || r.Check == "freshness" {
			continue
		}
		lines = append(lines, r.Check+": "+r.Detail)
		failing = failing || r.Check != "upstream" // if the upstream stays silent, some region becomes stale
	}
	if now.StoreErr != nil {
		return append(lines, term.Clean(now.StoreErr.Error())), true
	}
	catchingUp := !st.busySince.IsZero() && time.Since(st.busySince) < catchUpFor
	for _, series := range report.NewFreshness(now).Series {
		if series.Outcome == ingest.Stopped {
			lines = append(lines, fmt.Sprintf("%s stopped by quota: %s", series.Name(), series.Reason))
		} else if series.Outcome == ingest.Failed || series.Stale && series.Is.State != standing.Absent {
			lines = append(lines, series.WithReason())
			failing = failing || series.Outcome == ingest.Failed || !catchingUp
		}
	}
	return append(lines, report.StatusLine(now)), failing
}
