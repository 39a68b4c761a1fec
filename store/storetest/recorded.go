package storetest

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
	"github.com/trendvidstream/ingest/store/text"
)

// Recorded is a store with some days of the recorded charts, and each region's charts.
type Recorded struct {
	Store    *store.Store
	byRegion map[string][]ingest.Video // once each, as the store has it, by id
	usedBy   map[[2]string]int         // how many videos of a channel have a word in their titles
}

// Raced says that the race detector is on: large tests are then smaller, or skipped.
var Raced bool

// Alone skips a test under the race detector if it has no concurrency: SQLite is tenfold slower there.
func Alone(t testing.TB) {
	t.Helper()
	if Raced {
		t.Skip("the race detector: nothing here runs beside anything")
	}
}

// Record charts so many of the recorded days, up to the last. Without ../shared the test is skipped.
func Record(t testing.TB, open Open, last string, days int) Recorded {
	t.Helper()
	until, err := time.Parse(time.DateOnly, last)
	if err != nil {
		t.Fatal(err)
	}
	charts, charted := map[string]map[string][]ingest.Video{}, map[string]map[string]bool{}
	for _, region := range RealRegions {
		charts[region], charted[region] = RealCharts(t, region), map[string]bool{}
	}
	r := Recorded{open(t, t.TempDir(), (&handClock{t: until}).now), map[string][]ingest.Video{}, map[[2]string]int{}}
	now, nameOf := map[string]ingest.Video{}, map[string]string{}
	for at := until.AddDate(0, 0, 1-days); !at.After(until); at = at.AddDate(0, 0, 1) {
		for _, region := range RealRegions {
			videos := charts[region][at.Format(time.DateOnly)]
			if len(videos) > 0 {
				Chart(t, r.Store, region, at, Page(videos...))
			}
			for _, v := range videos {
				now[v.ID], nameOf[v.ChannelID], charted[region][v.ID] = v, v.Channel, true
			}
		}
	}
	for _, region := range RealRegions {
		for _, id := range slices.Sorted(maps.Keys(charted[region])) {
			v := now[id]
			v.Channel = nameOf[v.ChannelID] // which another video of it may have brought later
			r.byRegion[region] = append(r.byRegion[region], v)
		}
	}
	for _, v := range now {
		for _, word := range slices.Compact(slices.Sorted(strings.FieldsSeq(text.Normalize(v.Title)))) {
			r.usedBy[[2]string{v.ChannelID, word}]++
		}
	}
	return r
}

// RealRegions are the regions of the recorded charts.
var RealRegions = []string{"US", "GB", "DE", "FR", "IN", "BR", "AU", "CA"}

// RealCharts returns the recorded charts of a region: by day, in rank order.
func RealCharts(t testing.TB, region string) map[string][]ingest.Video {
	t.Helper()
	root := "."
	for _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil &&
		len(root) < 20; _, err = os.Stat(filepath.Join(root, "go.mod")) {
		root = filepath.Join(root, "..")
	}
	f, err := os.Open(filepath.Join(root, "..", "shared", "data", "trending", region+".csv.gz"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("../shared absent: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(z)
	head, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	days := map[string][]ingest.Video{}
	for {
		line, err := r.Read()
		if errors.Is(err, io.EOF) {
			return days
		}
		if err != nil {
			t.Fatal(err)
		}
		row := map[string]string{}
		for i, name := range head {
			row[name] = line[i]
		}
		days[row["snapshot_date"]] = append(days[row["snapshot_date"]], realVideo(t, row))
	}
}

func realVideo(t testing.TB, row map[string]string) ingest.Video {
	number := func(name string) *int64 {
		n, err := strconv.ParseInt(row[name], 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return &n
	}
	published, err := time.Parse(time.RFC3339, strings.Replace(row["published_at"], " ", "T", 1)) // both forms occur
	if err != nil {
		t.Fatal(err)
	}
	v := ingest.Video{
		ID: row["video_id"], Title: row["title"], Channel: row["channel_title"], ChannelID: row["channel_id"],
		Category: row["category_id"], Language: row["default_language"], Thumbnail: row["thumbnail"],
		PublishedAt: published.UTC(), Duration: time.Duration(*number("duration")) * time.Second,
		Live:  row["is_live"] == "True",
		Views: number("views"), Likes: number("likes"), Comments: number("comments"),
	}
	if row["tags"] != "" {
		v.Tags = strings.Split(row["tags"], ", ")
	}
	return v
}
