package web

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// callBuckets are the bounds of the upstream's latency, in seconds: from a near stand-in to a call that is given up.
var callBuckets = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// Calls counts what the upstream was asked since the process began, for its metrics: each try, retries too. Safe for
// concurrent use.
type Calls struct {
	once    sync.Once
	answers *prometheus.CounterVec
	took    *prometheus.HistogramVec
}

func (c *Calls) prepare() {
	c.once.Do(func() {
		c.answers = prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ingest_upstream_calls_total", Help: "Calls that were sent to the upstream since this process began, by what its answer means.",
		}, []string{"method", "verdict"})
		c.took = prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ingest_upstream_seconds", Help: "How long the upstream took to answer, or not to.", Buckets: callBuckets,
		}, []string{"method"})
	})
}

// Observe counts one call. verdict is "ok" or what the error means.
func (c *Calls) Observe(method, verdict string, took time.Duration) {
	c.prepare()
	c.answers.WithLabelValues(method, verdict).Inc()
	c.took.WithLabelValues(method).Observe(took.Seconds())
}

// Describe implements prometheus.Collector.
func (c *Calls) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *Calls) Collect(ch chan<- prometheus.Metric) {
	c.prepare()
	c.answers.Collect(ch)
	c.took.Collect(ch)
}
