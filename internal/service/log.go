package service

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/trendvidstream/ingest/internal/term"
)

// How long until the same warning or error is worth another line: trouble at every heartbeat must not bury the
// rest, and trouble that stops all fetching must not be forgotten.
const (
	repeatWarning = time.Hour
	repeatError   = 10 * time.Minute
)

// newLogs makes two loggers that write to w. log writes all events or, when quiet, only failures. warnings always
// writes only failures, for callers whose successes are logged elsewhere.
func newLogs(w io.Writer, quiet bool, f LogFormat) (log, warnings *slog.Logger) {
	lines := &deduplicator{w: w, written: map[string]time.Time{}}
	usual := slog.LevelInfo
	if quiet {
		usual = slog.LevelWarn
	}
	return slog.New(f.Handler(lines, usual)), slog.New(f.Handler(lines, slog.LevelWarn))
}

// LogFormat is how log lines are written. The zero LogFormat is text, of the usual level.
type LogFormat struct {
	Format string // text, or json: one JSON object a line
	Level  string // debug, info, warn or error: the lowest level that is logged; "": the usual
}

// Handler returns a handler that writes records of the usual level or above to w, unless the format names a level.
func (f LogFormat) Handler(w io.Writer, usual slog.Level) slog.Handler {
	o := &slog.HandlerOptions{Level: usual, ReplaceAttr: formatAttr}
	var level slog.Level
	if f.Level != "" && level.UnmarshalText([]byte(f.Level)) == nil {
		o.Level = level
	}
	if f.Format == "json" {
		return slog.NewJSONHandler(w, o)
	}
	return slog.NewTextHandler(w, o)
}

// formatAttr writes the times of an event as --json does, in whole seconds that are never too early, and durations
// with their unit, in JSON too. The time of the log line itself stays as slog writes it.
func formatAttr(_ []string, a slog.Attr) slog.Attr {
	switch {
	case a.Key == slog.TimeKey:
	case a.Value.Kind() == slog.KindTime:
		if at := term.FromOrNull(a.Value.Time()); at != nil {
			a.Value = slog.StringValue(term.RFC3339(*at))
		}
	case a.Value.Kind() == slog.KindDuration:
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// deduplicator leaves out warnings that it wrote a short while ago. slog's handlers write each record in one
// piece, and begin it with its time and level.
type deduplicator struct {
	w io.Writer

	mu      sync.Mutex
	written map[string]time.Time // when each warning was last written, by its text without its time
}

func (d *deduplicator) Write(line []byte) (int, error) {
	const most = 1000 // warnings remembered
	d.mu.Lock()
	defer d.mu.Unlock()
	end := " "
	if bytes.HasPrefix(line, []byte("{")) {
		end = ","
	}
	_, text, _ := bytes.Cut(line, []byte(end))
	if !bytes.HasPrefix(text, []byte("level=INFO")) && !bytes.HasPrefix(text, []byte(`"level":"INFO"`)) {
		after := repeatWarning
		if bytes.HasPrefix(text, []byte("level=ERROR")) || bytes.HasPrefix(text, []byte(`"level":"ERROR"`)) {
			after = repeatError
		}
		if last, ok := d.written[string(text)]; ok && time.Since(last) < after {
			return len(line), nil
		}
		if len(d.written) >= most {
			clear(d.written)
		}
		d.written[string(text)] = time.Now()
	}
	return d.w.Write(line)
}
