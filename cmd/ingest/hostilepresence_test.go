package main_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// counted is a video with one combination of counts: the upstream's value for each, and the stored one, "NULL" or the
// number.
type counted struct {
	id   string
	json string
	kept [3]string
}

var countNames = [3]string{"viewCount", "likeCount", "commentCount"}

// combinations returns videos with every combination of three counts that are absent, null, zero or a number, and one
// without statistics at all, or with empty ones.
func combinations() []counted {
	forms := []struct{ json, kept string }{{"", "NULL"}, {"null", "NULL"}, {`"0"`, "0"}, {`"7"`, "7"}}
	all := []counted{
		{"nothing----", `{"id":"nothing----"}`, [3]string{"NULL", "NULL", "NULL"}},
		{"null-------", `{"id":"null-------","statistics":null}`, [3]string{"NULL", "NULL", "NULL"}},
		{"empty------", `{"id":"empty------","statistics":{}}`, [3]string{"NULL", "NULL", "NULL"}},
	}
	for n := range 4 * 4 * 4 {
		c := counted{id: fmt.Sprintf("presence-%02d", n)}
		var fields []string
		for i, name := range countNames {
			form := forms[n>>(2*i)&3]
			c.kept[i] = form.kept
			if form.json != "" {
				fields = append(fields, fmt.Sprintf("%q:%s", name, form.json))
			}
		}
		c.json = fmt.Sprintf(`{"id":%q,"snippet":{"title":"a title","channelId":"UC","channelTitle":"a channel"},"statistics":{%s}}`, c.id, strings.Join(fields, ","))
		all = append(all, c)
	}
	return all
}

// A count that an upstream withholds is not zero: it is NULL in the store, null in JSON and empty in CSV, while zero
// stays zero, from the wire to the screen.
func TestACountThatIsAbsentIsNotZero(t *testing.T) {
	all := combinations()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, next := all[:40], `,"nextPageToken":"two"`
		if r.URL.Query().Get("pageToken") != "" {
			page, next = all[40:], ""
		}
		var items []string
		for _, c := range page {
			items = append(items, c.json)
		}
		_, _ = fmt.Fprintf(w, `{"kind":"youtube#videoListResponse","items":[%s]%s}`, strings.Join(items, ","), next)
	}))
	t.Cleanup(server.Close)
	dir := filepath.Join(t.TempDir(), "data")
	t.Setenv("INGEST_UPSTREAM_URL", server.URL+"/")
	t.Setenv("INGEST_DATA", dir)
	ingestJSON[runDocument](t, exitOK, "run", "--region", "US")

	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "ingest.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, table := range []string{
		"SELECT video_id, quote(views), quote(likes), quote(comments) FROM videos",
		"SELECT v.video_id, quote(p.views), quote(p.likes), quote(p.comments) FROM placements p JOIN videos v ON v.id = p.video",
	} {
		kept := map[string][3]string{}
		rows, err := db.QueryContext(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			var k [3]string
			if err := rows.Scan(&id, &k[0], &k[1], &k[2]); err != nil {
				t.Fatal(err)
			}
			kept[id] = k
		}
		if err := rows.Err(); err != nil || len(kept) != len(all) {
			t.Fatalf("%d videos of %d, %v", len(kept), len(all), err)
		}
		for _, c := range all {
			if kept[c.id] != c.kept {
				t.Errorf("%s: kept as %v, want %v: %s", table, kept[c.id], c.kept, c.json)
			}
		}
	}

	out, _ := ingestCode(t, exitOK, "chart", "US", "--json")
	var doc struct{ Items []map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(first(ingestCode(t, exitOK, "chart", "US", "--format", "csv")), "\r\n")
	for i, c := range all {
		for j, name := range []string{"views", "likes", "comments"} {
			if got := strings.ReplaceAll(string(doc.Items[i][name]), "null", "NULL"); got != c.kept[j] {
				t.Errorf("%s of %s is %s in JSON, want %s", name, c.json, got, c.kept[j])
			}
		}
		if want := strings.ReplaceAll(strings.Join(c.kept[:], ","), "NULL", ""); !strings.Contains(rows[i+1]+",", ","+want+",") {
			t.Errorf("the CSV row of %s is %q, want %q in it", c.json, rows[i+1], want)
		}
	}
	t.Logf("%d combinations of absent, null, zero and given counts, kept as they came in videos and placements", len(all))
}

func first(a, _ string) string { return a }
