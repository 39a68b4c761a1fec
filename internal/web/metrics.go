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

// nearMiss is a share of a ceiling: a purpose with no more than this share left is nearly stopped.
const nearMiss = 0.05

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("ingest_"+name, help, labels, nil)
}

// The metrics of a scrape. Each scrape reads the ledger and the store, so that the figures include the work of other
// processes; only the figures "since this process began" are this process's own. Labels are names from the config and
// from costs.yaml, purposes and outcomes, so their number is bounded.
var (
	buildInfo = desc("build_info", "Always 1; the labels name the versions.", "version", "goversion")
	readable  = desc("source_readable",
		"Whether the ledger and the store could be read for this scrape, 1 or 0.", "source")

	condition = desc("condition", "State of a part: 0 good, 1 unknown or not begun, "+
		"2 less than was configured, 3 bad; the table in docs/faq.md lists the causes.", "part", "cause")

	usedUnits  = desc("quota_used_units", "Units of a pool that a window counts as used.", "pool", "window")
	limitUnits = desc("quota_limit_units", "Units of a pool that may be used in a window.", "pool", "window")
	freesAt    = desc("quota_window_frees_timestamp_seconds",
		"When a window next has more room: its oldest entry leaves, or the provider's day turns.", "pool", "window")
	ceilingUnits = desc("quota_ceiling_units",
		"Used units of a pool at which a purpose must stop.", "pool", "purpose")
	remainingUnits = desc("quota_remaining_units", "Units of a pool that a purpose may still use.", "pool", "purpose")
	nearMisses     = desc("quota_near_miss",
		"1 while a purpose has at most 5 % of its ceiling left.", "pool", "purpose")
	spentUnits = desc("quota_spent_units", "Units spent within the longest window, by spender.", "pool",
		"purpose", "method", "client")
	savedUnits = desc("quota_saved_units",
		"Cost of the calls that the gateway answered without asking, since the provider's midnight.", "pool")
	takes = desc("quota_takes", "admitted: takes within the longest window; "+
		"refused: slots of the last 24 hours that quota has stopped or keeps waiting.", "outcome")
	emergencyUnits = desc("quota_emergency_units",
		"Units spent within the last 24 hours while the ledger could not answer.", "pool")
	emergencyLeft = desc("quota_emergency_remaining_units", "Units of a pool that the schedule may still use "+
		"while the ledger cannot answer; absent while the ledger answers, and if no call goes on without the ledger.", "pool")
	drained    = desc("quota_drained", "1 while the provider's refusal closes a pool.", "pool")
	driftUnits = desc("quota_drift_units",
		"Units that the provider had counted and the ledger had not, when the provider last refused a call.", "pool")
	degraded      = desc("quota_degraded", "1 while the ledger cannot answer.")
	degradedTime  = desc("quota_degraded_seconds_total", "How long the ledger could not answer since this process began.")
	forecastUnits = desc("quota_forecast_units", "The schedule's greatest need before the provider's day ends.", "pool")
	forecastFits  = desc("quota_forecast_fits", "1 if the quota has room for the schedule and for retries.")

	apiRequests = desc("api_requests_total",
		"Requests under /v1/ since this process began, by rate-limit outcome.", "outcome")
	limitWindows = desc("limit_decisions_total",
		"Decisions of each window of the limits per client since this process began; "+
			"decision is allowed, refused, or would_refuse if serve only observes it.", "limit", "route", "window", "decision")
	limitNear = desc("limit_near_misses_total", "Requests since this process began that left at most 5 % of a window.",
		"limit", "route", "window")
	apiRefunds = desc("api_refunds_total",
		"Charges given back to clients because serve answered with an error of its own.")
	apiShared = desc("api_shared_total", "Requests of clients that share an account, since there are too many clients.")

	upstreamCalls = desc("upstream_calls_total",
		"Calls to the upstream since the store was made, by the meaning of the answer.", "method", "verdict")
	upstreamUp = desc("upstream_up",
		"1 if the upstream answered the newest call, even with a refusal; 0 if it gave no usable answer.")
	keyRefused      = desc("upstream_key_refused", "1 if the upstream has refused the key and has not accepted it since.")
	upstreamSeconds = desc("upstream_seconds", "How long calls took until they were answered or failed.", "method")

	slots       = desc("slots", "Slots that were due within the last 24 hours, by outcome.", "job", "outcome")
	hookWaiting = desc("hook_events_waiting", "Events that wait for delivery to a hook.", "hook")
	hookTries   = desc("hook_failed_tries", "Failed tries of a hook in a row; 0 while the hook works.", "hook")
	lastBackup  = desc("backup_last_timestamp_seconds", "When ingest backup last made a copy; absent if it never did.")
	lastSuccess = desc("job_last_success_timestamp_seconds", "When a job last fetched its data.", "job")
	age         = desc("freshness_age_seconds", "Time since the newest done slot was due.", "job", "region")
	interval    = desc("freshness_interval_seconds", "Time from the newest done slot to the next slot.", "job", "region")
	overdue     = desc("freshness_overdue_seconds",
		"How long an overdue slot has waited for a run; 0 if no slot is overdue.", "job", "region")
	short = desc("freshness_short", "1 if the newest chart is empty or has less than a third of its usual videos; "+
		"the age is then the age of the last whole chart.", "job", "region")
	stale = desc("freshness_stale",
		"1 if the newest done slot is older than stale_after intervals, or if no slot was ever done.", "job", "region")
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
			refused++ // no run has attempted the waiting slot
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

// metrics answers a scrape of Prometheus. It shows an unreadable source as source_readable 0, not as an error.
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
