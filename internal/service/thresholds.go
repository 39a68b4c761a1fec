package service

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota"
)

// thresholds are the percentages of the schedule's ceiling at which a warning is sent. A pool that is closed counts as
// used up.
var thresholds = []int64{60, 80, 95}

const (
	sentDir    = "told"          // in the data directory: marks what was sent, for every process that works there
	sendAgain  = 5 * time.Minute // one try in every five minutes, until one succeeds
	forgetSent = 48 * time.Hour
)

// Thresholds tells a webhook, and a dead man's switch, that the schedule has used 60, 80 or 95 % of its ceiling of a
// pool: each of them once in a day of the provider, whichever process of the data directory notices. If several are
// passed at once, only the highest is sent.
//
// Its failures stop nothing: they are logged, never with the URL in them, and the warning is tried again.
type Thresholds struct {
	dir      string
	now      func() time.Time
	channels []channel

	Log *slog.Logger // of what goes wrong
}

// channel is one way to send a warning.
type channel struct {
	name string
	send func(context.Context, Warning) error
	hide func(error) string // takes the secret out of an error
}

// Warning is the JSON that a webhook receives. Text says everything, in the field that chat programs show.
type Warning struct {
	Event     string        `json:"event"` // quota_threshold
	Text      string        `json:"text"`
	At        time.Time     `json:"at"`
	Host      string        `json:"host"`
	Account   string        `json:"account"`
	Pool      string        `json:"pool"`
	Window    string        `json:"window"`
	Purpose   quota.Purpose `json:"purpose"`
	Threshold int64         `json:"threshold_percent"`
	Used      int64         `json:"used"`
	Ceiling   int64         `json:"ceiling"`
	ResetsAt  *time.Time    `json:"resets_at"` // when the window next has more room, or the pool is opened

	day string // the provider's, by the date of its end
}

// NewThresholds returns a Thresholds that keeps what was sent in the data directory dir; nil if neither a webhook nor
// a switch is configured. A nil Thresholds does nothing.
func NewThresholds(dir string, webhook ingest.Secret, p *Pinger, version string, now func() time.Time, log *slog.Logger) *Thresholds {
	t := &Thresholds{dir: filepath.Join(dir, sentDir), now: now, Log: log}
	if !webhook.IsZero() {
		e := newEndpoint(webhook, version)
		t.channels = append(t.channels, channel{"webhook", func(ctx context.Context, w Warning) error {
			body, _ := json.Marshal(w) // strings and numbers
			return e.send(ctx, "", nil, "application/json", string(body))
		}, e.withoutURL})
	}
	if p != nil { // as an event of the check's log: quota that is used up is no failure
		t.channels = append(t.channels, channel{"healthchecks", func(ctx context.Context, w Warning) error {
			return p.post(ctx, "log", "quota", w.Text+"\n")
		}, p.withoutURL})
	}
	if len(t.channels) == 0 {
		return nil
	}
	return t
}

// Check sends the warnings that the report calls for. It returns when all channels have answered, after postWithin, or
// when ctx is done.
func (t *Thresholds) Check(ctx context.Context, r quota.Report) {
	if t == nil || r.Degraded != nil {
		return
	}
	var sending sync.WaitGroup
	for _, p := range r.Pools {
		w := warningFor(r, p)
		for _, c := range t.channels {
			if t.claim(ctx, c, w) {
				sending.Go(func() { t.send(ctx, c, w) })
			}
		}
	}
	sending.Wait()
}

// warningFor returns the warning for the fullest window of a pool, with the highest threshold that it has passed; 0 if
// none.
func warningFor(r quota.Report, p quota.PoolReport) (w Warning) {
	percent := int64(-1)
	day := term.Second(r.At).Format("20060102")
	for _, window := range p.Windows {
		ceiling := p.Ceilings[quota.Scheduled] * window.Window.Limit / max(p.Limit, 1) // the report's ceiling is for the smallest limit
		if part := 100 * window.Used / max(ceiling, 1); part > percent {
			percent = part
			w = Warning{Window: window.Window.Name, Used: window.Used, Ceiling: ceiling, ResetsAt: term.FromOrNull(window.FreesAt)}
		}
		if window.Window.Day() && !window.FreesAt.IsZero() {
			day = window.FreesAt.UTC().Format("20060102")
		}
	}
	closed := ""
	if !p.DrainedUntil.IsZero() {
		percent, closed, w.ResetsAt = 100, "; closed until "+term.StampFrom(p.DrainedUntil), term.FromOrNull(p.DrainedUntil)
	}
	w.Event, w.At, w.Host, w.Account, w.Pool, w.Purpose, w.day = "quota_threshold", term.Second(r.At), hostname(), r.Account, p.Pool, quota.Scheduled, day
	for _, at := range thresholds {
		if percent >= at {
			w.Threshold = at
		}
	}
	w.Text = fmt.Sprintf("%s: %d %% of what the schedule may use are passed: %s of %s in window %s%s", p.Pool, w.Threshold, term.Thousands(w.Used), term.Thousands(w.Ceiling), w.Window, closed)
	if closed == "" && w.ResetsAt != nil {
		w.Text += "; more from " + term.StampFrom(*w.ResetsAt)
	}
	return w
}

func (t *Thresholds) markFile(c channel, w Warning, threshold int64) string {
	return filepath.Join(t.dir, fmt.Sprintf("%s-%s-%s-%d-%s", w.day, w.Account, w.Pool, threshold, c.name))
}

// claim reports whether this process is to send the warning now: it was not sent, and no process has tried within
// sendAgain. Only one process can create the file.
func (t *Thresholds) claim(ctx context.Context, c channel, w Warning) bool {
	if w.Threshold == 0 || ctx.Err() != nil {
		return false
	}
	mark := t.markFile(c, w, w.Threshold)
	if _, err := os.Stat(mark); err == nil {
		return false
	}
	try := fmt.Sprintf("%s.try-%d", mark, t.now().Unix()/int64(sendAgain/time.Second))
	if _, err := os.Stat(t.dir); err != nil {
		_ = os.Mkdir(t.dir, 0o700) // if it fails, so does what follows
	}
	f, err := os.OpenFile(try, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		if !os.IsExist(err) {
			t.Log.WarnContext(ctx, "a warning is not sent: what was sent cannot be recorded", slog.String("error", err.Error()))
		}
		return false
	}
	_ = f.Close()
	return true
}

// send sends the warning, and marks its threshold and those below it as sent.
func (t *Thresholds) send(ctx context.Context, c channel, w Warning) {
	t.removeOldMarks()
	if err := c.send(ctx, w); err != nil {
		t.Log.WarnContext(ctx, "a warning could not be sent; trying again", slog.String("to", c.name), slog.String("pool", w.Pool), slog.String("error", c.hide(err)))
		return
	}
	for _, at := range thresholds {
		if at <= w.Threshold {
			if err := os.WriteFile(t.markFile(c, w, at), nil, 0o600); err != nil {
				t.Log.WarnContext(ctx, "a warning was sent, but that could not be recorded", slog.String("error", err.Error()))
			}
		}
	}
}

// removeOldMarks removes the files of days that have passed, including those of tries that failed.
func (t *Thresholds) removeOldMarks() {
	files, _ := os.ReadDir(t.dir)
	for _, file := range files {
		if info, err := file.Info(); err == nil && time.Since(info.ModTime()) > forgetSent {
			_ = os.Remove(filepath.Join(t.dir, file.Name()))
		}
	}
}
