package dailymotion_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/dailymotionsim"
)

// envelope returns an error of the API. param is the one at fault; "" for none.
func envelope(code int, kind, message, param string) string {
	e := map[string]any{"more_info": "https://developer.dailymotion.com/api#error-codes", "code": code, "message": message, "type": kind}
	if param != "" {
		e["error_data"] = map[string]string{"reason": "object_not_found", "object_type": param, "object_id": "y", "param": param}
	}
	b, err := json.Marshal(map[string]any{"error": e})
	if err != nil {
		panic(err) // text and numbers only
	}
	return string(b)
}

// documented is the one error that the provider shows in full
// (https://developers.dailymotion.com/api/platform-api/errors/).
const documented = `{"error":{"more_info":"https://developer.dailymotion.com/api#error-codes","code":404,` +
	"\"message\":\"Can't find object video for `id' parameter\",\"type\":\"not_found\"," +
	`"error_data":{"reason":"object_not_found","object_type":"video","object_id":"xnotfound","param":"id"}}}`

const page502 = `<!DOCTYPE html><html lang=en><style>*{margin:0}</style><script>if (a<b) {x()}</script><title>502 Bad Gateway</title><h1>502 Bad Gateway</h1></html>`

func TestEveryAnswerHasItsVerdict(t *testing.T) {
	tests := []struct {
		name    string
		status  int
		body    string
		verdict fetch.CallVerdict
		kind    string // the reason; "" if none is given
		text    string // in the error
	}{
		{"documented 404", 404, documented, fetch.Rejected, "not_found", "Dailymotion rejects the request (not_found): Can't find object video for `id' parameter"},
		{"404 with the code as text", 404, strings.Replace(documented, "404,", `"404",`, 1), fetch.Rejected, "not_found", "Can't find object"},
		{"404 of the category", 404, envelope(404, "not_found", "m", "channel"), fetch.NoChart, "not_found", "no such category"},
		{"400 of the category", 400, envelope(400, "invalid_parameter", "m", "channel"), fetch.NoChart, "invalid_parameter", "no such category"},
		{"400 of the country", 400, envelope(400, "invalid_parameter", "m", "country"), fetch.BadRegion, "invalid_parameter", "does not know the region"},
		{"400 of the country, in words", 400, envelope(400, "invalid_parameter", "Invalid value for `country' parameter", ""), fetch.BadRegion, "invalid_parameter", ""},
		{"400 of the page", 400, envelope(400, "invalid_parameter", "m", "page"), fetch.BadToken, "invalid_parameter", "no such page"},
		{"400 of a field", 400, envelope(400, "invalid_parameter", "The country is a `fields' value", ""), fetch.Rejected, "invalid_parameter", ""},
		{"400 of a field, that names the country", 400, envelope(400, "invalid_parameter", "No `country' here", "fields"), fetch.Rejected, "invalid_parameter", ""},
		{"400 of nothing named", 400, envelope(400, "missing_required_parameter", "m", ""), fetch.Rejected, "missing_required_parameter", ""},
		{"400 without a body", 400, "", fetch.Rejected, "", "(HTTP 400)"},
		{"400 HTML", 400, "<h1>Bad Request</h1>", fetch.Rejected, "", "Bad Request"},
		{"401", 401, envelope(401, "invalid_token", "m", ""), fetch.BadKey, "invalid_token", "access token"},
		{"403", 403, envelope(403, "access_forbidden", "m", ""), fetch.Rejected, "access_forbidden", ""},
		{"403 of a place", 403, envelope(403, "access_forbidden", "This content is limited to your moderated country", ""), fetch.Rejected, "access_forbidden", ""},
		{"403 of spam", 403, envelope(403, "access_forbidden", "Denied due to spam activity", ""), fetch.Burst, "access_forbidden", "too many calls"},
		{"403 of a rate", 403, envelope(403, "rate_limit_exceeded", "m", ""), fetch.Burst, "rate_limit_exceeded", ""},
		{"403 of a quota", 403, envelope(403, "forbidden", "API quota reached", ""), fetch.Burst, "forbidden", ""},
		{"403 HTML", 403, "<h1>Access denied</h1>", fetch.Rejected, "", "Access denied"},
		{"408", 408, "", fetch.Broken, "", ""},
		{"410", 410, envelope(410, "gone", "m", "country"), fetch.Rejected, "gone", ""},
		{"418", 418, "teapot", fetch.Rejected, "", "teapot"},
		{"429", 429, envelope(429, "rate_limit_exceeded", "m", ""), fetch.Burst, "rate_limit_exceeded", ""},
		{"429 HTML", 429, "<p>Sorry", fetch.Burst, "", "Sorry"},
		{"429 without a body", 429, "", fetch.Burst, "", ""},
		{"500", 500, envelope(500, "internal_error", "m", ""), fetch.Broken, "internal_error", "Dailymotion failed"},
		{"500 that says rate", 500, envelope(500, "rate_limit_exceeded", "m", "country"), fetch.Broken, "rate_limit_exceeded", ""},
		{"502 HTML", 502, page502, fetch.Broken, "", "videos.trending: Dailymotion failed (HTTP 502): 502 Bad Gateway 502 Bad Gateway"},
		{"503", 503, "", fetch.Broken, "", ""},
		{"304", 304, "", fetch.Broken, "", "redirects to nowhere"},
		{"an error of text", 400, `{"error":"invalid_grant"}`, fetch.Rejected, "", "invalid_grant"},
		{"a type of the wrong type", 400, `{"error":{"type":5}}`, fetch.Rejected, "", ""},
		{"an error of null", 400, `{"error":null}`, fetch.Rejected, "", ""},
		{"of the next version", 404, `{"error":{"code":"RESOURCE_NOT_FOUND","message":"m","details":{"param":"id"}}}`, fetch.Rejected, "", ""},
		{"truncated", 400, documented[:60], fetch.Rejected, "", ""},
		{"escapes", 400, envelope(400, "\u001b[31m", "\u001b]0;x\u0007\u202e\u0000 <b>hi</b>", ""), fetch.Rejected, "[31m", "hi"},
		{"a long message", 500, strings.Repeat("é", 1<<20), fetch.Broken, "", "…"},
		{"a huge one", 500, strings.Repeat(" ", 17<<20), fetch.Broken, "", "larger than 16 MiB"},
	}
	for _, tt := range tests {
		c, _ := serve(t, respond(tt.status, tt.body))
		fe := fails(t.Context(), t, c.Chart("US", "", ""))
		if fe.Verdict != tt.verdict || fe.Pool != "" || !strings.Contains(fe.Error(), tt.text) {
			t.Errorf("%s: %s, want %s with %q: %v", tt.name, fe.Verdict, tt.verdict, tt.text, fe)
		}
		if reason := "(" + cmp.Or(tt.kind, fmt.Sprintf("HTTP %d", tt.status)) + ")"; tt.name != "a huge one" &&
			(fe.Status != tt.status || !strings.Contains(fe.Error(), reason)) {
			t.Errorf("%s: status %d, want %s: %v", tt.name, fe.Status, reason, fe)
		}
		if text := fe.Error(); strings.ContainsAny(text, "<\x1b\x00\x07\u202e\n") || len([]rune(text)) > 600 {
			t.Errorf("%s: %q, want at most 600 characters, none of them control characters", tt.name, text)
		}
		t.Logf("%-40s %d -> %s", tt.name, tt.status, fe.Verdict)
	}
}

