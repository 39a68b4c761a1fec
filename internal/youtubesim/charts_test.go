package youtubesim_test

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

func TestRecordedChartsAreServedAsTheyStand(t *testing.T) {
	dir := shared(t, "trending")
	for _, day := range []string{"2026-02-14", "2026-02-28"} {
		s := newStand(t, youtubesim.Options{ChartsDir: dir, Day: day})
		for region := range strings.FieldsSeq(regions) {
			want := readRows(t, filepath.Join(dir, region+".csv.gz"), day)
			got := s.chart(region)
			if len(got) != len(want) || len(want) < 40 {
				t.Fatalf("%s %s: %d videos, %d rows", day, region, len(got), len(want))
			}
			for i, v := range got {
				if g, w := served(v), want[i]; g != w {
					t.Errorf("%s %s rank %d:\ngot  %s\nwant %s", day, region, i+1, g, w)
				}
			}
		}
		if l := s.Ledger(); l.Units["units"] != 8 {
			t.Errorf("%s: eight charts of up to 50 rows cost %d units, want 8", day, l.Units["units"])
		}
	}
}

// served returns the contents of an item, in the order of the CSV's columns.
func served(v map[string]any) string {
	var tags []string
	list, _ := v["snippet"].(map[string]any)["tags"].([]any)
	for _, t := range list {
		tags = append(tags, t.(string))
	}
	return strings.Join([]string{
		at(v, "id"), at(v, "snippet/title"), at(v, "snippet/channelTitle"), at(v, "snippet/channelId"), at(v, "snippet/categoryId"),
		at(v, "snippet/publishedAt"), at(v, "contentDetails/duration"), strings.Join(tags, ", "),
		at(v, "statistics/viewCount"), at(v, "statistics/likeCount"), at(v, "statistics/commentCount"),
	}, "|")
}

// readRows returns the same for a CSV, in rank order.
func readRows(t *testing.T, path, day string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	byRank := map[int]string{}
	for _, row := range rows[1:] {
		col := func(name string) string { return row[slices.Index(rows[0], name)] }
		if col("snapshot_date") != day {
			continue
		}
		rank, err := strconv.Atoi(col("rank"))
		if err != nil {
			t.Fatal(err)
		}
		published, err := time.Parse("2006-01-02 15:04:05Z07:00", strings.Replace(col("published_at"), "T", " ", 1)) // the data has both
		if err != nil {
			t.Fatal(err)
		}
		byRank[rank] = strings.Join([]string{
			col("video_id"), col("title"), col("channel_title"), col("channel_id"), col("category_id"),
			published.UTC().Format(time.RFC3339), col("duration_raw"), col("tags"), col("views"), col("likes"), col("comments"),
		}, "|")
	}
	var out []string
	for rank := 1; len(out) < len(byRank); rank++ {
		if row, ok := byRank[rank]; ok {
			out = append(out, row)
		}
	}
	return out
}

func TestForeignChartsOfTheSameFormAreRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "notes.txt", "no chart")
	write(t, dir, "jp.csv", "\ufeffRank,snapshot_date , video_id,title,extra\r\n"+
		"2,2026-02-14,bbbbbbbbbbb,\"two \"\"quoted\"\",\nlines\",x\r\n\r\n1.0,2026-02-14,aaaaaaaaaaa,=first,\r\n1,2026-02-13,ccccccccccc,other day,\r\n")
	full := "snapshot_date,rank,video_id,title,tags,duration,duration_raw,views,likes,comments,is_live,published_at,channel_id\n"
	for i := range 120 {
		full += fmt.Sprintf("2026-02-14,%d,id%09d,title %d,\"a, b c, d\",,PT1H1S,0,,7.0,False,2026-02-13T10:00:00+02:00,UCx\n", 120-i, i, i)
	}
	write(t, dir, "US.csv", full)
	write(t, dir, "DE.csv", "snapshot_date,rank,video_id,title\n")

	s := newStand(t, youtubesim.Options{ChartsDir: dir, Day: "2026-02-14"})
	jp := s.chart("JP")
	if len(jp) != 2 || served(jp[0]) != "aaaaaaaaaaa|=first|||||P0D||||" {
		t.Errorf("JP: %d videos, first %q, want 2 and \"aaaaaaaaaaa|=first|||||P0D||||\"", len(jp), served(jp[0]))
	}
	if got := at(jp[1], "snippet/title"); got != "two \"quoted\",\nlines" {
		t.Errorf("title %q", got)
	}
	us := s.all(chartPath("US"))
	if len(us) != 3 || len(us[2]) != 20 || served(us[0][0]) != "id000000119|title 119||UCx||2026-02-13T08:00:00Z|PT1H1S|a, b c, d|0||7" {
		t.Errorf("US: %d pages, first %q", len(us), served(us[0][0]))
	}
	for _, region := range []string{"DE", "FR"} { // a file without rows that day, and no file
		if status, body := s.ask(chartPath(region)); status != 404 || reason(body) != "notFound" {
			t.Errorf("%s: %d %v, want 404 and \"notFound\"", region, status, body)
		}
	}
	if got := items(s.list("search?part=snippet&q=quoted")); len(got) != 1 || at(got[0], "id/videoId") != "bbbbbbbbbbb" {
		t.Errorf("search gives %v, want 1 and \"bbbbbbbbbbb\"", got)
	}
}

