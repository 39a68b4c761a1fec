package term_test

import (
	"testing"

	"github.com/trendvidstream/ingest/internal/term"
)

func TestATimeIsNotBrokenInTwo(t *testing.T) {
	got := term.Wrap("next due 2026-02-14 10:07:30Z, or later", 24, "  ")
	if want := "next due\n  2026-02-14 10:07:30Z,\n  or later"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
