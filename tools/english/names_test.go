package english_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// longestName is the most letters of a test's name, with "Test".
const longestName = 59

var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

func TestNamesOfTestsAreShort(t *testing.T) {
	names := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && d.Name()[0] == '.': // written by every make test: go would not cache the result
			return fs.SkipDir
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(os.DirFS(root), file)
		for _, name := range testName.FindAllStringSubmatch(string(text), -1) {
			if names++; len(name[1]) > longestName {
				t.Errorf("%s: %s has %d letters, want at most %d: which word says nothing?", file, name[1], len(name[1]), longestName)
			}
		}
		return err
	})
	if err != nil || names < 1000 {
		t.Errorf("read %d names, %v: the scan is broken, want at least 1000", names, err)
	}
}
