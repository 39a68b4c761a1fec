package main_test

import (
	program "github.com/trendvidstream/ingest/cmd/ingest"

	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/trendvidstream/ingest/internal/term"

	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/regions"
)

// shown is a video as it stands in the upstream's answer.
type shown struct {
	ID      string
	Snippet struct {
		Title        string
		ChannelTitle string
		Tags         []string
	}
}

// hostile reports whether a video of the stand-in was made to do harm.
func (s shown) hostile() bool {
	return len(s.Snippet.Tags) == 2 && s.Snippet.Tags[1] == "plain"
}

// showing asks the upstream itself for a region's chart.
func showing(t *testing.T, base, region string) (all []shown) {
	t.Helper()
	for token := ""; ; {
		resp, err := http.Get(base + "youtube/v3/videos?part=snippet&chart=mostPopular&maxResults=50&regionCode=" + region + "&pageToken=" + token)
		if err != nil {
			t.Fatal(err)
		}
		var page struct {
			NextPageToken string
			Items         []shown
		}
		err = json.NewDecoder(resp.Body).Decode(&page)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Items...)
		if token = page.NextPageToken; token == "" {
			return all
		}
	}
}

// fetchHostile fetches eight charts that contain every hostile title of the stand-in, and returns the upstream's
// charts.
func fetchHostile(t *testing.T) map[string][]shown {
	t.Helper()
	now := at(t, "2026-02-14T12:00:00Z")
	standIn(t, youtubesim.Options{Seed: 4, Now: func() time.Time { return now }})
	charts, titles := map[string][]shown{}, map[string]bool{}
	for _, r := range regions.Default() {
		charts[string(r)] = showing(t, os.Getenv("INGEST_UPSTREAM_URL"), string(r))
		for _, v := range charts[string(r)] {
			if v.hostile() {
				titles[v.Snippet.Title] = true
			}
		}
	}
	if len(titles) < 14 {
		t.Fatalf("the charts have %d hostile titles, want all of the stand-in's 14", len(titles))
	}
	ingestJSON[runDocument](t, exitOK, "run")
	return charts
}

// Every title, up to 1,000 characters, channel and tag comes out of the store byte for byte as it came from the
// upstream; the text printed on the way has no character that controls a terminal.
func TestHostileTextIsKeptAsItCame(t *testing.T) {
	charts := fetchHostile(t)
	videos, hostile := 0, 0
	for region, want := range charts {
		text, _ := ingestCode(t, exitOK, "chart", region, "--json")
		harmless(t, "chart --json", text)
		lines, _ := ingestCode(t, exitOK, "chart", region, "--format", "jsonl")
		harmless(t, "chart --format jsonl", lines)
		var doc chartDocument
		if err := json.Unmarshal([]byte(text), &doc); err != nil || len(doc.Items) != len(want) {
			t.Fatalf("%s: %d videos of %d, %v", region, len(doc.Items), len(want), err)
		}
		each := strings.Split(strings.TrimSuffix(lines, "\n"), "\n")
		for i, v := range want {
			var line chartItem
			if err := json.Unmarshal([]byte(each[i]), &line); err != nil {
				t.Fatal(err)
			}
			tags, title, channel := []string{}, withoutNUL(capped(v.Snippet.Title)), withoutNUL(v.Snippet.ChannelTitle)
			for _, tag := range v.Snippet.Tags {
				tags = append(tags, withoutNUL(tag))
			}
			for _, item := range []chartItem{doc.Items[i], line} {
				if item.VideoID != v.ID || item.Title != title || item.Channel != channel || !reflect.DeepEqual(item.Tags, tags) {
					t.Errorf("%s, rank %d: %q by %q, tags %q\nwant %q by %q, tags %q", region, i+1,
						item.Title, item.Channel, item.Tags, title, channel, tags)
				}
			}
			videos++
			if v.hostile() {
				hostile++
			}
		}
	}
	t.Logf("%d videos in eight charts, %d of them with hostile text: each title, channel and tag is kept to the byte, but for NUL", videos, hostile)
}

