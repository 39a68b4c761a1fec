package term_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/term"
)

var stamped = time.Date(2026, 2, 14, 18, 49, 23, 400_000_000, time.UTC)

// Screens are in UTC, and in the reader's zone if TZ names one; the end of a wait is never shown too early.
func TestTimesAreInTheZoneThatTZNames(t *testing.T) {
	was := time.Local
	time.Local = time.FixedZone("Berlin", 3600)
	t.Setenv("TZ", "")
	term.UseLocalTime()
	if got, want := term.Stamp(stamped), "2026-02-14 18:49:23Z"; got != want {
		t.Errorf("without TZ: %s, want %s", got, want)
	}
	t.Setenv("TZ", "Europe/Berlin")
	t.Cleanup(func() { // while TZ is still set
		time.Local = time.UTC
		term.UseLocalTime()
		time.Local = was
	})
	term.UseLocalTime()
	if got, want := term.Stamp(stamped), "2026-02-14 19:49:23+01:00"; got != want {
		t.Errorf("with TZ: %s, want %s", got, want)
	}
	if got, want := term.StampFrom(stamped), "2026-02-14 19:49:24+01:00"; got != want {
		t.Errorf("the earliest time at which something can be done: %s, want %s", got, want)
	}
}

// Beside a time to come stands how long it is until then, on a terminal; a file or a pipe gets the time alone.
func TestRelativeTimesAreForTerminals(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if got, want := term.When(file, stamped.Add(13*time.Hour), stamped), "2026-02-15 07:49:24Z"; got != want {
		t.Errorf("into a file: %q, want %q", got, want)
	}
	for span, want := range map[time.Duration]string{
		32 * time.Second: "32s", 19*time.Minute + 59*time.Second: "19 min", 2*time.Hour + 8*time.Minute: "2 h 8 min", 47 * time.Hour: "47 h", 12 * 24 * time.Hour: "12 days",
	} {
		if got := term.Ago(span); got != want {
			t.Errorf("%v is %q, want %q", span, got, want)
		}
	}
}
