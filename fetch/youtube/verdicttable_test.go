package youtube_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// row is one answer, to any call, and its expected meaning. A verdict of "" is an answer that is understood.
type row struct {
	name    string
	asks    string // a name of everyCall; "" is "chart"
	answer  http.HandlerFunc
	verdict fetch.CallVerdict
	pool    string
}

// TestTheVerdictTable gives every known body to the calls, and prints their verdicts: go test ./fetch/youtube -run
// TestTheVerdictTable -v
func TestTheVerdictTable(t *testing.T) {
	t.Run("documented", func(t *testing.T) { judgeRows(t, documentedRows()) })
	t.Run("hostile", func(t *testing.T) { judgeRows(t, hostileRows(t)) })
	t.Run("stand-in", func(t *testing.T) { judgeRows(t, standInRows(t)) })
}

func judgeRows(t *testing.T, rows []row) {
	t.Helper()
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nANSWER\tMETHOD\tVERDICT\tPOOL\tSAYS")
	for _, r := range rows {
		var asked atomic.Int32
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			asked.Add(1)
			r.answer(w, req)
		}))
		c := clientOf(t, srv.URL, 20*time.Second)
		asks := r.asks
		if asks == "" {
			asks = "chart"
		}
		call := everyCall(c)[asks]
		_, err := call.Do(t.Context())
		var verdict fetch.CallVerdict
		pool, says := "", "a page"
		if fe, ok := errors.AsType[*fetch.Error](err); ok {
			verdict, pool, says = fe.Verdict, fe.Pool, fe.Err.Error()
			holdsNoKey(t, err)
			if strings.ContainsAny(says, "\x1b\x00\x07\u202e\n") || len([]rune(says)) > 600 {
				t.Errorf("%s, %s: %q, want at most 600 characters, none of them control characters", r.name, call.Method, says)
			}
		}
		if verdict != r.verdict || pool != r.pool || asked.Load() != 1 {
			t.Errorf("%s, %s: %q, pool %q, want %q, pool %q (asked %d times): %v", r.name, call.Method, verdict, pool, r.verdict, r.pool, asked.Load(), err)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%.100s\n", r.name, call.Method, verdict, pool, says)
		c.Close()
		srv.CloseClientConnections()
		srv.Close()
	}
	table.Flush()
	t.Log(out.String())
}

// errorInfo answers with an error that only its ErrorInfo explains, as google.rpc gives it.
func errorInfo(code int, reason, metadata string) http.HandlerFunc {
	return respond(code, envelope(code, "", reason, metadata))
}

