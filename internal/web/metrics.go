package web

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/standing"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota/httplimit"
)

// nearMiss is the share of a ceiling at or below which a purpose counts as nearly stopped.
const nearMiss = 0.05

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("ingest_"+name, help, labels, nil)
}

// The metrics of a scrape. Every figure is read from the ledger and the store at that moment, so that it includes
// other processes' work. Labels are names of the config and of costs.yaml, purposes and outcomes, so their number is
// bounded.
var (
	buildInfo = desc("build_info", "1: which program this is.", "version", "goversion")
	readable  = desc("source_readable",
		"Whether the ledger and the store could be read for this scrape, 1 or 0.", "source")

	condition = desc("condition", "How bad a part is: 0 good, 1 not known or not begun, "+
		"2 less than was configured, 3 bad; cause is a cause of the table in docs/faq.md.", "part", "cause")

	usedUnits  = desc("quota_used_units", "Use of a window of a pool, in units of the pool.", "pool", "window")
	limitUnits = desc("quota_limit_units", "How much of a pool may be used in a window.", "pool", "window")
	freesAt    = desc("quota_window_frees_timestamp_seconds",
		"When a window next has more room: its oldest entry leaves, or the provider's day turns.", "pool", "window")
	ceilingUnits = desc("quota_ceiling_units",
		"How much of a pool a purpose may see used before it must stop.", "pool", "purpose")
	remainingUnits = desc("quota_remaining_units", "Amount that a purpose may still draw of a pool.", "pool", "purpose")
	nearMisses     = desc("quota_near_miss",
		"1 while at most 5 % of the ceiling of a purpose are left.", "pool", "purpose")
	spentUnits = desc("quota_spent_units", "Spenders of the longest window's use.", "pool",
		"purpose", "method", "client")
	savedUnits = desc("quota_saved_units",
		"Cost of the calls that the gateway answered without asking, since the provider's midnight.", "pool")
	takes = desc("quota_takes", "Admitted takes, as the longest window counts them, "+
		"and slots of the last 24 hours that quota has stopped, including the waiting ones.", "outcome")
	emergencyUnits = desc("quota_emergency_units",
		"Calls within the last 24 hours while the ledger could not answer.", "pool")
	emergencyLeft = desc("quota_emergency_remaining_units", "Amount that the schedule may still "+
		"draw of a pool while the ledger cannot answer; absent while it can, and where nothing goes on without it.", "pool")
	drained    = desc("quota_drained", "1 while the provider's refusal closes a pool.", "pool")
	driftUnits = desc("quota_drift_units",
		"Units the provider had counted but this ledger had not, at the last refusal.", "pool")
	degraded      = desc("quota_degraded", "1 while the ledger cannot answer.")
	degradedTime  = desc("quota_degraded_seconds_total", "How long the ledger could not answer since this process began.")
	forecastUnits = desc("quota_forecast_units", "The schedule's greatest need before the provider's day ends.", "pool")
	forecastFits  = desc("quota_forecast_fits", "1 where that is left, with room for retries.")

	apiRequests = desc("api_requests_total",
		"Requests under /v1/ since this process began, by rate-limit outcome.", "outcome")
	limitWindows = desc("limit_decisions_total",
		"Decisions of each window of the limits per client since this process began; "+
			"decision is allowed, refused, or would_refuse where the limit is observed.", "limit", "route", "window", "decision")
	limitNear = desc("limit_near_misses_total", "Requests since this process began that left at most 5 % of a window.",
		"limit", "route", "window")
	apiRefunds = desc("api_refunds_total",
		"Charges of clients that were given back, because the answer was an error of ours.")
	apiShared = desc("api_shared_total", "Requests of clients without an account of their own.")

	upstreamCalls = desc("upstream_calls_total",
		"Calls to the upstream since the store was made, by the meaning of the answer.", "method", "verdict")
	upstreamUp = desc("upstream_up",
		"1 while the newest call was answered, 0 while the upstream gives no usable answer.")
	keyRefused      = desc("upstream_key_refused", "1 while the newest call with a verdict on the key had it refused.")
	upstreamSeconds = desc("upstream_seconds", "How long the upstream took to answer, or not to.", "method")

	slots       = desc("slots", "Slots that were due within the last 24 hours, by outcome.", "job", "outcome")
	hookWaiting = desc("hook_events_waiting", "Events that a hook is yet to be told.", "hook")
	hookTries   = desc("hook_failed_tries", "Tries in a row at which a hook failed; 0 while it works.", "hook")
	lastBackup  = desc("backup_last_timestamp_seconds", "When ingest backup last made a copy; absent if it never did.")
	lastSuccess = desc("job_last_success_timestamp_seconds", "When a job last fetched its data.", "job")
	age         = desc("freshness_age_seconds", "How long ago the newest slot that is done was due.", "job", "region")
	interval    = desc("freshness_interval_seconds", "How long it is from that slot to the next one.", "job", "region")
	overdue     = desc("freshness_overdue_seconds",
		"For how long a slot has been due that no run has come to; 0: none.", "job", "region")
	short = desc("freshness_short", "1 for a chart that comes empty or with less than a third of its usual size; "+
		"its age is the age of the whole one before.", "job", "region")
	stale = desc("freshness_stale",
		"1 for what is older than stale_after intervals, or was never done.", "job", "region")
)

