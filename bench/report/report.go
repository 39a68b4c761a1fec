// Package report writes the results of the benchmarks: markdown with a table of goals, computed from the figures of one
// run, and one file that holds the documents of several programs.
package report

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// File is the file of the documents, relative to the benchmarks' module, where go run starts a program.
const File = "RESULTS.md"

// Report is one document in parts, and its goals with their outcome.
type Report struct {
	Title string // its heading, so that Write finds it again
	About string // how it is made and how to read it
	head  strings.Builder
	body  strings.Builder
	goals []goal
}

// goal is one line of the table of goals.
type goal struct {
	what, want, got string
	ok              bool
}

// Section begins a part of the document.
func (r *Report) Section(title, how string) { fmt.Fprintf(&r.body, "\n## %s\n\n%s\n\n", title, how) }

// Say adds a paragraph to the current part.
func (r *Report) Say(format string, args ...any) { fmt.Fprintf(&r.body, "\n"+format+"\n\n", args...) }

// Goal adds a line to the table of goals.
func (r *Report) Goal(what, want, got string, ok bool) {
	r.goals = append(r.goals, goal{what, want, got, ok})
}

// Table adds a table to the current part.
func (r *Report) Table(header []string, rows [][]string) { table(&r.body, header, rows) }

// Machine records the time and the machine of the figures, with these versions.
func (r *Report) Machine(versions ...string) {
	fmt.Fprintf(&r.head, "%s. %s, %d cores, %s/%s%s. %s.\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), cpu(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, load(),
		strings.Join(append([]string{runtime.Version()}, versions...), ", "))
}

// Markdown returns the document from its first goal on, without the heading.
func (r *Report) Markdown() string {
	var b strings.Builder
	b.WriteString(r.head.String())
	if len(r.goals) > 0 {
		b.WriteString("\n## Goals\n\n")
		var rows [][]string
		for _, g := range r.goals {
			verdict := "**miss**"
			if g.ok {
				verdict = "ok"
			}
			rows = append(rows, []string{g.what, g.want, g.got, verdict})
		}
		table(&b, []string{"", "goal", "measured", ""}, rows)
	}
	b.WriteString(r.body.String())
	return b.String()
}

// Write puts the document into the file, in place of the one with its title, or else at the end. It then returns
// ErrMissed if a goal that an earlier run met, by GoalsFile, is clearly missed.
func (r *Report) Write(file string) error {
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("read the results: %w", err)
	}
	mine := "# " + r.Title + "\n\n" + r.About + "\n\n" + r.Markdown()
	all := documents(string(text))
	at := slices.IndexFunc(all, func(d string) bool { return strings.HasPrefix(d, "# "+r.Title+"\n") })
	if at < 0 {
		at, all = len(all), append(all, "")
	}
	all[at] = mine
	for i := range all {
		all[i] = strings.TrimRight(all[i], "\n") + "\n"
	}
	if err := os.WriteFile(file, []byte(strings.Join(all, "\n")), 0o600); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	if err := os.Chmod(file, 0o644); err != nil { //nolint:gosec // a document for everybody
		return err
	}
	return r.checkGoals(file)
}

// documents splits a file at its first-level headings.
func documents(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "# ") || len(all) == 0 {
			all = append(all, "")
		}
		all[len(all)-1] += line
	}
	return all
}

func table(b *strings.Builder, header []string, rows [][]string) {
	line := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
}

// load returns how busy the machine was before the run, if that is known.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	one, _, _ := strings.Cut(string(text), " ")
	return ", load " + one + " before the run"
}

func cpu() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// VersionOf returns the version of a module that the program was built with.
func VersionOf(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == module {
				return d.Version
			}
		}
	}
	return "of unknown version"
}

// Median returns the median of the values; there must be at least one.
func Median(v []float64) float64 {
	sorted := slices.Sorted(slices.Values(v))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Quantile returns the smallest value that at least the share q of the values does not exceed.
func Quantile(v []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(v))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// Ratio formats a factor.
func Ratio(x float64) string { return fmt.Sprintf("%.2f x", x) }
