package quota_test

import (
	"os/exec"
	"strings"
	"testing"
)

// The first screens that a reader of the package sees are two of 80 columns.
func TestGoDocFitsTwoScreens(t *testing.T) {
	const screens, columns = 2 * 50, 80
	text, err := exec.CommandContext(t.Context(), "go", "doc", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(text)) {
		lines += max(1, (len(line)+columns-2)/columns)
	}
	if lines > screens || lines < 20 {
		t.Errorf("go doc prints %d lines, want at most %d:\n%s", lines, screens, text)
	}
	t.Logf("go doc prints %d lines of %d columns", lines, columns)
}
