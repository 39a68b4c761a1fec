package packaging_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAPatternOfTestsNamesTests: each name in the Makefile's and tools/prove.sh's patterns is in the name of a test, so
// that no renamed test drops out of them.
func TestAPatternOfTestsNamesTests(t *testing.T) {
	tests, checked := strings.Join(slices.Collect(maps.Keys(testsOfTheTree(t))), "\n"), 0
	for _, file := range []string{"../Makefile", "../tools/prove.sh"} {
		for _, pattern := range regexp.MustCompile(`\bTest[\[(][^ '\n]+|\^Test[^ '\n]+`).FindAllString(read(t, file), -1) {
			for _, word := range regexp.MustCompile(`[A-Z][a-z][A-Za-z0-9]{3,}`).FindAllString(strings.Replace(pattern, "Test", "", 1), -1) {
				if checked++; !strings.Contains(tests, word) {
					t.Errorf("%s has the pattern %s, and no test is named %s", file, pattern, word)
				}
			}
		}
	}
	if checked < 40 {
		t.Errorf("%d names are checked, want at least 40", checked)
	}
}
