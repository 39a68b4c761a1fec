package dailymotion

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
)

// refusal returns the meaning of an answer without a list.
func (c *Client) refusal(q wire.Question, a wire.Answer) *fetch.Error {
	said := parseError(a.Body)
	v, says := said.meaning(q.Method, a.Status)
	return c.Refused(q.Method, v, a, says, said.Type, said.Message)
}

// apiError is Dailymotion's error object (https://developers.dailymotion.com/api/platform-api/errors/). Its code
// repeats the status.
type apiError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Data    struct {
		ObjectType string `json:"object_type"`
		Param      string `json:"param"` // the parameter at fault
	} `json:"error_data"`
}

// parseError reads an error. Any other body, as from a proxy, becomes the message.
func parseError(body []byte) apiError {
	var b struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(body, &b); err != nil || b.Error == nil {
		return apiError{Message: string(body)}
	}
	return *b.Error
}

// meaning is the table of verdicts.
func (e apiError) meaning(method string, status int) (fetch.CallVerdict, string) {
	switch {
	case status >= 500 || status <= 399 || status == http.StatusRequestTimeout:
		return fetch.Broken, "Dailymotion failed"
	case status == http.StatusTooManyRequests, status == http.StatusForbidden && e.isRateLimit():
		return fetch.Burst, "Dailymotion says too many calls came at once"
	case status == http.StatusUnauthorized:
		return fetch.BadKey, "Dailymotion asks for an access token, which this program does not have"
	case status != http.StatusBadRequest && status != http.StatusNotFound:
		return fetch.Rejected, "Dailymotion rejects the request"
	case e.isAbout("country"):
		return fetch.BadRegion, "Dailymotion does not know the region"
	case e.isAbout("page"):
		return fetch.BadToken, "Dailymotion has no such page"
	case method == videosTrending && e.isAbout("channel"):
		return fetch.NoChart, "Dailymotion has no such category"
	}
	return fetch.Rejected, "Dailymotion rejects the request"
}

// isAbout reports whether a parameter is at fault. If error_data does not name one, the message may, as in the
// documented "Can't find object video for `id' parameter".
func (e apiError) isAbout(param string) bool {
	if e.Data.Param != "" {
		return e.Data.Param == param
	}
	return e.Data.ObjectType == param || strings.Contains(e.Message, "`"+param+"'")
}

// isRateLimit distinguishes a temporary 403 from a permanent one: the provider uses it both for "spam activity" and
// for a missing right, and says which only in words.
func (e apiError) isRateLimit() bool {
	return rateLimitText.MatchString(e.Type) || rateLimitText.MatchString(e.Message)
}

var rateLimitText = regexp.MustCompile(
	`(?i)\brate\b|\brate.?limit|\blimit (is |was )?exceeded|\bquota\b|\bspam|\btoo many\b`)