func TestBadChartsAreNamedByFileAndLine(t *testing.T) {
	const header = "snapshot_date,rank,video_id,title,views,duration,duration_raw,published_at\n"
	const good = "2026-02-14,1,aaaaaaaaaaa,\"two\nlines\",1,2,,\n"
	for _, c := range []struct{ name, text, want string }{
		{"US.csv", "", "US.csv is empty: its first line must name the columns"},
		{"US.csv", "snapshot_date,rank,title\n", `US.csv:1: no column "video_id"`},
		{"US.csv", header + good + "2026-02-14,1,a\n", "US.csv:4: column 1: wrong number of fields"},
		{"US.csv", header + good + "2026-02-14,1,a,\"b\"c,,,,\n", "US.csv:4: column 18: extraneous or missing \" in quoted-field"},
		{"US.csv", header + good + "14.2.2026,1,a,b,,,,\n", `US.csv:4: snapshot_date "14.2.2026" is no date such as 2026-02-14`},
		{"US.csv", header + good + "2026-02-14,,a,b,,,,\n", "US.csv:4: rank is empty"},
		{"US.csv", header + good + "2026-02-14,2,,b,,,,\n", "US.csv:4: video_id is empty"},
		{"US.csv", header + good + "2026-02-14,2,a,b,1.5,,,\n", `US.csv:4: views "1.5" is no whole number from 0 on`},
		{"US.csv", header + good + "2026-02-14,2,a,b,-1,,,\n", `US.csv:4: views "-1" is no whole number from 0 on`},
		{"US.csv", header + good + "2026-02-14,2,a,b,,,3:20,\n", `US.csv:4: duration_raw "3:20" is no ISO 8601 duration such as PT3M20S`},
		{"US.csv", header + good + "2026-02-14,2,a,b,,,,soon\n", `US.csv:4: published_at "soon" is no time such as 2026-02-14 05:38:04+00:00`},
		{"US.csv.gz", header + good, "US.csv.gz is not gzip: gzip: invalid header"},
		{"US.csv", header, "no file has a row"},
		{"US.csv", header + strings.Replace(good, "14", "13", 1) + strings.Replace(good, "14", "20", 1), `have no day "2026-02-14": the first is 2026-02-13, the last 2026-02-20`},
		{"usa.csv", header + good, "is named by a region, such as US.csv or US.csv.gz"},
	} {
		t.Run(c.want, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, c.name, c.text)
			_, err := youtubesim.New(youtubesim.Options{ChartsDir: dir, Day: "2026-02-14"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
	dir := t.TempDir()
	write(t, dir, "US.csv", header+good)
	write(t, dir, "us.csv.gz", "")
	if _, err := youtubesim.New(youtubesim.Options{ChartsDir: dir, Day: "2026-02-14"}); err == nil || !strings.Contains(err.Error(), "two files") {
		t.Errorf("error %v, want two files", err)
	}
	dir = t.TempDir()
	write(t, dir, "US.csv", header+good)
	if _, err := youtubesim.New(youtubesim.Options{ChartsDir: dir}); err == nil ||
		!strings.Contains(err.Error(), "choose a day (--day) from 2026-02-14 to 2026-02-14") {
		t.Errorf("without a day: error %v", err)
	}
	if _, err := youtubesim.New(youtubesim.Options{ChartsDir: filepath.Join(dir, "none"), Day: "2026-02-14"}); err == nil {
		t.Error("a directory of charts that does not exist: got no error, want one")
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A chart of any region that YouTube has a front page for is invented, in an order of its own.
func TestAnyRegionIsCharted(t *testing.T) {
	s := newStand(t, youtubesim.Options{Seed: 7})
	seen := map[string]string{}
	for _, region := range []string{"US", "GB", "JP", "KR", "EG", "MX"} {
		chart := ids(s.chart(region))
		if len(chart) < 188 {
			t.Errorf("%s: %d videos, want at least 188", region, len(chart))
		}
		order := strings.Join(chart, " ")
		if other := seen[order]; other != "" {
			t.Errorf("%s and %s have the same chart, want different ones", other, region)
		}
		seen[order] = region
	}
	if status, body := s.ask(chartPath("LI")); status != 404 || reason(body) != "notFound" {
		t.Errorf("LI: %d %v, want 404 and \"notFound\"", status, body)
	}
}