// outcomes are all states of a slot.
var outcomes = []ingest.State{ingest.Due, ingest.Claimed, ingest.Done, ingest.Stopped, ingest.Failed,
	ingest.Skipped, ingest.Missed}

// collector exports one overview. It keeps no data for the next scrape.
type collector struct {
	overview
	version string
	serving bool // the process lives long enough to time an outage
	limits  *httplimit.Limiter
}

// Describe sends nothing: the set of series depends on the config.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(buildInfo, 1, c.version, runtime.Version())
	gauge(readable, truth(c.Quota != nil && !c.Quota.Degraded), "ledger")
	gauge(readable, truth(c.Standing.StoreErr == nil), "store")
	if c.Standing.Latest.Hooks != nil {
		gauge(condition, float64(c.Standing.Hooks.State), "hooks", string(c.Standing.Hooks.Cause))
	}
	for name, h := range c.Standing.Latest.Hooks {
		gauge(hookWaiting, float64(h.Waiting), name)
		gauge(hookTries, float64(h.Tries), name)
	}
	for part, is := range map[string]standing.Condition{"store": c.Standing.Store, "ledger": c.Standing.Ledger,
		"upstream": c.Standing.Upstream, "quota": c.Standing.Quota, "charts": c.Standing.Charts} {
		gauge(condition, float64(is.State), part, string(is.Cause))
	}
	if c.serving {
		ch <- prometheus.MustNewConstMetric(degradedTime, prometheus.CounterValue, c.degraded.Seconds())
	}
	if c.limits != nil {
		c.collectLimits(ch)
	}
	if c.Quota != nil {
		c.collectQuota(gauge)
	}
	if c.Standing.StoreErr == nil {
		c.collectSlots(gauge)
		c.collectCalls(ch)
		if contact := c.Standing.Calls.Contact(); !contact.AskedAt.IsZero() &&
			(c.Standing.Upstream.Cause != standing.NotAsked || c.Standing.Upstream.Since.IsZero()) {
			gauge(upstreamUp, truth(contact.SilentSince.IsZero()))
			gauge(keyRefused, truth(contact.KeyRefused()))
		}
		if !c.Backup.IsZero() {
			gauge(lastBackup, seconds(c.Backup))
		}
	}
}

// collectCalls exports the upstream calls of all processes that have written to the store.
func (c collector) collectCalls(ch chan<- prometheus.Metric) {
	for method, stats := range c.Standing.Calls {
		var all uint64
		for verdict, n := range stats.Verdicts {
			ch <- prometheus.MustNewConstMetric(upstreamCalls, prometheus.CounterValue, float64(n), method, verdict)
			all += uint64(n)
		}
		below, buckets := uint64(0), map[float64]uint64{}
		for i, n := range stats.Buckets {
			below += uint64(n)
			buckets[ingest.CallBuckets[i]] = below
		}
		ch <- prometheus.MustNewConstHistogram(upstreamSeconds, all, stats.Seconds, buckets, method)
	}
}

func (c collector) collectLimits(ch chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	stats := c.limits.Stats()
	for outcome, n := range map[string]int64{
		"allowed": stats.Allowed, "refused": stats.Refused, "observed": stats.Observed, "overloaded": stats.Overloaded,
		"denied":       stats.Denied,
		"unauthorized": stats.Unauthorized, "repeated": stats.Repeated, "failed_open": stats.FailedOpen,
		"failed_closed": stats.FailedClosed,
	} {
		count(apiRequests, n, outcome)
	}
	count(apiRefunds, stats.Refunded)
	count(apiShared, stats.Shared)
	for _, w := range c.limits.Windows() {
		refused := "refused"
		if w.Observed {
			refused = "would_refuse"
		}
		count(limitWindows, w.Allowed, w.Limit, w.Route, w.Window, "allowed")
		count(limitWindows, w.Refused, w.Limit, w.Route, w.Window, refused)
		count(limitNear, w.Near, w.Limit, w.Route, w.Window)
	}
}

