package youtubesim

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// recorded is a catalogue of one day's real charts. It does not change with the clock.
type recorded struct {
	byRegion map[string][]*video
	byID     map[string]*video
	newest   []*video
}

func (c *recorded) chart(region string, _ time.Time) ([]*video, bool) {
	places, ok := c.byRegion[region]
	return places[:min(len(places), maxChart)], ok
}

func (c *recorded) videos(time.Time) []*video { return c.newest }

func (c *recorded) video(id string, _ time.Time) *video { return c.byID[id] }

// openCharts reads every region's file in dir and keeps the rows of one day. A region without rows on that day has no
// chart; a day without rows in any region is an error.
func openCharts(dir, day string) (*recorded, error) {
	files, err := regionFiles(dir)
	if err != nil {
		return nil, err
	}
	c := &recorded{byRegion: map[string][]*video{}, byID: map[string]*video{}}
	channels := map[string]*channel{}
	first, last, found := "", "", false
	for _, region := range slices.Sorted(maps.Keys(files)) {
		f := &chartFile{path: files[region], day: day, channels: channels}
		if err := f.read(); err != nil {
			return nil, err
		}
		if f.first != "" {
			first, last = minText(first, f.first), max(last, f.last)
		}
		found = found || len(f.rows) > 0
		slices.SortStableFunc(f.rows, func(a, b row) int { return cmp.Compare(a.rank, b.rank) })
		c.byRegion[region] = nil
		for _, r := range f.rows {
			c.byRegion[region] = append(c.byRegion[region], r.video)
			if c.byID[r.video.id] == nil {
				c.byID[r.video.id] = r.video
				c.newest = append(c.newest, r.video)
			}
		}
	}
	switch {
	case first == "":
		return nil, fmt.Errorf("charts in %s: no file has a row", dir)
	case !found && day == "":
		return nil, fmt.Errorf("charts in %s: choose a day (--day) from %s to %s", dir, first, last)
	case !found:
		return nil, fmt.Errorf("charts in %s have no day %q: the first is %s, the last %s", dir, day, first, last)
	}
	slices.SortStableFunc(c.newest, func(a, b *video) int { return b.published.Compare(a.published) })
	return c, nil
}

// regionFiles finds XX.csv and XX.csv.gz, and ignores other files.
func regionFiles(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("charts: %w", err)
	}
	name := regexp.MustCompile(`^([A-Za-z]{2})\.csv(\.gz)?$`)
	files := map[string]string{}
	for _, e := range entries {
		m := name.FindStringSubmatch(e.Name())
		if m == nil || e.IsDir() {
			continue
		}
		region := strings.ToUpper(m[1])
		path := filepath.Join(dir, e.Name())
		if old, twice := files[region]; twice {
			return nil, fmt.Errorf("charts: region %s has two files, %s and %s: keep one", region, old, path)
		}
		files[region] = path
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("charts: no file in %s is named by a region, such as US.csv or US.csv.gz", dir)
	}
	return files, nil
}

// row is one line of the requested day, with its rank.
type row struct {
	rank  int64
	video *video
}

// chartFile is one region's file: a CSV with a header line. The columns snapshot_date, rank, video_id and title are
// required; the others may be absent or empty, and unknown ones are ignored.
type chartFile struct {
	path        string
	day         string
	channels    map[string]*channel
	first, last string // days in the file
	rows        []row  // of the requested day
}

func (f *chartFile) read() error {
	file, err := os.Open(f.path)
	if err != nil {
		return fmt.Errorf("charts: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	var in io.Reader = file
	if strings.HasSuffix(f.path, ".gz") {
		z, err := gzip.NewReader(file)
		if err != nil {
			return fmt.Errorf("charts: %s is not gzip: %w", f.path, err)
		}
		in = z
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("charts: %s: %w", f.path, err)
	}
	return f.parse(bytes.TrimPrefix(text, []byte("\ufeff")))
}

func (f *chartFile) parse(text []byte) error {
	r := csv.NewReader(bytes.NewReader(text))
	r.ReuseRecord = true
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("charts: %s is empty: its first line must name the columns", f.path)
	}
	if err != nil {
		return fmt.Errorf("charts: %s: its header: %w", f.path, err)
	}
	columns := map[string]int{}
	for i, h := range header {
		columns[strings.ToLower(strings.TrimSpace(h))] = i
	}
	for _, need := range []string{"snapshot_date", "rank", "video_id", "title"} {
		if _, ok := columns[need]; !ok {
			return fmt.Errorf("charts: %s:1: no column %q", f.path, need)
		}
	}
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if bad := (*csv.ParseError)(nil); errors.As(err, &bad) {
			return fmt.Errorf("charts: %s:%d: column %d: %w", f.path, bad.StartLine, bad.Column, bad.Err)
		}
		rec := record{columns, fields}
		if err := f.add(rec); err != nil {
			line, _ := r.FieldPos(0)
			return fmt.Errorf("charts: %s:%d: %w", f.path, line, err)
		}
	}
}

// add extends the range of days that the file has, and keeps the row if it belongs to the requested day.
func (f *chartFile) add(rec record) error {
	date := rec.get("snapshot_date")
	if _, err := time.Parse(time.DateOnly, date[:min(len(date), 10)]); err != nil {
		return fmt.Errorf("snapshot_date %q is no date such as 2026-02-14", date)
	}
	date = date[:10]
	f.first, f.last = minText(f.first, date), max(f.last, date)
	if date != f.day {
		return nil
	}
	rank, err := rec.number("rank")
	if err != nil {
		return err
	}
	if rank == nil {
		return errors.New("rank is empty")
	}
	v, err := rec.video(f.channels)
	if err != nil {
		return err
	}
	f.rows = append(f.rows, row{*rank, v})
	return nil
}

// minText returns the smaller of the two that is not empty.
func minText(a, b string) string {
	if a == "" || (b != "" && b < a) {
		return b
	}
	return a
}
