package arrows_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the drawing into docs/architecture.md")

const architecture = root + "/docs/architecture.md"

// The drawing of docs/architecture.md is made from the table of arrows.
func TestArchitectureShowsTheArrows(t *testing.T) {
	text := readPage(t)
	before, rest, began := strings.Cut(text, "```text\n")
	_, after, ended := strings.Cut(rest, "```\n")
	if !began || !ended {
		t.Fatal("docs/architecture.md has no drawing, want one in ```text")
	}
	want := before + "```text\n" + drawing() + "```\n" + after
	if *update {
		if err := os.WriteFile(architecture, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != want {
		t.Errorf("the drawing in docs/architecture.md: got\n%s\nwant\n%s\nwrite it: go test ./tools/arrows -run Architecture -update", text, want)
	}
}

// The walks of docs/architecture.md and CONTRIBUTING.md name functions in the files where they stand.
func TestArchitectureNamesFunctionsThatExist(t *testing.T) {
	guide, err := os.ReadFile(root + "/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := regexp.MustCompile("`([a-z/]+\\.go)`: `(\\w+)`").FindAllStringSubmatch(readPage(t)+string(guide), -1)
	if len(steps) < 20 {
		t.Fatalf("only %d steps are read, want at least 20", len(steps))
	}
	for _, step := range steps {
		code, err := os.ReadFile(filepath.Join(root, step[1]))
		if err != nil {
			t.Error(err)
		} else if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + step[2] + `[\[(]`).Match(code) {
			t.Errorf("a walk: %s has no function %s", step[1], step[2])
		}
	}
}

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// drawing lists the packages in floors: each imports only from floors below its own.
func drawing() string {
	floors := map[int][]string{}
	for pkg := range arrows {
		if !strings.HasPrefix(pkg, "tools/") {
			floors[floor(pkg)] = append(floors[floor(pkg)], pkg)
		}
	}
	var b strings.Builder
	for n := len(floors) - 1; n >= 0; n-- {
		fmt.Fprintf(&b, "%d ", n)
		slices.Sort(floors[n])
		width := 2
		for _, pkg := range floors[n] {
			if width += 2 + len(pkg); width > 100 {
				b.WriteString("\n  ")
				width = 4 + len(pkg)
			}
			b.WriteString("  " + pkg)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// floor is 0 for a package that imports none of ours, else one above the highest that it imports.
func floor(pkg string) int {
	n := 0
	for _, to := range arrows[pkg] {
		if to == "*" {
			for other := range arrows {
				if other != pkg && !strings.HasPrefix(other, "tools/") {
					n = max(n, floor(other)+1)
				}
			}
			continue
		}
		n = max(n, floor(to)+1)
	}
	return n
}