// withoutNUL returns a text as a store keeps it: PostgreSQL can hold no zero byte.
func withoutNUL(s string) string { return strings.ReplaceAll(s, "\x00", "") }

// capped returns as much of a title as is stored.
func capped(title string) string {
	letters := []rune(title)
	return string(letters[:min(len(letters), 1000)])
}

// harmless fails the test if a text has a character that controls a terminal instead of being shown.
func harmless(t *testing.T, where, text string) {
	t.Helper()
	for i, r := range text {
		if r == '\n' || r == '\u200c' || r == '\u200d' {
			continue
		}
		if unicode.In(r, unicode.Cc, unicode.Cf) || r == '\u2028' || r == '\u2029' || r == utf8.RuneError {
			t.Errorf("%s prints %U: %q", where, r, text[max(i-40, 0):min(i+40, len(text))])
			return
		}
	}
}

// On every screen the same text is harmless, and no line is wider than a terminal.
func TestHostileTextIsHarmlessOnEveryScreen(t *testing.T) {
	charts := fetchHostile(t)
	screens := [][]string{{"slots"}, {"slots", "--region", "US"}, {"quota"}}
	asked := map[string]bool{}
	for region, videos := range charts {
		screens = append(screens, []string{"chart", region, "--limit", "200"}, []string{"chart", region, "--compare", "1h", "--limit", "200"})
		for _, v := range videos {
			if v.hostile() && !asked[v.Snippet.Title] {
				asked[v.Snippet.Title] = true
				screens = append(screens,
					[]string{"history", "--", v.ID}, []string{"search", "--limit", "200", "--", v.Snippet.Title}, []string{"search", "--mark", "--", v.Snippet.ChannelTitle})
			}
		}
	}
	found := 0
	for _, args := range append(screens, []string{"search", "tag:plain", "--limit", "300"}, []string{"search", "plain", "--mark", "--order", "views", "--limit", "300"}) {
		var out, messages strings.Builder
		if code := program.Run(args, &out, &messages, nil); code != exitOK && args[0] != "search" && !slices.Contains(args, "--compare") {
			t.Errorf("ingest %q: exit %d: %s", args, code, messages.String())
		}
		where := fmt.Sprintf("ingest %q", args)
		harmless(t, where, out.String())
		harmless(t, where, messages.String())
		for line := range strings.Lines(out.String()) {
			found++
			if line = strings.TrimSuffix(line, "\n"); term.Width(line) > 80 {
				t.Errorf("%s: %d columns: %s, want at most 80", where, term.Width(line), line)
			}
		}
	}
	if found < 8*150 {
		t.Errorf("only %d lines were looked at", found)
	}
}

// As CSV it is no formula, one row stays one row, and the rest is the text without characters that control a
// terminal.
func TestHostileTextOfTheUpstreamIsNoFormula(t *testing.T) {
	for region, want := range fetchHostile(t) {
		text, _ := ingestCode(t, exitOK, "chart", region, "--format", "csv")
		harmless(t, "chart --format csv", strings.ReplaceAll(text, "\r\n", "\n"))
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || len(rows) != len(want)+1 {
			t.Fatalf("%s: %d rows of %d videos, %v", region, len(rows), len(want), err)
		}
		column := map[string]int{}
		for i, name := range rows[0] {
			column[name] = i
		}
		for i, v := range want {
			for name, came := range map[string]string{"title": capped(v.Snippet.Title), "channel": v.Snippet.ChannelTitle, "tags": strings.Join(v.Snippet.Tags, ", ")} {
				field := rows[i+1][column[name]]
				rest, quoted := strings.CutPrefix(field, "'")
				if !quoted || strings.HasPrefix(term.Clean(came), "'") {
					rest = field
				}
				if rest != term.Clean(came) {
					t.Errorf("%s, rank %d: %s is %q, came as %q", region, i+1, name, field, came)
				}
				if first := strings.TrimSpace(field); first != "" && strings.ContainsRune("=+-@", rune(first[0])) {
					t.Errorf("%s, rank %d: %s is a formula: %q", region, i+1, name, field)
				}
			}
		}
	}
}

