package youtube_test

import (
	"cmp"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/fetch"
)

// recorded maps each recorded error to its meaning for the call that gets it.
var recorded = map[string]struct {
	status  int
	verdict fetch.CallVerdict
	pool    string
	text    string
}{
	"400_invalidPageToken.json":                             {400, fetch.BadToken, "", "YouTube does not know the page token (invalidPageToken): The request specifies an invalid page token."},
	"400_keyExpired_noErrorInfo.COMPOSED.json":              {400, fetch.BadKey, "", "YouTube refuses the key (badRequest): API key expired. Please renew the API key."},
	"400_keyNotValid_noErrorInfo.COMPOSED.json":             {400, fetch.BadKey, "", "YouTube refuses the key (badRequest): API key not valid. Please pass a valid API key."},
	"403_apiNotUsed_noErrorInfo.COMPOSED.json":              {403, fetch.BadKey, "", "The YouTube Data API v3 is not enabled for the key's project (HTTP 403): YouTube Data API v3 has not been used in project 000000000000 before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/youtube.googleapis.com/overview?project=000000000000 then retry."},
	"403_keyIpBlocked_noErrorInfo.COMPOSED.json":            {403, fetch.BadKey, "", "YouTube refuses the key (forbidden): The provided API key has an IP address restriction. The originating IP address of the call (2001:db8::1) violates this restriction."},
	"403_keyRefererBlocked_helpOnly.COMPOSED.json":          {403, fetch.BadKey, "", "YouTube refuses the key (HTTP 403): Requests from referer are blocked."},
	"403_keyRefererBlocked_noErrorInfo.COMPOSED.json":       {403, fetch.BadKey, "", "YouTube refuses the key (forbidden): Requests from referer are blocked."},
	"400_keyInvalid_modern.COMPOSED.json":                   {400, fetch.BadKey, "", "YouTube refuses the key (API_KEY_INVALID): API key not valid. Please pass a valid API key."},
	"400_keyInvalid_old.json":                               {400, fetch.BadKey, "", "YouTube refuses the key (keyInvalid): Bad Request"},
	"400_videoChartNotFound_documented.COMPOSED.json":       {400, fetch.NoChart, "", "YouTube has no such chart for this region and category (videoChartNotFound): The requested video chart is not supported or is not available."},
	"403_dailyLimitExceeded_legacy_2016_2020.COMPOSED.json": {403, fetch.Spent, "units", "YouTube says the daily quota is spent (dailyLimitExceeded)"},
	"403_quotaExceeded_default_pool.json":                   {403, fetch.Spent, "units", "YouTube says the daily quota is spent (quotaExceeded)"},
	"403_quotaExceeded_default_pool_with_debugInfo.json":    {403, fetch.Spent, "units", "YouTube says the daily quota is spent (quotaExceeded)"},
	"404_chart_notFound_observed_2026.COMPOSED.json":        {404, fetch.NoChart, "", "YouTube has no such chart for this region and category (notFound): Requested entity was not found."},
	"404_playlistNotFound.json":                             {404, fetch.Rejected, "", "YouTube rejects the request (playlistNotFound): The playlist identified with the request's playlistId parameter cannot be found."},
	"429_rateLimitExceeded_per_minute.COMPOSED.json":        {429, fetch.Burst, "", "YouTube says too many calls came at once (rateLimitExceeded): Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user' of service 'youtube.googleapis.com' for consumer 'project_number:000000000000'."},
	"429_rateLimitExceeded_search_pool_per_day.json":        {429, fetch.Spent, "search", "YouTube says the daily quota is spent (rateLimitExceeded): pool search"},
	"503_backendError.COMPOSED.json":                        {503, fetch.Broken, "", "YouTube failed (backendError): The service is currently unavailable."},
	"error_permission_resp.json":                            {403, fetch.Rejected, "", "YouTube rejects the request (SERVICE_UNAVAILABLE): The caller does not have permission"},
}

