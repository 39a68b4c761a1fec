package hide_test

import (
	"testing"

	"github.com/trendvidstream/ingest/internal/hide"
)

func TestASecretAndItsPartsAreMasked(t *testing.T) {
	for _, tt := range []struct{ text, secret, want string }{
		{"no user hunter2hunter2, sorry", "hunter2hunter2", "no user **************, sorry"},
		{`cut "hunter2hun"`, "hunter2hunter2", `cut "**********"`},
		{"hunt is short", "hunter2hunter2", "hunt is short"},
		{"short: abc", "abc", "short: ***"},
		{"none", "", "none"},
		{"", "hunter2hunter2", ""},
	} {
		text := []byte(tt.text)
		if hide.In(text, tt.secret); string(text) != tt.want {
			t.Errorf("%s in %s: %s, want %s", tt.secret, tt.text, text, tt.want)
		}
	}
}
