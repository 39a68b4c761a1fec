package packaging_test

import (
	"regexp"
	"strings"
	"testing"
)

var required = regexp.MustCompile(`(?m)^(?:require )?\s*([a-z0-9.]+\.[a-z]+/\S+) v\S+$`) // and no "// indirect"

func TestEveryDirectDependencyIsExplained(t *testing.T) {
	contributing := read(t, "../CONTRIBUTING.md")
	for _, m := range required.FindAllStringSubmatch(read(t, "../go.mod"), -1) {
		if !strings.Contains(contributing, "| `"+m[1]+"` | ") {
			t.Errorf("CONTRIBUTING.md does not say what %s is for", m[1])
		}
	}
}

var makeTarget = regexp.MustCompile("`make ([a-z]+)`")

func TestDocsNameTargetsThatExist(t *testing.T) {
	makefile := read(t, "../Makefile")
	found := makeTarget.FindAllStringSubmatch(read(t, "../CONTRIBUTING.md")+read(t, "../README.md"), -1)
	if len(found) == 0 {
		t.Fatal("no target named")
	}
	for _, m := range found {
		if !strings.Contains(makefile, "\n"+m[1]+":") {
			t.Errorf("make %s is named but does not exist", m[1])
		}
	}
}
