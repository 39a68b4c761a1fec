package report_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/trendvidstream/ingest/bench/report"
)

func TestADocumentReplacesItselfAndLeavesTheOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "RESULTS.md")
	write := func(title, got string) {
		r := report.Report{Title: title, About: "About " + title + "."}
		r.Goal("speed", "much", got, got != "none")
		r.Section("Part", "How.")
		if err := r.Write(file); err != nil {
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