func documentedRows() []row {
	const (
		day      = `"quota_unit":"1/d/{project}"`
		minute   = `"quota_unit":"1/min/{project}/{user}"`
		units    = `,"quota_metric":"youtube.googleapis.com/default"`
		searches = `,"quota_metric":"youtube.googleapis.com/search_list"`
		stats    = `,"quota_metric":"youtube.googleapis.com/videos_batch_get_stats"`
	)
	plain := func(code int, reason string) http.HandlerFunc { return respond(code, envelope(code, reason, "", "")) }
	rows := []row{
		{"403 rateLimitExceeded", "", plain(403, "rateLimitExceeded"), fetch.Burst, ""},
		{"429 no reason", "", respond(429, ""), fetch.Burst, ""},
		{"403 a day's units", "", errorInfo(403, "RATE_LIMIT_EXCEEDED", day+units), fetch.Spent, "units"},
		{"429 a day's units", "", errorInfo(429, "RATE_LIMIT_EXCEEDED", day+units), fetch.Spent, "units"},
		{"403 a minute's units", "", errorInfo(403, "RATE_LIMIT_EXCEEDED", minute+units), fetch.Burst, ""},
		{"429 a minute's units", "", errorInfo(429, "RATE_LIMIT_EXCEEDED", minute+units), fetch.Burst, ""},
		{"429 a minute's searches", "search", errorInfo(429, "RATE_LIMIT_EXCEEDED", minute+searches), fetch.Burst, ""},
		{"429 a day's searches", "search", errorInfo(429, "RATE_LIMIT_EXCEEDED", day+searches), fetch.Spent, "search"},
		{"403 a day's searches", "search", errorInfo(403, "RATE_LIMIT_EXCEEDED", day+searches), fetch.Spent, "search"},
		{"429 a day's counts", "counts", errorInfo(429, "RATE_LIMIT_EXCEEDED", day+stats), fetch.Spent, ""},
		{"429 a day of something new", "videos", errorInfo(429, "RATE_LIMIT_EXCEEDED", day+`,"quota_metric":"youtube.googleapis.com/new"`), fetch.Spent, ""},
		{"429 a day of nothing named", "videos", errorInfo(429, "RATE_LIMIT_EXCEEDED", day), fetch.Spent, "units"},
		{"429 Retry-After a day", "", retryAfter("86400", errorInfo(429, "RATE_LIMIT_EXCEEDED", minute+units)), fetch.Burst, ""},
		{"403 Retry-After a second", "", retryAfter("1", plain(403, "quotaExceeded")), fetch.Burst, ""},
		{"403 Retry-After a day", "", retryAfter("86400", plain(403, "quotaExceeded")), fetch.Spent, "units"},
		{"403 quotaExceeded for a search", "search", plain(403, "quotaExceeded"), fetch.Spent, "units"},
		{"403 accessNotConfigured", "", plain(403, "accessNotConfigured"), fetch.BadKey, ""},
		{"429 per day, without details", "", respond(429, `{"error":{"code":429,"message":"Quota exceeded for quota metric 'Queries' and limit 'Queries per day'"}}`), fetch.Spent, "units"},
		{"429 per day of a search, without details", "search", respond(429, `{"error":{"code":429,"message":"Quota exceeded for quota metric 'Search Queries' and limit 'Search Queries per day'"}}`), fetch.Spent, "search"},
		{"429 per minute, without details", "", respond(429, `{"error":{"code":429,"message":"Quota exceeded for quota metric 'Queries' and limit 'Queries per minute'"}}`), fetch.Burst, ""},
		{"403 servingLimitExceeded", "", plain(403, "servingLimitExceeded"), fetch.Burst, ""},
		{"403 concurrentLimitExceeded", "", plain(403, "concurrentLimitExceeded"), fetch.Burst, ""},
		{"403 unregistered callers", "", respond(403, `{"error":{"code":403,"message":"Method doesn't allow unregistered callers (callers without established identity).","errors":[{"reason":"forbidden"}]}}`), fetch.BadKey, ""},
		{"403 suspended", "", respond(403, `{"error":{"code":403,"message":"Permission denied: Consumer 'api_key:x' has been suspended.","errors":[{"reason":"forbidden"}]}}`), fetch.BadKey, ""},
		{"401 authError", "", plain(401, "authError"), fetch.BadKey, ""},
		{"400 invalidPageToken", "search", plain(400, "invalidPageToken"), fetch.BadToken, ""},
		{"400 invalidPageToken", "uploads", plain(400, "invalidPageToken"), fetch.BadToken, ""},
		{"400 invalidRegionCode", "search", plain(400, "invalidRegionCode"), fetch.BadRegion, ""},
		{"400 invalidRegionCode", "categories", plain(400, "invalidRegionCode"), fetch.BadRegion, ""},
		{"400 invalidSearchFilter", "search", plain(400, "invalidSearchFilter"), fetch.Rejected, ""},
		{"400 without an envelope", "", respond(400, "Bad Request"), fetch.Rejected, ""},
		{"400 HTML", "", respond(400, "<!doctype html><title>400</title>"), fetch.Rejected, ""},
		{"403 forbidden, private", "uploads", plain(403, "forbidden"), fetch.Rejected, ""},
		{"403 playlistItemsNotAccessible", "uploads", plain(403, "playlistItemsNotAccessible"), fetch.Rejected, ""},
		{"403 channelForbidden", "channel", plain(403, "channelForbidden"), fetch.Rejected, ""},
		{"404 channelNotFound", "channel", plain(404, "channelNotFound"), fetch.Rejected, ""},
		{"404 notFound", "videos", plain(404, "notFound"), fetch.Rejected, ""},
		{"404 notFound", "categories", plain(404, "notFound"), fetch.Rejected, ""},
		{"404 notFound", "chart", plain(404, "notFound"), fetch.NoChart, ""},
		{"500 internalError", "", plain(500, "internalError"), fetch.Broken, ""},
		{"504 HTML", "", respond(504, "<html><title>504 Gateway Time-out</title>"), fetch.Broken, ""},
	}
	for _, says := range []string{ // Google's sentences, without a reason that says more
		"API key not valid. Please pass a valid API key.", "API key expired. Please renew the API key.", "API Key not found. Please pass a valid API key.",
		"Your API key was reported as leaked. Please use another API key.", "The API key has been revoked.",
		"The provided API key has an IP address restriction. The originating IP address of the call (2001:db8::1) violates this restriction.",
		"Requests from referer <empty> are blocked.", "Requests from referer https://example.com/ are blocked.",
		"Requests from this Android client application <empty> are blocked.", "Requests from this iOS client application com.example are blocked.",
		"Requests to this API youtube method youtube.api.v3.V3DataVideoService.List are blocked.",
		"There is a per-IP or per-Referer restriction configured on your API key and the request does not match these restrictions.",
		"YouTube Data API v3 has not been used in project 000000000000 before or it is disabled. Enable it by visiting https://console.developers.google.com/x then retry.",
		"Access Not Configured. Please use Google Developers Console to activate the API for your project.",
		"Project has been deleted.", "Project #000000000000 has been marked for deletion.", "Project 'project_number:000000000000' not found or deleted.",
		"The Android package name and signing-certificate fingerprint, null and null, do not match the app restrictions on your API key.",
		"The iOS bundle ID com.example does not match the app restrictions on your API key.",
		"The request is missing a valid API key.", "The API Key and the authentication credential are from different projects.",
		"Daily Limit for Unauthenticated Use Exceeded. Continued use requires signup.", "YouTube Data API v3 has been disabled in project 000000000000.",
		"This API method requires billing to be enabled. Please enable billing on project #000000000000 by visiting the console.",
		"Consumer 'api_key:x' is invalid.", "Permission denied: Consumer 'project_number:000000000000' has been suspended.",
	} {
		for _, code := range []int{400, 403} {
			for _, reason := range []string{"forbidden", "badRequest"} {
				body := fmt.Sprintf(`{"error":{"code":%d,"message":%q,"errors":[{"message":"x","domain":"global","reason":%q}]}}`, code, says, reason)
				rows = append(rows, row{fmt.Sprintf("%d %s: %.40s", code, reason, says), "", respond(code, body), fetch.BadKey, ""})
			}
			bare := fmt.Sprintf(`{"error":{"code":%d,"message":%q}}`, code, says)
			rows = append(rows, row{fmt.Sprintf("%d without a reason: %.40s", code, says), "videos", respond(code, bare), fetch.BadKey, ""})
		}
	}
	rows = append(rows,
		row{"403 Help to the console", "", respond(403, `{"error":{"code":403,"message":"Blocked.","details":[{"@type":"type.googleapis.com/google.rpc.Help",
			"links":[{"url":"https://console.developers.google.com/project/0/apiui/credential"}]}]}}`), fetch.BadKey, ""},
		row{"403 Help to the docs", "", respond(403, `{"error":{"code":403,"message":"Blocked.","details":[{"@type":"type.googleapis.com/google.rpc.Help",
			"links":[{"url":"https://cloud.google.com/docs/quota"}]}]}}`), fetch.Rejected, ""},
		row{"403 without the envelope", "", respond(403, `{"code":7,"message":"Requests from referer <empty> are blocked.","details":[]}`), fetch.BadKey, ""},
		row{"403 channelSuspended", "uploads", respond(403, `{"error":{"code":403,"message":"The channel has been suspended.","errors":[{"reason":"channelSuspended"}]}}`), fetch.Rejected, ""},
		row{"400 processingFailure", "uploads", plain(400, "processingFailure"), fetch.Broken, ""},
		row{"400 failedPrecondition", "uploads", plain(400, "failedPrecondition"), fetch.Broken, ""},
	)
	for _, code := range []int{408, 409, 423, 425, 499} {
		rows = append(rows, row{fmt.Sprintf("%d in a list", code), "uploads", plain(code, "aborted"), fetch.Broken, ""})
	}
	for _, reason := range []string{ // google/api/error_reason.proto
		"API_KEY_INVALID", "API_KEY_SERVICE_BLOCKED", "API_KEY_HTTP_REFERRER_BLOCKED", "API_KEY_IP_ADDRESS_BLOCKED",
		"API_KEY_ANDROID_APP_BLOCKED", "API_KEY_IOS_APP_BLOCKED", "SERVICE_DISABLED", "CONSUMER_SUSPENDED", "CONSUMER_INVALID",
		"BILLING_DISABLED", "CREDENTIALS_MISSING",
	} {
		for _, code := range []int{400, 403} {
			rows = append(rows, row{fmt.Sprintf("%d %s", code, reason), "videos", errorInfo(code, reason, ""), fetch.BadKey, ""})
		}
	}
	return rows
}

