package term_test

import (
	"testing"

	"github.com/trendvidstream/ingest/internal/term"
)

func TestABarIsFullOnlyWhereAllIsUsed(t *testing.T) {
	tests := []struct {
		used, of int64
		want     string
	}{
		{0, 100, "[----------]"},
		{1, 100, "[#---------]"},
		{55, 100, "[#####-----]"},
		{99, 100, "[#########-]"},
		{100, 100, "[##########]"},
		{0, 0, "[##########]"}, // there was nothing to do
		{180, 100, "[##########]"},
		{999_999_999_999, 1_000_000_000_000, "[#########-]"},
	}
	for _, tt := range tests {
		if got := term.Bar(tt.used, tt.of, 12); got != tt.want {
			t.Errorf("%d of %d: %s, want %s", tt.used, tt.of, got, tt.want)
		}
	}
}