// hostileError serves an upstream that refuses with a text as hostile as a title can be.
func hostileError(t *testing.T) {
	t.Helper()
	const message = "\x1b[31mred\x1b]0;title\x07 \u009b31m \u202egnp.exe \u2066x\u2069 <b>bold</b><script>alert(1)</script> \r\nSet-Cookie: a=b\u2028 =1+1 \x00 \x7f end"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": 403, "message": message, "errors": []any{
			map[string]any{"reason": message, "domain": message, "message": message},
		}}})
	}))
	t.Cleanup(server.Close)
	t.Setenv("INGEST_UPSTREAM_URL", server.URL+"/")
	t.Setenv("INGEST_DATA", filepath.Join(t.TempDir(), "data"))
}

// Messages that an upstream sends instead of an answer are shown too: in a reason, in a log and in JSON.
func TestHostileErrorsAreHarmlessOnAScreen(t *testing.T) {
	hostileError(t)
	seen := 0
	for _, args := range [][]string{
		{"run", "--region", "US"}, {"run", "--force", "--region", "GB", "--json"}, {"run", "--force", "--region", "DE", "--quiet"}, {"slots"}, {"slots", "--json"},
		{"doctor", "--online"}, {"doctor", "--online", "--json"}, {"quota"}, {"chart", "US"},
	} {
		var out, messages strings.Builder
		program.Run(args, &out, &messages, nil)
		for _, text := range []string{out.String(), messages.String()} {
			harmless(t, fmt.Sprintf("ingest %q", args), text)
			if strings.Contains(text, "<script") || strings.Contains(text, "<b>") {
				t.Errorf("ingest %q prints markup of the upstream: %s", args, text)
			}
			if strings.Contains(text, "gnp.exe") {
				seen++
			}
		}
	}
	if seen < 6 {
		t.Errorf("the upstream's words were seen on %d screens, want at least 6", seen)
	}
}

// The same when requested over HTTP: nothing there is markup.
func TestHostileErrorsAreHarmlessOverHTTP(t *testing.T) {
	hostileError(t)
	d := startServe(t)
	d.until("a slot has failed", func() bool { return d.stderr.count("gnp.exe") > 0 })
	seen := 0
	for path, kind := range map[string]string{
		"livez": "text/plain; charset=utf-8", "readyz": "text/plain; charset=utf-8", "readyz?format=json": "application/json", "freshness": "application/json", "v1/slots": "application/json",
	} {
		resp, err := http.Get(d.url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		h := resp.Header
		if h.Get("Content-Type") != kind || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Set-Cookie") != "" {
			t.Errorf("/%s has the headers %v, want %v, \"nosniff\" and \"\"", path, h, kind)
		}
		harmless(t, "/"+path, string(body))
		text := string(body)
		if kind == "application/json" {
			text = jsonTexts(t, body)
			harmless(t, "/"+path+", decoded", text)
		}
		if strings.Contains(text, "<script") {
			t.Errorf("/%s has markup of the upstream: %s", path, body)
		}
		seen += strings.Count(text, "gnp.exe")
	}
	harmless(t, "the log", d.stderr.String())
	if seen == 0 {
		t.Error("the upstream's words were seen 0 times, want at least once: is anything tested?")
	}
}

// jsonTexts returns the texts of a JSON document as who decodes it has them, one a line: as they are written, an escape
// hides a control character or markup.
func jsonTexts(t *testing.T, doc []byte) string {
	t.Helper()
	var texts []string
	for d := json.NewDecoder(bytes.NewReader(doc)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return strings.Join(texts, "\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := token.(string); ok {
			texts = append(texts, text)
		}
	}
}