func retryAfter(seconds string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", seconds)
		h(w, r)
	}
}

// standInRows are the faults of the stand-in.
func standInRows(t *testing.T) []row {
	var rows []row
	for _, f := range []struct {
		fault, asks string
		verdict     fetch.CallVerdict
		pool        string
	}{
		{"500", "", fetch.Broken, ""}, {"502", "", fetch.Broken, ""}, {"503", "", fetch.Broken, ""}, {"502html", "", fetch.Broken, ""},
		{"429min", "", fetch.Burst, ""}, {"403quota", "", fetch.Spent, "units"}, {"429day", "search", fetch.Spent, "search"},
		{"badkey", "", fetch.BadKey, ""}, {"disabled", "", fetch.BadKey, ""}, {"badtoken", "", fetch.BadToken, ""},
		{"nochart", "", fetch.NoChart, ""}, {"nochart", "uploads", fetch.Rejected, ""}, {"drop", "", fetch.Broken, ""}, {"reset", "", fetch.Broken, ""},
		{"truncate", "", fetch.Broken, ""}, {"empty", "", fetch.Broken, ""}, {"hugebody", "", fetch.Broken, ""}, {"slow=1ns", "", "", ""},
	} {
		fault, err := youtubesim.ParseFault(f.fault)
		if err != nil {
			t.Fatal(err)
		}
		sim, err := youtubesim.New(youtubesim.Options{Faults: []youtubesim.Fault{fault}})
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row{f.fault, f.asks, sim.ServeHTTP, f.verdict, f.pool})
	}
	return rows
}
