package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/bench/report"
)

// loaded is how long a design took for a first and a second pass over the same rows, in milliseconds.
type loaded struct{ First, Second float64 }

// again returns the charts once more, later than all of them: every video with a few more views, and one in 200 with
// another title, the same wherever it is charted. Under 1 % of the recorded sightings change text.
func again(charts []chart) []chart {
	out := make([]chart, len(charts))
	later := charts[len(charts)-1].at.Sub(charts[0].at) + every
	for i, c := range charts {
		out[i] = chart{c.region, c.at.Add(later), append(c.videos[:0:0], c.videos...)}
		for j := range out[i].videos {
			v := &out[i].videos[j]
			if v.Views != nil {
				more := *v.Views + 17
				v.Views = &more
			}
			if crc32.ChecksumIEEE([]byte(v.ID))%200 == 0 {
				v.Title += " (again)"
			}
		}
	}
	return out
}

// load saves the charts twice. Only the rows are measured: the store's slots, which the other designs lack, are ready.
func load(ctx context.Context, s saver, first, second []chart) (l loaded, err error) {
	save := func(charts []chart) (sum float64, err error) {
		for _, c := range charts {
			if err := s.begin(ctx, c); err != nil {
				return sum, err
			}
			took, err := timed(func() error { return s.save(ctx, c) })
			if err != nil {
				return sum, err
			}
			sum += took
		}
		return sum, nil
	}
	if l.First, err = save(first); err != nil {
		return l, err
	}
	l.Second, err = save(second)
	return l, err
}

// designs are compared with each other.
var designs = []struct {
	name string
	open func(ctx context.Context, dir string) (saver, error)
}{
	{"ours", func(ctx context.Context, dir string) (saver, error) { return openOurs(ctx, dir) }},
	{"naive", func(ctx context.Context, dir string) (saver, error) { return openNaive(ctx, dir) }},
	{"no index", func(ctx context.Context, dir string) (saver, error) { return openUnindexed(ctx, dir) }},
}

// corpus is a set of rows to load.
type corpus struct {
	name   string
	charts []chart
}

// corpora are a quarter of the recorded charts, of 20 days, here half an hour apart as in the program, and generated
// charts.
func (b *bench) corpora() []corpus {
	var all []corpus
	if n := len(b.real); n > 0 {
		all = append(all, corpus{"real rows", halfHourly(b.real[:n/4])})
	}
	return append(all, corpus{"generated rows", newGenerator().charts(b.rows / 100)})
}

// halfHourly returns the charts as if each came half an hour after the previous one of its region.
func halfHourly(charts []chart) []chart {
	out, next := slices.Clone(charts), map[ingest.Region]time.Time{}
	for i := range out {
		c := &out[i]
		if next[c.region].IsZero() {
			next[c.region] = began
		}
		c.at = next[c.region]
		next[c.region] = c.at.Add(every)
	}
	slices.SortStableFunc(out, func(a, b chart) int { return a.at.Compare(b.at) })
	return out
}

// writing compares designs, then drivers, then measures the pass that the program makes.
func (b *bench) writing(ctx context.Context) error {
	b.report.Section("Rows in", fmt.Sprintf("Charts saved page by page, each page one durable transaction (WAL, synchronous full), as of every half hour; "+
		"then the same charts again, with other views, and a new title for one video in 200. A slot is added and claimed before the clock starts. %d turns, the designs one after the other in each; medians of rows "+
		"per second, and of the ratio turn by turn. Naive deletes and inserts the row and its text at every sighting; no index is the store's own table "+
		"without search.", b.repeats))
	var rows [][]string
	for _, c := range b.corpora() {
		got, n, err := b.beside(ctx, c)
		if err != nil {
			return err
		}
		for _, d := range designs {
			line := []string{c.name, d.name}
			for _, pass := range []func(loaded) float64{first, second} {
				line = append(line, fmt.Sprintf("%.0f", 1000*float64(n)/median(got[d.name], pass)), report.Ratio(over(got[d.name], got["ours"], pass)))
			}
			rows = append(rows, line)
		}
		b.report.Goal("second pass over the same rows, "+c.name, ">= 5 x naive", report.Ratio(over(got["naive"], got["ours"], second)), over(got["naive"], got["ours"], second) >= 5)
		b.report.Goal("second pass over the same rows, "+c.name, ">= 0.6 x no index", report.Ratio(over(got["no index"], got["ours"], second)), over(got["no index"], got["ours"], second) >= 0.6)
	}
	b.report.Table([]string{"rows", "design", "first pass, rows/s", "its time / ours", "second pass, rows/s", "its time / ours"}, rows)
	if err := b.drivers(ctx); err != nil {
		return err
	}
	return b.pass(ctx)
}

func first(l loaded) float64  { return l.First }
func second(l loaded) float64 { return l.Second }

func median(all []loaded, value func(loaded) float64) float64 {
	v := make([]float64, len(all))
	for i, l := range all {
		v[i] = value(l)
	}
	return report.Median(v)
}

// over returns the median of the ratios of two, turn by turn.
func over(a, b []loaded, value func(loaded) float64) float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = value(a[i]) / value(b[i])
	}
	return report.Median(ratios)
}

