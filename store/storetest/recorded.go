package storetest

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
)

// Raced says that the race detector is on: large tests are then smaller, or skipped.
var Raced bool

// Alone skips a test under the race detector if it has no concurrency: SQLite is tenfold slower there.
func Alone(t testing.TB) {
	t.Helper()
	if Raced {
		t.Skip("the race detector: nothing here runs beside anything")
	}
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