func TestEveryRecordedErrorHasItsVerdict(t *testing.T) {
	files := shared(t, "errors/*")
	if len(files) != len(recorded) {
		t.Errorf("%d recorded errors, %d in the table", len(files), len(recorded))
	}
	for _, file := range files {
		name := filepath.Base(file)
		want, ok := recorded[name]
		if !ok {
			t.Errorf("%s is not in the table", name)
			continue
		}
		c, _ := serve(t, respond(want.status, readFile(t, file)))
		asks := map[string]string{"404_playlistNotFound.json": "uploads", "429_rateLimitExceeded_search_pool_per_day.json": "search"}[name]
		fe := fails(t.Context(), t, everyCall(c)[cmp.Or(asks, "chart")])
		if fe.Verdict != want.verdict || fe.Pool != want.pool || fe.Err.Error() != want.text {
			t.Errorf("%s: %s, pool %q, %v\nwant %s, pool %q, %s", name, fe.Verdict, fe.Pool, fe.Err, want.verdict, want.pool, want.text)
		}
		if fe.Status != want.status {
			t.Errorf("%s: status %d, want %v", name, fe.Status, want.status)
		}
	}
}

// envelope returns an error of the API: reason, and metadata of an ErrorInfo unless it is "".
func envelope(code int, reason, infoReason, metadata string) string {
	details := ""
	if infoReason != "" || metadata != "" {
		details = fmt.Sprintf(`,"details":[{"@type":"type.googleapis.com/google.rpc.Help","links":[]},"x",null,
			{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":%q,"metadata":{%s}}]`, infoReason, metadata)
	}
	return fmt.Sprintf(`{"error":{"code":%d,"message":"m","errors":[{"reason":%q,"message":"m"}]%s}}`, code, reason, details)
}

func TestADayIsToldFromAMinuteByMetadata(t *testing.T) {
	tests := []struct {
		status           int
		reason, metadata string
		verdict          fetch.CallVerdict
		pool             string
	}{
		{429, "rateLimitExceeded", `"quota_unit":"1/d/{project}","quota_metric":"youtube.googleapis.com/default"`, fetch.Spent, "units"},
		{403, "rateLimitExceeded", `"quota_unit":"1/d/{project}","quota_metric":"youtube.googleapis.com/search_list"`, fetch.Spent, "search"},
		{429, "rateLimitExceeded", `"quota_unit":"1/d","quota_metric":"youtube.googleapis.com/video_stats"`, fetch.Spent, ""},
		{403, "userRateLimitExceeded", `"quota_limit":"defaultPerDayPerProject"`, fetch.Spent, "units"},
		{403, "quotaExceeded", `"quota_unit":"1/min/{project}"`, fetch.Burst, ""},
		{403, "quotaExceeded", `"quota_limit":"SearchPerMinutePerProject"`, fetch.Burst, ""},
		{429, "rateLimitExceeded", `"quota_unit":"1/min/{project}/{user}","quota_limit":"odd PerDay"`, fetch.Burst, ""},
		{429, "rateLimitExceeded", `"quota_unit":"1/s/{project}"`, fetch.Burst, ""},
		{429, "rateLimitExceeded", `"quota_unit":7`, fetch.Burst, ""},
		{429, "rateLimitExceeded", "", fetch.Burst, ""},
		{403, "rateLimitExceeded", "", fetch.Burst, ""},
		{403, "userRateLimitExceeded", "", fetch.Burst, ""},
		{429, "somethingNew", "", fetch.Burst, ""},
		{429, "somethingNew", `"quota_unit":"1/d/{project}","quota_metric":"youtube.googleapis.com/default"`, fetch.Spent, "units"},
		{403, "quotaExceeded", "", fetch.Spent, "units"},
	}
	for _, tt := range tests {
		info := ""
		if tt.metadata != "" {
			info = "RATE_LIMIT_EXCEEDED"
		}
		c, _ := serve(t, respond(tt.status, envelope(tt.status, tt.reason, info, tt.metadata)))
		if fe := fails(t.Context(), t, c.Chart("US", "", "")); fe.Verdict != tt.verdict || fe.Pool != tt.pool {
			t.Errorf("%d %s {%s}: %s, pool %q, want %s, pool %q", tt.status, tt.reason, tt.metadata, fe.Verdict, fe.Pool, tt.verdict, tt.pool)
		} else if said := strings.Contains(tt.metadata, `"1/`) || strings.Contains(tt.metadata, "PerMinute"); fe.Sure != (said && fe.Verdict == fetch.Burst) {
			t.Errorf("%d %s {%s}: %s, sure %v: only a burst whose rate is named is sure", tt.status, tt.reason, tt.metadata, fe.Verdict, fe.Sure)
		}
	}
}