// beside loads the corpus into every design, in turns, and counts its rows.
func (b *bench) beside(ctx context.Context, c corpus) (map[string][]loaded, int, error) {
	got, n := map[string][]loaded{}, 0
	for _, ch := range c.charts {
		n += len(ch.videos)
	}
	more := again(c.charts)
	for i := range b.repeats {
		for _, d := range designs {
			b.say("%s, %s, turn %d", c.name, d.name, i+1)
			err := b.inDir(func(dir string) error {
				s, err := d.open(ctx, dir)
				if err != nil {
					return err
				}
				l, err := load(ctx, s, c.charts, more)
				got[d.name] = append(got[d.name], l)
				return errors.Join(err, s.Close())
			})
			if err != nil {
				return nil, 0, fmt.Errorf("%s, %s: %w", c.name, d.name, err)
			}
		}
	}
	return got, n, nil
}

// inDir runs do with a temporary directory.
func (b *bench) inDir(do func(dir string) error) error {
	dir, err := os.MkdirTemp(b.dir, "load")
	if err != nil {
		return err
	}
	return errors.Join(do(dir), os.RemoveAll(dir))
}

// drivers loads the same rows by the same code through two drivers of SQLite: this program as it is, and built again
// with mattn/go-sqlite3 in place of modernc.org/sqlite.
func (b *bench) drivers(ctx context.Context) error {
	other := filepath.Join(b.dir, "with-mattn")
	if err := buildWithMattn(ctx, b.dir, other); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var ours, theirs []loaded
	for i := range b.repeats {
		b.say("drivers, turn %d", i+1)
		for _, p := range []struct {
			program string
			into    *[]loaded
		}{{self, &ours}, {other, &theirs}} {
			err := b.inDir(func(dir string) error {
				out, err := exec.CommandContext(ctx, p.program, "-rows", fmt.Sprint(b.rows), "-load", dir).Output()
				if err != nil {
					var failed *exec.ExitError
					if errors.As(err, &failed) {
						err = fmt.Errorf("%w: %s", err, failed.Stderr)
					}
					return err
				}
				var l loaded
				err = json.Unmarshal(out, &l)
				*p.into = append(*p.into, l)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", filepath.Base(p.program), err)
			}
		}
	}
	f, s := over(theirs, ours, first), over(theirs, ours, second)
	b.report.Say("The same code with SQLite in C (mattn/go-sqlite3), the first corpus, in turns of one process each:")
	b.report.Table([]string{"driver", "first pass, ms", "second pass, ms"}, [][]string{
		{"modernc.org/sqlite", ms(median(ours, first)), ms(median(ours, second))},
		{"mattn/go-sqlite3", ms(median(theirs, first)), ms(median(theirs, second))},
		{"as fast as mattn", report.Ratio(f), report.Ratio(s)},
	})
	b.report.Goal("first load", ">= 0.7 x mattn/go-sqlite3", report.Ratio(f), f >= 0.7)
	return nil
}

// loadOnce makes the steps of the two programs.
func loadOnce(ctx context.Context, o options, stdout io.Writer) error {
	b := &bench{options: o}
	var err error
	if b.real, err = recorded(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s, err := openOurs(ctx, o.load)
	if err != nil {
		return err
	}
	charts := b.corpora()[0].charts
	l, err := load(ctx, s, charts, again(charts))
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(l)
}

// opened is where the project names its driver. packaging/bench_test.go checks that it occurs once.
const opened = `sql.Open("sqlite", `

// buildWithMattn builds this program with one word of internal/sqlitefile replaced: the name of the driver, which
// driver_mattn.go provides.
func buildWithMattn(ctx context.Context, dir, program string) error {
	file, err := filepath.Abs(filepath.Join("..", "internal", "sqlitefile", "open.go"))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if strings.Count(string(text), opened) != 1 {
		return fmt.Errorf("%s: not one %s, so that its driver cannot be replaced", file, opened)
	}
	replaced := filepath.Join(dir, "open.go")
	if err := os.WriteFile(replaced, []byte(strings.Replace(string(text), opened, `sql.Open("sqlite3", `, 1)), 0o600); err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: replaced}})
	if err != nil {
		return err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-tags", "sqlite_fts5", "-overlay", list, "-o", program, "./store")
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "CGO_CFLAGS=-g -O2 -DSQLITE_ENABLE_DBPAGE_VTAB") // as modernc.org/sqlite is built
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build with mattn/go-sqlite3, which needs gcc: %w\n%s", err, out)
	}
	return nil
}

// pass measures a run's commits: 200 videos in each of eight regions, most of them known.
func (b *bench) pass(ctx context.Context) error {
	return b.inDir(func(dir string) error {
		s, err := openOurs(ctx, dir)
		if err != nil {
			return err
		}
		defer func() { _ = s.Close() }()
		charts, g := newGenerator().charts(1600), newGenerator()
		g.n = 1600
		var took []float64
		for i := range 3 + 4*b.repeats {
			for j := range charts {
				c := &charts[j]
				c.at = c.at.Add(every)
				for n := range 10 { // 10 of 200 are new
					c.videos[(i*10+n)%200] = g.next()
				}
			}
			t, err := timed(func() error {
				for _, c := range charts {
					if err := s.keep(ctx, c); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			if i > 0 { // the first adds them all
				took = append(took, t)
			}
		}
		m := report.Median(took)
		b.report.Say("A pass of 8 regions x 200 videos in 4 pages each, 10 of the 200 new, with its slots: median %s ms, longest %s ms, of %d.", ms(m), ms(report.Quantile(took, 1)), len(took))
		b.report.Goal("a pass of 8 x 200 rows", "< 200 ms", ms(m)+" ms", m < 200)
		return nil
	})
}
