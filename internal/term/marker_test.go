package term_test

import (
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/term"
)

func TestMarksFitTheirColumns(t *testing.T) {
	tests := []struct {
		title string
		spans [][2]int
		want  string
	}{
		{"The trailer", [][2]int{{4, 11}}, "The [trailer]   "},
		{"The trailer of the year", [][2]int{{4, 11}}, "The [trailer] o…"},
		{"A long way to the trailer", [][2]int{{18, 25}}, "…the [trailer]  "},
		{"A long way trailer", [][2]int{{11, 18}}, "…way [trailer]  "},
		{"\x1b東京タワー x", [][2]int{{3, 6}}, "東京[タワー] x  "},
		{"\xff\xfeab", [][2]int{{2, 3}}, "[a]b            "},
		{"A long way to see the show", [][2]int{{22, 26}}, "…see the [show] "},
		{"A trailer of the trailer", [][2]int{{2, 9}, {17, 24}}, "A [trailer] of …"},
		{"Extraordinarylongword of words", [][2]int{{0, 21}}, "Extraordinarylo…"}, // wider than the columns
		{"東京タワー東京タワー東京タワー", [][2]int{{12, 14}}, "…ワー東京[タワ]…"},
		{"abc", nil, "abc             "},
		{"a b c d e f g h", [][2]int{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}}, "[a] [b] [c] [d]…"},
	}
	for _, tt := range tests {
		if got := term.Brackets.Pad(tt.title, tt.spans, 16); term.Width(got) != 16 || got != tt.want {
			t.Errorf("%q: %q of %d columns, want %q", tt.title, got, term.Width(got), tt.want)
		}
		if got := term.Bold.Pad(tt.title, tt.spans, 16); term.Width(strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(got)) != 16 {
			t.Errorf("%q: bold, %q, want 16", tt.title, got)
		}
	}
}