func (c collector) collectQuota(gauge func(*prometheus.Desc, float64, ...string)) {
	gauge(degraded, truth(c.Quota.Degraded))
	gauge(takes, float64(c.admitted), "admitted")
	for pool, n := range c.Quota.Saved {
		gauge(savedUnits, float64(n), pool)
	}
	for pool, n := range c.Emergency {
		gauge(emergencyUnits, float64(n), pool)
	}
	for _, l := range c.Quota.EmergencyLeft {
		gauge(emergencyLeft, float64(l.Remaining), l.Pool)
	}
	for _, p := range c.Quota.Pools {
		for _, w := range p.Windows {
			gauge(usedUnits, float64(w.Used), p.Pool, w.Window)
			gauge(limitUnits, float64(w.Limit), p.Pool, w.Window)
			if at := w.FreesAt(); at != nil {
				gauge(freesAt, seconds(*at), p.Pool, w.Window)
			}
		}
		for _, each := range p.Purposes {
			gauge(ceilingUnits, float64(each.Ceiling), p.Pool, string(each.Purpose))
			gauge(remainingUnits, float64(each.Remaining), p.Pool, string(each.Purpose))
			gauge(nearMisses, truth(float64(each.Remaining) <= nearMiss*float64(each.Ceiling)), p.Pool, string(each.Purpose))
		}
		gauge(drained, truth(p.DrainedUntil != nil), p.Pool)
		gauge(driftUnits, float64(p.Drift), p.Pool)
	}
	type spender struct{ pool, purpose, method, client string }
	spent := map[spender]int64{}
	for _, s := range c.Quota.Spent {
		spent[spender{s.Pool, string(s.Purpose), s.Method, s.Client}] += s.Amount
	}
	for who, n := range spent {
		gauge(spentUnits, float64(n), who.pool, who.purpose, who.method, who.client)
	}
	if !c.Quota.Degraded {
		for pool, n := range c.Quota.Forecast.Scheduled {
			gauge(forecastUnits, float64(n), pool)
		}
		gauge(forecastFits, truth(c.Quota.Forecast.Fits))
	}
}

func (c collector) collectSlots(gauge func(*prometheus.Desc, float64, ...string)) {
	type kind struct{ job, outcome string }
	count := map[kind]int{}
	succeeded := map[string]time.Time{}
	refused := 0
	for _, series := range c.Standing.Series {
		if series.State == standing.Waiting && series.Ended.State != ingest.Stopped {
			refused++ // it was not even attempted
		}
		for _, outcome := range outcomes {
			count[kind{series.Job, string(outcome)}] = 0 // so that a rate begins at 0, not at the first event
		}
		gauge(stale, truth(series.Stale), series.Job, series.Key)
		gauge(short, truth(series.State == standing.Empty || series.State == standing.Shrunk), series.Job, series.Key)
		late := 0.0
		if !series.OverdueSince.IsZero() {
			late = c.Standing.Now.Sub(series.OverdueSince).Truncate(time.Second).Seconds()
		}
		gauge(overdue, late, series.Job, series.Key)
		gauge(interval, series.Interval.Truncate(time.Second).Seconds(), series.Job, series.Key)
		if !series.Done.DueAt.IsZero() {
			gauge(age, series.Age.Truncate(time.Second).Seconds(), series.Job, series.Key)
		}
		if at := series.SucceededAt(); at.After(succeeded[series.Job]) {
			succeeded[series.Job] = at
		}
	}
	for _, s := range c.Slots {
		count[kind{s.Job, string(s.Outcome)}] += s.Ticks()
	}
	for labels, n := range count {
		gauge(slots, float64(n), labels.job, labels.outcome)
		if labels.outcome == string(ingest.Stopped) {
			refused += n
		}
	}
	gauge(takes, float64(refused), "refused")
	for job, at := range succeeded {
		gauge(lastSuccess, seconds(at), job)
	}
}

// WriteMetrics writes the metrics once, in the text format of Prometheus. If the store cannot be read, it writes the
// other metrics and returns the reason.
func (s *Status) WriteMetrics(ctx context.Context, w io.Writer) error {
	o := s.overview(ctx)
	return cmp.Or(s.encodeMetrics(o, w, expfmt.NewFormat(expfmt.TypeTextPlain), false), o.Standing.StoreErr)
}

func (s *Status) encodeMetrics(o overview, w io.Writer, format expfmt.Format, serving bool) error {
	registry := prometheus.NewRegistry()
	c := collector{overview: o, version: s.Version, serving: serving}
	c.limits = s.Limits
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		return err
	}
	encoder := expfmt.NewEncoder(w, format)
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return err
		}
	}
	return nil
}

// metrics serves Prometheus. A source that cannot be read is shown as a figure, not as an error.
func (s *Status) metrics(w http.ResponseWriter, r *http.Request) {
	format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultAcceptedFormats()...)
	var all bytes.Buffer
	if err := s.encodeMetrics(s.overview(r.Context()), &all, format, true); err != nil {
		http.Error(w, term.Clean(err.Error()), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", string(format))
	_, _ = w.Write(all.Bytes()) // the scraper may be gone
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
