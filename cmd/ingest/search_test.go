package main_test

import (
	program "github.com/trendvidstream/ingest/cmd/ingest"

	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store"
)

// charted writes charts of the US straight into the program's store, half an hour apart, up to the
// program's time.
func charted(t *testing.T, slots ...[]ingest.Video) {
	t.Helper()
	now := at(t, "2026-02-14T12:00:00Z")
	dir := filepath.Join(t.TempDir(), "data")
	t.Setenv("INGEST_DATA", dir)
	s, err := store.Open(t.Context(), dir, store.Options{Upstream: "localhost", Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for i, videos := range slots {
		due := now.Add(time.Duration(i-len(slots)+1) * 30 * time.Minute)
		key := ingest.SlotKey{Job: "chart", Key: "US", DueAt: due}
		if err := s.AddDue(t.Context(), []ingest.Slot{{SlotKey: key, Kind: ingest.KindChart, State: ingest.Due}}); err != nil {
			t.Fatal(err)
		}
		slot, ok, err := s.Claim(t.Context(), ingest.Claim{Owner: "test", Now: due, Lease: time.Minute})
		if err != nil || !ok {
			t.Fatalf("claim: %v, %v", ok, err)
		}
		slot.State, slot.Pages, slot.FetchedAt = ingest.Done, 1, due
		if _, err := s.SavePage(t.Context(), slot, ingest.Page{Videos: videos}); err != nil {
			t.Fatal(err)
		}
	}
}

func named(id, title string, views int64) ingest.Video {
	return ingest.Video{
		ID: id, Title: title, Channel: "Kanal", ChannelID: "UCkanal", Category: "10", Views: &views,
		PublishedAt: time.Date(2026, 2, 14, 8, 0, 0, 0, time.UTC),
	}
}

func TestSearchIsReadPageByPage(t *testing.T) {
	var videos []ingest.Video
	for i := range 25 {
		videos = append(videos, named(fmt.Sprintf("video-%05d", i), "A trailer", int64(i)))
	}
	charted(t, videos)
	args := []string{"search", "trailer", "--order", "views", "--limit", "10", "--seen-since", "2m"}
	var got []string
	for page := 0; page < 3; page++ {
		// "Two minutes ago" is counted from the first page, however long reading takes.
		t.Setenv("INGEST_NOW", fmt.Sprintf("2026-02-14T12:0%d:00Z", 1+3*page))
		doc := ingestJSON[searchDocument](t, exitOK, args...)
		for _, i := range doc.Items {
			got = append(got, i.VideoID)
		}
		if doc.Next == nil {
			break
		}
		args = append(args[:8:8], "--after", *doc.Next)
	}
	for i, id := range got {
		if want := videos[24-i].ID; id != want {
			t.Fatalf("place %d is %s, want %s: %v", i, id, want, got)
		}
	}
	if len(got) != 25 {
		t.Errorf("%d videos on all pages, want 25", len(got))
	}
	_, stderr := ingestCode(t, exitUsage, append([]string{"search", "other"}, args[2:]...)...)
	if !strings.Contains(stderr, "not a cursor of this search") {
		t.Errorf("a cursor of another query: %s", stderr)
	}
}

// hostileTitles break whatever prints or exports them carelessly.
var hostileTitles = []string{
	"=cmd|' /C calc'!A0 word", "+1+1 word", "-2+3 word", "@SUM(A1) word", "\t=1 word", "\r\n=1 word", " =1 word", "\u200b=1 word", "＝1 word",
	"\x1b[31mred\x1b[0m word", "\u009b31m word", "a \u202egnp.exe word", "NUL\x00 word", "bad \xff\xfe word \xc3", "two\nlines\u2028word",
	"quote \" and, comma word", strings.Repeat("長い", 3000) + " word", strings.Repeat("word ", 2000), "z\u0351\u036b\u0343algo word", "\u2066word\u2069",
	"👩‍👩‍👧‍👦 word", "",
}

func hostileCharts(t *testing.T) {
	t.Helper()
	var videos []ingest.Video
	for i, title := range hostileTitles {
		v := named(fmt.Sprintf("-h%09d", i), title, int64(i))
		v.Channel, v.ChannelID, v.Tags = title, fmt.Sprint("=UC", i), []string{title, "word"}
		videos = append(videos, v)
	}
	charted(t, videos[5:], videos)
}

func TestHostileTextIsHarmlessOnEveryScreen(t *testing.T) {
	hostileCharts(t)
	screens := [][]string{
		{"search", "word", "--limit", "100"}, {"search", "word", "--mark"}, {"search", "word", "--order", "rise"},
		{"chart", "US"}, {"chart", "US", "--compare", "30m"}, {"history", "--", "-h000000009"},
		{"search", "nobody " + hostileTitles[9]}, {"history", "--", hostileTitles[9]}, {"chart", "US", "--job", hostileTitles[9]},
		{"search", "word", "--order", hostileTitles[9]},
		{"chart", "US", "--format", "csv"}, {"chart", "US", "--compare", "30m", "--format", "csv"}, {"history", "--format", "csv", "--", "-h000000009"},
	}
	for _, args := range screens {
		var out, messages strings.Builder
		program.Run(args, &out, &messages, nil)
		text := out.String() + messages.String()
		for _, r := range strings.ReplaceAll(text, "\r\n", "\n") {
			if r != '\n' && r != '\u200d' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == '\u2028') || r == utf8.RuneError {
				t.Errorf("ingest %q prints %U", args, r)
				break
			}
		}
		if strings.Contains(strings.Join(args, " "), "csv") {
			continue
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); term.Width(line) > 80 {
				t.Errorf("ingest %q: %d columns: %s", args, term.Width(line), line)
			}
		}
	}
}

func TestNoCellOfACSVIsAFormula(t *testing.T) {
	hostileCharts(t)
	for _, args := range [][]string{{"chart", "US"}, {"chart", "US", "--compare", "30m"}, {"history", "--", "-h000000009"}} {
		out, _ := ingestCode(t, exitOK, append([]string{args[0], "--format", "csv"}, args[1:]...)...)
		if strings.Count(out, "\n") != strings.Count(out, "\r\n") {
			t.Errorf("%v: a line does not end in CRLF", args)
		}
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			for i, field := range row {
				text := strings.TrimLeft(field, " ")
				if text == "" || !strings.ContainsRune("=+-@＝＋－＠\t\r", []rune(text)[0]) {
					continue
				}
				if rows[0][i] != "views_gained" { // a number of ours
					t.Errorf("%v: %s is the formula %q", args, rows[0][i], field)
				}
			}
		}
	}
}

// JSON lines keep what CSV must change, except invalid UTF-8.
func TestJSONLinesKeepTheText(t *testing.T) {
	hostileCharts(t)
	out, _ := ingestCode(t, exitOK, "chart", "US", "--format", "jsonl")
	i := 0
	for line := range strings.Lines(out) {
		var item struct {
			Title string
			Rank  int
			Tags  []string
		}
		if err := json.Unmarshal([]byte(line), &item); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if want := strings.ToValidUTF8(hostileTitles[i], "\ufffd"); item.Rank != i+1 || strings.ReplaceAll(item.Title, "\ufffd\ufffd", "\ufffd") != want {
			t.Errorf("line %d is %q, want %q", i, item.Title, want)
		}
		i++
	}
	if i != len(hostileTitles) {
		t.Errorf("%d lines of %d", i, len(hostileTitles))
	}
}