// A refusal that asks to wait for less than an hour is for the rate, with any reason, unless it names the day.
func TestAShortWaitIsAskedForTheRate(t *testing.T) {
	body := func(message, reason, details string) string {
		return fmt.Sprintf(`{"error":{"code":403,"message":%q,"errors":[{"reason":%q}],"details":[%s]}}`, message, reason, details)
	}
	info := func(delay string) string {
		return `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + delay + `"}`
	}
	const unit = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"x","metadata":{"quota_unit":"1/min/{project}"}}`
	for _, tt := range []struct {
		body, header string
		verdict      fetch.CallVerdict
		wait         time.Duration
	}{
		{body("m", "quotaExceeded", info("20s")), "", fetch.Burst, 20 * time.Second},
		{body("m", "quotaExceeded", info("2.5s")), "30", fetch.Burst, 30 * time.Second},
		{body("m", "quotaExceeded", ""), "30", fetch.Burst, 30 * time.Second},
		{body("m", "quotaExceeded", ""), "20000", fetch.Spent, 0},
		{body("m", "quotaExceeded", info("20s")), "20000", fetch.Spent, 0},
		{body("Quota exceeded for limit 'Queries per day'", "rateLimitExceeded", info("20s")), "", fetch.Spent, 0},
		{body("Quota exceeded for limit 'Queries per minute per user'", "quotaExceeded", ""), "", fetch.Burst, time.Minute},
		{body("m", "", info("20s")), "", fetch.Burst, 20 * time.Second},
		{body("m", "somethingNew", unit), "", fetch.Burst, 0},
		{body("m", "forbidden", ""), "", fetch.Rejected, 0},
		{body("API key not valid. Please pass a valid API key.", "forbidden", info("20s")), "", fetch.BadKey, 0},
	} {
		c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if tt.header != "" {
				w.Header().Set("Retry-After", tt.header)
			}
			respond(403, tt.body)(w, r)
		})
		if fe := fails(t.Context(), t, c.Chart("US", "", "")); fe.Verdict != tt.verdict || fe.Wait != tt.wait {
			t.Errorf("%s, Retry-After %q: %s, wait %v, want %s, %v", tt.body, tt.header, fe.Verdict, fe.Wait, tt.verdict, tt.wait)
		}
	}
}

func TestEveryOtherAnswerHasItsVerdict(t *testing.T) {
	const page502 = `<!DOCTYPE html><html lang=en><style>*{margin:0} code{font:15px}</style><script>if (a<b) {x()}</script>
		<title>Error 502 (Server Error)!!1</title><p><b>502.</b> <ins>That&#39;s an error.</ins> <!-- ` + canary + ` --></html>`
	tests := map[string]struct {
		status  int
		body    string
		verdict fetch.CallVerdict
		reason  string
	}{
		"502 HTML":                    {502, page502, fetch.Broken, ""},
		"503 that says quota":         {503, envelope(503, "quotaExceeded", "", ""), fetch.Broken, "quotaExceeded"},
		"400 of no kind":              {400, envelope(400, "badRequest", "", ""), fetch.Rejected, "badRequest"},
		"400 key expired":             {400, envelope(400, "badRequest", "API_KEY_EXPIRED", ""), fetch.BadKey, "API_KEY_EXPIRED"},
		"401":                         {401, envelope(401, "required", "", ""), fetch.BadKey, "required"},
		"403 not configured":          {403, envelope(403, "accessNotConfigured", "SERVICE_DISABLED", ""), fetch.BadKey, "accessNotConfigured"},
		"403 key's address":           {403, envelope(403, "forbidden", "API_KEY_IP_ADDRESS_BLOCKED", ""), fetch.BadKey, "API_KEY_IP_ADDRESS_BLOCKED"},
		"403 referer":                 {403, envelope(403, "ipRefererBlocked", "", ""), fetch.BadKey, "ipRefererBlocked"},
		"403 no key":                  {403, envelope(403, "dailyLimitExceededUnreg", "", ""), fetch.BadKey, "dailyLimitExceededUnreg"},
		"403 HTML, a proxy's":         {403, "<title>Access denied</title>", fetch.Broken, ""},
		"401 HTML, a portal's":        {401, "<title>Sign in</title>", fetch.Broken, ""},
		"407":                         {407, "", fetch.Broken, ""},
		"404 HTML":                    {404, "<h1>Not Found</h1>", fetch.Rejected, ""},
		"404 without reasons":         {404, `{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}`, fetch.NoChart, ""},
		"404 in an array":             {404, "[" + envelope(404, "notFound", "", "") + "]", fetch.NoChart, "notFound"},
		"408":                         {408, "", fetch.Broken, ""},
		"418":                         {418, "teapot", fetch.Rejected, ""},
		"429 HTML":                    {429, "<p>Sorry", fetch.Burst, ""},
		"an error of text":            {400, `{"error":"invalid_grant"}`, fetch.Rejected, ""},
		"reasons of the wrong type":   {400, `{"error":{"errors":[{"reason":5}]}}`, fetch.Rejected, ""},
		"the key in the message":      {400, `{"error":{"message":"key ` + canary + ` <i>is</i> bad","errors":[{"reason":"keyInvalid"}]}}`, fetch.BadKey, "keyInvalid"},
		"the key as the reason":       {400, envelope(400, canary, "", ""), fetch.Rejected, "***"},
		"the key in parts":            {500, `{"error":{"message":"` + canary[:9] + `<b></b>` + canary[9:12] + `\u202e` + canary[12:] + `"}}`, fetch.Broken, ""},
		"the key escaped":             {500, "<p>" + strings.ReplaceAll(canary, "_", "&#95;"), fetch.Broken, ""},
		"the key where text is cut":   {500, strings.Repeat("x", 290) + canary, fetch.Broken, ""},
		"the key where markup is cut": {500, strings.Repeat("<p>", (8<<10)/3-2) + canary, fetch.Broken, ""},
		"escapes in the message":      {400, `{"error":{"message":"\u001b]0;x\u0007\u202e\u0000 hi","errors":[{"reason":"\u001b[31m"}]}}`, fetch.Rejected, "[31m"},
		"a long message":              {500, strings.Repeat("é", 1<<20), fetch.Broken, ""},
	}
	for name, tt := range tests {
		c, _ := serve(t, respond(tt.status, tt.body))
		fe := fails(t.Context(), t, c.Chart("US", "", ""))
		if fe.Verdict != tt.verdict {
			t.Errorf("%s: %s, want %s: %v", name, fe.Verdict, tt.verdict, fe)
		}
		if reason := "(" + cmp.Or(tt.reason, fmt.Sprintf("HTTP %d", tt.status)) + ")"; fe.Status != tt.status || !strings.Contains(fe.Error(), reason) {
			t.Errorf("%s: status %d, want %s: %v", name, fe.Status, reason, fe)
		}
		text := fe.Error()
		if strings.ContainsAny(text, "<\x1b\x00\x07\u202e\n") || len([]rune(text)) > 600 || strings.Contains(text, canary[:12]) {
			t.Errorf("%s: %q, want a short text without secrets and control characters", name, text)
		}
		if name == "502 HTML" && text != "videos.list: YouTube failed (HTTP 502): Error 502 (Server Error)!!1 502. That's an error." {
			t.Errorf("%s: %q, want the page's text in one line", name, text)
		}
	}
}

func TestOnlyAChartCallHasNoChart(t *testing.T) {
	c, _ := serve(t, respond(http.StatusNotFound, envelope(404, "notFound", "", "")))
	if fe := fails(t.Context(), t, c.Videos([]string{"x"})); fe.Verdict != fetch.Rejected {
		t.Errorf("%s: %v, want %v", fe.Verdict, fe, fetch.Rejected)
	}
}

func TestABurstSaysHowLongToWait(t *testing.T) {
	info := `{"error":{"code":429,"message":"m","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37.5s"}]}}`
	for _, tt := range []struct {
		answer http.HandlerFunc
		want   time.Duration
	}{
		{respond(429, info), 37500 * time.Millisecond},
		{retryAfter("12", respond(429, "")), 12 * time.Second},
		{retryAfter("60", respond(429, info)), time.Minute},
		{retryAfter("-1", respond(429, "")), 0},
		{retryAfter("60", respond(503, "")), 0},
	} {
		c, _ := serve(t, tt.answer)
		if fe := fails(t.Context(), t, everyCall(c)["chart"]); fe.Wait != tt.want {
			t.Errorf("%v: asks to wait %v, want %v", fe, fe.Wait, tt.want)
		}
	}
}
