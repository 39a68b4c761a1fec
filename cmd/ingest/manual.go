//go:build manual

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"

	"github.com/trendvidstream/ingest/internal/term"
)

// Built with the tag manual, as by make dist, the program writes its manual pages into the directory INGEST_MANUAL and
// ends. The shipped program leaves this out: text/template would make it 10 MB larger. The pages' date is
// SOURCE_DATE_EPOCH, which cobra reads.
func init() {
	root := newRoot(&app{console: console{stdout: &term.CheckedWriter{To: os.Stdout}, stderr: os.Stderr}})
	root.DisableAutoGenTag = true // it holds today's date
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "ingest", Manual: "ingest"},
		os.Getenv("INGEST_MANUAL")); err != nil {
		fmt.Fprintf(os.Stderr, "manual: %v\n", err)
		os.Exit(1)
	}
	os.Exit(0)
}