func TestOnlyAChartCallHasNoChart(t *testing.T) {
	c, _ := serve(t, respond(http.StatusNotFound, envelope(404, "not_found", "m", "channel")))
	if fe := fails(t.Context(), t, c.Search(ingest.Query{Text: "x", Category: "y"}, "")); fe.Verdict != fetch.Rejected {
		t.Errorf("a search: %s, %v, want %v", fe.Verdict, fe, fetch.Rejected)
	}
	if fe := fails(t.Context(), t, c.Videos([]string{"x"})); fe.Verdict != fetch.Rejected {
		t.Errorf("videos: %s, %v, want %v", fe.Verdict, fe, fetch.Rejected)
	}
}

func TestTheStandInsRefusalsAreUnderstood(t *testing.T) {
	c, sim, _ := standIn(t, dailymotionsim.Options{Limits: map[string]int64{"calls": 2}})
	for _, tt := range []struct {
		region   ingest.Region
		category string
		want     fetch.CallVerdict
	}{{"ZZ", "", fetch.BadRegion}, {"US", "nonsense", fetch.NoChart}, {"US", "", fetch.Burst}} {
		if fe := fails(t.Context(), t, c.Chart(tt.region, tt.category, "")); fe.Verdict != tt.want {
			t.Errorf("%s %q: %s, want %s: %v", tt.region, tt.category, fe.Verdict, tt.want, fe)
		}
	}
	if l := sim.Ledger(); l.Units["calls"] != 2 || l.Refused["calls"] != 1 || l.Today["calls"] != 2 {
		t.Errorf("%+v, want 2, 1 and 2", l)
	}
}

func TestNoAnswerHasItsVerdictToo(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if fe := fails(t.Context(), t, clientOf(t, gone.URL, time.Second).Chart("US", "", "")); fe.Verdict != fetch.Unsent ||
		!strings.Contains(fe.Error(), "Dailymotion was not reached") {
		t.Errorf("refused: %s, %v, want %v and \"Dailymotion was not reached\" in it", fe.Verdict, fe, fetch.Unsent)
	}
	_, _, base := standIn(t, dailymotionsim.Options{}, "slow=1m@2")
	slow := clientOf(t, base, 5*time.Second)
	if _, err := slow.Videos([]string{"x"}).Do(t.Context()); err != nil { // so that the next call has its connection
		t.Fatal(err)
	}
	if fe := fails(t.Context(), t, slow.Chart("US", "", "")); fe.Verdict != fetch.Broken || !strings.Contains(fe.Error(), "in time") {
		t.Errorf("slow: %s, %v, want %v and \"in time\" in it", fe.Verdict, fe, fetch.Broken)
	}
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://example.com/consent?x=y", http.StatusFound)
	})
	if fe := fails(t.Context(), t, c.Chart("US", "", "")); fe.Verdict != fetch.Broken || !strings.Contains(fe.Error(), "it redirects to example.com") {
		t.Errorf("redirect: %s, %v, want %v and \"it redirects to example.com\" in it", fe.Verdict, fe, fetch.Broken)
	}
}
