// Command store measures the store of this project: how fast charts are saved, how little space they take, how fast and
// how evenly it searches, compared with other designs. It prints tables in markdown; every verdict in them is computed
// from the figures of the same run.
//
//	go run ./store [-write] [-small] [-only writing,size,search,fts5,run,processes,pages,served] [-rows 1000000] [-beside 300000] [-turns 5] [-searches 200] [-keep DIR]
//
// It needs gcc, for the peer that is SQLite in C. Exit: 0 measured, even if goals are missed; 1 something could not be
// measured, or, with -write, a goal that was met before is missed by more than 15 % (goals.json); 2 usage.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/trendvidstream/ingest/bench/report"
)

const title = "The store, measured"

const howToRun = "`make bench`, or in `bench/`: `go run ./store -write`" + `. It needs gcc, for SQLite in C, and some nine minutes. ` +
	"`-small`" + ` is a
tenth of it, ` + "`-only writing,size,search`" + ` runs parts, ` + "`-rows N`" + ` says how many generated videos the large store
holds, ` + "`-keep DIR`" + ` keeps the generated stores for the next run. Real rows are the recorded charts of ` + "`../shared/data/trending`" + `;
generated ones spread their words as unevenly as a language does. Everything here is the output of one run; ok and miss are
computed from its figures. Compare ratios: milliseconds belong to the machine.`

const titleProgram = "The program, measured"

const howToRunProgram = "In `bench/`: `go run ./store -only run,processes,pages -write`" + `, or with all others by ` + "`make bench`" + `. Everything here is the
output of one run; ok and miss are computed from its figures. Compare ratios: milliseconds belong to the machine.`

// fts5 is a section with its own document, since it is also run alone.
const fts5 = "fts5"

const titleFTS5 = "Searches beside plain FTS5"

const howToRunFTS5 = "In `bench/`: `go run ./store -only fts5 -write`" + `, or with all others by ` + "`make bench`" + `. Everything here is the output of
one run; ok and miss are computed from its figures. Compare ratios: milliseconds belong to the machine.`

// served is such a section, too.
const served = "served"

const titleServed = "Pages under load, measured"

const howToRunServed = "In `bench/`: `go run ./store -only served -write`" + `, or with all others by ` + "`make bench`" + `. It needs node to be
complete. Everything here is the output of one run; ok and miss are computed from its figures. Compare ratios.`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// options are the flags.
type options struct {
	write    bool
	sections []string
	rows     int    // in the large store; the other has a tenth of them
	fts5Rows int    // in the store that is compared with FTS5
	keep     string // where filled stores are kept
	load     string // the directory to load charts into: this process is one of two drivers
	repeats  int    // of measurements in turns
	searches int    // of each kind
}

var (
	storeSections   = []string{"writing", "size", "search"}
	programSections = []string{"run", "processes", "pages"}
	sectionNames    = slices.Concat(storeSections, []string{fts5}, programSections, []string{served})
)

func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(args, stderr)
	if err != nil {
		return 2
	}
	if o.load != "" {
		err = loadOnce(ctx, o, stdout)
	} else {
		err = measure(ctx, o, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "store: %v\n", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{repeats: 5, searches: 200, fts5Rows: 300_000}
	f := flag.NewFlagSet("store", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.BoolVar(&o.write, "write", false, "also write the tables to "+report.File)
	small := f.Bool("small", false, "a tenth of the rows and fewer turns: shows that it works, and little else")
	only := f.String("only", strings.Join(sectionNames, ","), "the `PARTS` to measure")
	f.IntVar(&o.rows, "rows", 1_000_000, "how many videos the large store holds; the other holds a tenth")
	f.IntVar(&o.fts5Rows, "beside", o.fts5Rows, "size of the store, in videos, for asking plain FTS5 too")
	f.IntVar(&o.repeats, "turns", o.repeats, "number of turns of the measurements in turns")
	f.IntVar(&o.searches, "searches", o.searches, "how often each kind of search is done")
	f.StringVar(&o.keep, "keep", "", "a `DIR` for the generated stores, used again by the next run with the same code; empty: none stay")
	f.StringVar(&o.load, "load", "", "`DIR`: load the charts into it and say how long it took (the program starts itself so)")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if *small {
		o.rows, o.fts5Rows, o.repeats, o.searches = o.rows/10, o.fts5Rows/10, 2, 50
	}
	o.sections = strings.Split(*only, ",")
	for _, s := range o.sections {
		if !slices.Contains(sectionNames, s) {
			err := fmt.Errorf("-only %s: use some of %s", s, strings.Join(sectionNames, ","))
			fmt.Fprintln(stderr, "store:", err)
			return o, err
		}
	}
	if o.rows < 10_000 || o.repeats < 1 || o.searches < 10 || f.NArg() > 0 {
		err := fmt.Errorf("rows are at least 10,000, turns above 0, searches at least 10, and nothing follows the flags: %q", f.Args())
		fmt.Fprintln(stderr, "store:", err)
		return o, err
	}
	return o, nil
}

// bench is one run.
type bench struct {
	options
	dir    string // for all files of the run
	real   []chart
	report *report.Report
	say    func(format string, args ...any) // progress messages
}

// measure runs the requested parts one after the other, since they would disturb each other.
func measure(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	b := &bench{options: o}
	b.say = func(format string, args ...any) { fmt.Fprintf(stderr, "store: "+format+"\n", args...) }
	if b.dir, err = os.MkdirTemp("", "store"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if b.real, err = recorded(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, d := range []struct {
		title, about string
		sections     []string
	}{
		{title, howToRun, storeSections},
		{titleFTS5, howToRunFTS5, []string{fts5}},
		{titleProgram, howToRunProgram, programSections},
		{titleServed, howToRunServed, []string{served}},
	} {
		d.sections = slices.DeleteFunc(slices.Clone(d.sections), func(name string) bool { return !slices.Contains(o.sections, name) })
		if len(d.sections) == 0 {
			continue
		}
		b.report = &report.Report{Title: d.title, About: d.about}
		if err := b.document(ctx, d.sections); err != nil {
			return err
		}
		fmt.Fprint(stdout, b.report.Markdown())
		if o.write {
			if err := b.report.Write(report.File); err != nil {
				return err
			}
		}
	}
	return nil
}

// document measures the sections of one document.
func (b *bench) document(ctx context.Context, sections []string) error {
	if err := machine(ctx, b.report); err != nil {
		return err
	}
	if len(b.real) == 0 && slices.Contains(storeSections, sections[0]) {
		b.say("NO REAL ROWS: ../shared/data/trending is absent")
		b.report.Say("**Without the real rows: `../shared/data/trending` was absent.**")
	}
	parts := map[string]func(context.Context) error{
		"writing": b.writing, "size": b.size, "search": b.searching, fts5: b.besideFTS5, "run": b.aRun, "processes": b.processes, "pages": b.pages, served: b.served,
	}
	for _, name := range sections {
		b.say("%s", name)
		if err := parts[name](ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// machine describes the machine of the figures.
func machine(ctx context.Context, r *report.Report) error {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var version string
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return err
	}
	mattn, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "github.com/mattn/go-sqlite3").Output()
	if err != nil {
		return fmt.Errorf("ask go for the version of mattn/go-sqlite3: %w", err)
	}
	r.Machine("SQLite "+version+" by modernc.org/sqlite "+report.VersionOf("modernc.org/sqlite"),
		"mattn/go-sqlite3 "+strings.TrimSpace(string(mattn)), "bleve "+report.VersionOf("github.com/blevesearch/bleve/v2"))
	return nil
}
