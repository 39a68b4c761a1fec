package packaging_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

var (
	runBy   = regexp.MustCompile(`<!-- run by [^>]* -->`)
	linkTo  = regexp.MustCompile(`\]\(([a-zA-Z0-9_./-]+\.(?:md|yaml|yml|png|svg|go))(?:#[^)]*)?\)`)
	scripts = regexp.MustCompile(`\w+\.txtar|Test\w+`)
)

// TestEachCommandOfTheDocsIsRun: every block of shell in the docs stands in a section that names the scripts or tests which
// run it, unless it is made of targets and tests itself; and the scripts that are named exist.
func TestEachCommandOfTheDocsIsRun(t *testing.T) {
	tests := testsOfTheTree(t)
	for _, file := range docFiles(t) {
		for _, section := range strings.Split(read(t, file), "\n## ") {
			title, _, _ := strings.Cut(section, "\n")
			said := runBy.FindString(section)
			for i, part := range strings.Split(section, "```sh\n") {
				block, _, _ := strings.Cut(part, "```")
				ours := strings.Contains("\n"+block, "\ningest ") || strings.Contains("\n"+block, "\nexport ")
				if i > 0 && ours && said == "" && !strings.Contains(section, "A test runs this section") && title != "The move" {
					t.Errorf("%s, %s: nothing runs this:\n%s", file, title, block)
				}
			}
			for _, name := range scripts.FindAllString(said, -1) {
				if !tests[name] {
					t.Errorf("%s, %s: there is no %s", file, title, name)
				}
			}
		}
	}
}

