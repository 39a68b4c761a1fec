package report_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/bench/report"
)

func TestADocumentReplacesItselfAndLeavesTheOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "RESULTS.md")
	write := func(title, got string) {
		r := report.Report{Title: title, About: "About " + title + "."}
		r.Goal("speed", "much", got, got != "none")
		r.Section("Part", "How.")
		if err := r.Write(file); err != nil && got != "none" {
			t.Fatal(err)
		}
	}
	document := func(title, got, verdict string) string {
		return "# " + title + "\n\nAbout " + title + ".\n\n\n## Goals\n\n|  | goal | measured |  |\n| --- | --- | --- | --- |\n" +
			"| speed | much | " + got + " | " + verdict + " |\n\n## Part\n\nHow.\n"
	}
	write("One", "none")
	write("Two", "some")
	write("One", "more")
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := document("One", "more", "ok") + "\n" + document("Two", "some", "ok"); string(have) != want {
		t.Errorf("the file is\n%s\nwant\n%s", have, want)
	}
	write("Two", "none")
	if have, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	if want := document("One", "more", "ok") + "\n" + document("Two", "none", "**miss**"); string(have) != want {
		t.Errorf("the file is\n%s\nwant\n%s", have, want)
	}
}

func TestAGoalThatWasMetAndIsClearlyMissedFailsTheRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), report.File)
	run := func(want, got string, ok bool) error {
		r := report.Report{Title: "One", About: "About."}
		r.Goal("speed", want, got, ok)
		r.Goal("bytes", "<= 10", "99", false) // never met
		return r.Write(file)
	}
	for _, step := range []struct {
		want, got string
		ok, fails bool
	}{
		{"<= 1.5 x redis_rate", "9.90 x (the worst of three)", false, false}, // no run has met it yet
		{"<= 1.5 x redis_rate", "1.40 x (the worst of three)", true, false},
		{"<= 1.5 x redis_rate", "1.70 x (the worst of three)", false, false},
		{"<= 1.5 x redis_rate", "1.74 x (the worst of three)", false, true},
		{"<= 1.5 x redis_rate", "1.74 x (the worst of three)", false, true}, // and stays so
		{"<= 1.6 x redis_rate", "9.90 x", false, false},                     // another goal
		{">= 12 x less", "12.10 x less", true, false},
		{">= 12 x less", "10.60 x less", false, false},
		{">= 12 x less", "10.30 x less", false, true},
		{">= 12 x less", "none", false, true},
		{"<= 4,000 bytes", "3128", true, false},
		{"<= 4,000 bytes", "4601", false, true},
		{"0", "0", true, false},
		{"0", "1", false, true},
	} {
		err := run(step.want, step.got, step.ok)
		if errors.Is(err, report.ErrMissed) != step.fails || err != nil && !step.fails {
			t.Errorf("wanted %s, measured %s: %v", step.want, step.got, err)
		}
		if text, readErr := os.ReadFile(file); readErr != nil || !strings.Contains(string(text), step.got) {
			t.Errorf("what was measured is not written: %v", readErr)
		}
	}
}

// The goals in goals.json match the results.
func TestEveryGoalThatWasMetIsStillMeasured(t *testing.T) {
	results, err := os.ReadFile(filepath.Join("..", report.File))
	if err != nil {
		t.Fatal(err)
	}
	met, err := os.ReadFile(filepath.Join("..", report.GoalsFile))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(results)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 4 || cells[3] != "ok |" {
			continue
		}
		found++
		if key := strings.TrimPrefix(cells[0], "| ") + ": " + cells[1]; !strings.Contains(string(met), `"`+key+`": true`) {
			t.Errorf("%s has no %q", report.GoalsFile, key)
		}
	}
	if found < 30 {
		t.Errorf("%d goals in %s, want at least 30", found, report.File)
	}
}