// TestTheIndexLeadsToEachPage, and every link to a file leads to one that exists.
func TestTheIndexLeadsToEachPage(t *testing.T) {
	index := read(t, "../docs/README.md")
	for _, file := range docFiles(t) {
		if name := filepath.Base(file); name != "README.md" && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md does not lead to %s", name)
		}
		for _, m := range linkTo.FindAllStringSubmatch(read(t, file), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

var (
	inLegend = regexp.MustCompile(`>([^<]+): ([0-9.]+ h) on average<`)
	curve    = regexp.MustCompile(`<path d="M(?:[^L"]*L){99}[^"]*" style="fill:none;stroke:(#[0-9A-F]{6});`) // a hundred points
)

// TestTheEconomyPictureHasACurveForEachName: as many curves as names, each in its own color, and README gives the same
// means.
func TestTheEconomyPictureHasACurveForEachName(t *testing.T) {
	svg, readme := read(t, "../bench/economy.svg"), read(t, "../README.md")
	names, curves := map[string]bool{}, map[string]bool{}
	for _, m := range inLegend.FindAllStringSubmatch(svg, -1) {
		names[m[1]] = true
		if !strings.Contains(readme, m[2]) {
			t.Errorf("README does not give the mean age of %s, %s", m[1], m[2])
		}
	}
	drawn := curve.FindAllStringSubmatch(svg, -1)
	for _, m := range drawn {
		curves[m[1]] = true
	}
	if len(names) != 2 || len(curves) != len(names) || len(drawn) != len(names) {
		t.Errorf("%d names, %d curves in %d colors: want 2 of each", len(names), len(drawn), len(curves))
	}
}

func docFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../docs/*.md")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d pages, %v, want at least 10", len(files), err)
	}
	return files
}

var makeTarget = regexp.MustCompile("`make ([a-z0-9-]+)`")

func TestDocsNameTargetsThatExist(t *testing.T) {
	makefile, proofs := read(t, "../Makefile"), read(t, "../tools/prove.sh")
	found := makeTarget.FindAllStringSubmatch(read(t, "../CONTRIBUTING.md")+read(t, "../README.md"), -1)
	if len(found) == 0 {
		t.Fatal("README and CONTRIBUTING name 0 targets of make, want at least 1")
	}
	for _, m := range found {
		if !strings.Contains(makefile, "\n"+m[1]+":") && !strings.Contains(proofs, "\n"+m[1]+" | ") {
			t.Errorf("make %s is named but does not exist", m[1])
		}
	}
}

var mapped = regexp.MustCompile("(?m)^\\| [^|]+ \\| (`[^|]+`) \\| (`[^|]+`) \\| ([a-z, -]+) \\|$")

// suites are tests that several packages run.
var suites = regexp.MustCompile(`/quotatest/\w+\.go$`)

// testsOfTheTree returns the names of all tests, functions and scripts.
func testsOfTheTree(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && d.Name()[0] == '.': // written by every make test: go would not cache the result
			return fs.SkipDir
		case strings.HasSuffix(path, ".txtar"):
			tests[filepath.Base(path)] = true
		case strings.HasSuffix(path, "_test.go"), suites.MatchString(filepath.ToSlash(path)):
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+|test\w+)\(`).FindAllStringSubmatch(read(t, path), -1) {
				tests[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

// An action is named by its digest, which cannot be moved, and may read the repository only.
func TestActionsArePinnedAndMayOnlyRead(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	used := regexp.MustCompile(`uses: *(\S+)`)
	pinned := regexp.MustCompile(`@[0-9a-f]{40}$`)
	for _, file := range files {
		text := read(t, file)
		for _, m := range used.FindAllStringSubmatch(text, -1) {
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s: %s is not pinned by its digest", file, m[1])
			}
		}
		if !strings.Contains(text, "\npermissions:\n  contents: read\n") || strings.Contains(text, ": write") {
			t.Errorf("%s has rights beyond reading the repository", file)
		}
	}
}

// threats are the rows of SECURITY.md: the third column names tests.
var threats = regexp.MustCompile("(?m)^\\| [^|]+ \\| [^|]+ \\| (`(?:Test|Fuzz)[^|]+`) \\|$")

func TestEachThreatNamesATestThatExists(t *testing.T) {
	tests := testsOfTheTree(t)
	_, text, _ := strings.Cut(read(t, "../SECURITY.md"), "\n## Threats\n")
	rows := threats.FindAllStringSubmatch(text, -1)
	if lines := strings.Count(text, "\n| ") - 1; len(rows) != lines || lines < 10 {
		t.Fatalf("%d of %d threats name a test", len(rows), lines)
	}
	for _, row := range rows {
		for name := range strings.SplitSeq(strings.ReplaceAll(row[1], "`", ""), ", ") {
			if suite, part, isPart := strings.Cut(name, "/"); !tests[suite] || isPart && !tests["test"+part] {
				t.Errorf("SECURITY.md names a test that does not exist: %s", name)
			}
		}
	}
}

// TestThePromisesNameExistingThings: each file of docs/promises.md, each test, as a function or as a script, and the target
// that runs it.
func TestThePromisesNameExistingThings(t *testing.T) {
	tests := testsOfTheTree(t)
	text := read(t, "../docs/promises.md")
	rows := mapped.FindAllStringSubmatch(text, -1)
	if lines := strings.Count(text, "\n| ") - 1; len(rows) != lines || lines < 30 {
		t.Fatalf("%d of %d rows are read", len(rows), lines)
	}
	long := regexp.MustCompile(`(?m)^LONG = (.*)$`).FindStringSubmatch(read(t, "../Makefile"))
	if long == nil {
		t.Fatal("the Makefile has no line LONG = ..., want one")
	}
	for _, row := range rows {
		for file := range strings.SplitSeq(strings.ReplaceAll(row[1], "`", ""), ", ") {
			if _, err := os.Stat(filepath.Join("..", file)); err != nil {
				t.Errorf("docs/promises.md names a file that is not there: %v", err)
			}
		}
		var targets []string
		for name := range strings.SplitSeq(strings.ReplaceAll(row[2], "`", ""), ", ") {
			target := "test"
			if regexp.MustCompile("^"+long[1]).MatchString(name) || isLongScript(t, name) {
				target = "test-long"
			}
			if !slices.Contains(targets, target) {
				targets = append(targets, target)
			}
			name, part, isPart := strings.Cut(name, "/") // go test -run takes it as it is
			if !tests[name] || isPart && !tests["test"+part] {
				t.Errorf("docs/promises.md names a test that does not exist: %s %s", name, part)
			}
		}
		slices.Sort(targets)
		if want := strings.Join(targets, ", "); row[3] != want {
			t.Errorf("docs/promises.md: %s is run by %s, not by %s", row[2], want, row[3])
		}
	}
}

// isLongScript says whether a script stands where only make test-long runs it.
func isLongScript(t *testing.T, name string) bool {
	t.Helper()
	if !strings.HasSuffix(name, ".txtar") {
		return false
	}
	short, err := filepath.Glob(filepath.Join("../cmd/ingest/testdata/script", name))
	if err != nil {
		t.Fatal(err)
	}
	return len(short) == 0
}
