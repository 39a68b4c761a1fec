package youtube

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/wire"
)

// The pools of costs.yaml that an answer can name.
const (
	poolUnits  = "units"
	poolSearch = "search"
)

// meaning is the consequence of a reason.
type meaning struct {
	verdict fetch.CallVerdict
	says    string
}

// Meanings that are shared by several reasons.
var (
	refusesKey = meaning{fetch.BadKey, "YouTube refuses the key"}
	noAPI      = meaning{fetch.BadKey, "The YouTube Data API v3 is not enabled for the key's project"}
	noProject  = meaning{fetch.BadKey, "YouTube says that the key's project is deleted, suspended or not known"}
	noBilling  = meaning{fetch.BadKey, "YouTube says that billing is off for the key's project"}
	tooFast    = meaning{fetch.Burst, "YouTube says too many calls came at once"}
	daySpent   = meaning{fetch.Spent, "YouTube says the daily quota is spent"}
	rejected   = meaning{fetch.Rejected, "YouTube rejects the request"}
	failed     = meaning{fetch.Broken, "YouTube failed"}
	proxys     = meaning{fetch.Broken, "A proxy or firewall on the way answers, not YouTube"}
	noChart    = meaning{fetch.NoChart, "YouTube has no such chart for this region and category"}
)

// reasonMeanings maps errors[].reason (developers.google.com/youtube/v3/docs/errors, and the common
// developers.google.com/webmaster-tools/v1/errors) and, in capitals, ErrorInfo.reason (google/api/error_reason.proto).
// classifyLimit refines those about a rate or a quota.
var reasonMeanings = map[string]meaning{
	"quotaExceeded":         daySpent,
	"dailyLimitExceeded":    daySpent, // until 2020
	"rateLimitExceeded":     tooFast,  // also a spent pool of search calls: see classifyLimit
	"userRateLimitExceeded": tooFast,
	"RATE_LIMIT_EXCEEDED":   tooFast,

	"servingLimitExceeded":    tooFast,
	"concurrentLimitExceeded": tooFast,

	"keyInvalid":               refusesKey,
	"keyExpired":               refusesKey,
	"ipRefererBlocked":         refusesKey,
	"dailyLimitExceededUnreg":  refusesKey, // no key reached YouTube
	"rateLimitExceededUnreg":   refusesKey,
	"CONSUMER_INVALID":         refusesKey,
	"CREDENTIALS_MISSING":      refusesKey,
	"accessNotConfigured":      noAPI,
	"SERVICE_DISABLED":         noAPI,
	"SERVICE_NOT_VISIBLE":      noAPI,
	"USER_PROJECT_DENIED":      noProject,
	"RESOURCE_PROJECT_INVALID": noProject,
	"CONSUMER_SUSPENDED":       noProject,
	"GCP_SUSPENDED":            noProject,
	"BILLING_DISABLED":         noBilling,

	"processingFailure":  failed, // seen in the middle of lists, and gone soon after
	"failedPrecondition": failed,

	"invalidPageToken":  {fetch.BadToken, "YouTube does not know the page token"},
	"invalidRegionCode": {fetch.BadRegion, "YouTube does not know the region"},
}

// refusal returns the meaning of an answer without a page, by its reasons or else by its status.
func (c *Client) refusal(q wire.Question, a wire.Answer) *fetch.Error {
	body := parseErrorBody(a)
	reason, m := body.findMeaning(q.Method == videosList && q.Region != "", a.Status)
	m, pool, sure := body.classifyLimit(m)
	if pool == poolUnits && a.Status == http.StatusTooManyRequests && q.Method == searchList &&
		body.info["quota_metric"] == "" {
		pool = poolSearch // the shared pool refuses with a 403
	}
	if m.verdict == fetch.Spent { // its message is long and of no use
		body.message = ""
		if pool != "" && pool != poolUnits {
			body.message = "pool " + pool
		}
	}
	e := c.Refused(q.Method, m.verdict, a, m.says, reason, body.message)
	e.Pool, e.Sure = pool, sure
	// a reason in capitals is a rule of all Google's servers, not of the method
	e.Vague = m.verdict == fetch.Rejected && a.Status == http.StatusForbidden &&
		(reason == "forbidden" || reason == strings.ToUpper(reason))
	if e.Verdict == fetch.Burst {
		e.Wait = body.wait
		if e.Wait == 0 && perMinute.MatchString(body.message) {
			e.Wait = time.Minute
		}
	}
	return e
}

// Verdict classifies the answer to another program's request, for the quota; nil if it was served. A 401
// means that the method needs a user's consent, which no key can give; the key itself may be good.
func (c *Client) Verdict(method string, a wire.Answer) *fetch.Error {
	if a.Err == nil && a.Status == http.StatusNotModified {
		return nil
	}
	_, err := wire.Read(c.Client, wire.Question{Method: method}, a, readObject)
	e, _ := errors.AsType[*fetch.Error](err)
	if e != nil && a.Err == nil && a.Status == http.StatusUnauthorized {
		e.Verdict = fetch.Rejected
	}
	return e
}

// readObject checks that a body is one object without an error. Any other body with a 200 is a portal's page or
// cut off.
func readObject(body []byte) (said struct{ Error *struct{} }, err error) {
	if err = json.Unmarshal(body, &said); err != nil || said.Error != nil || bytes.TrimSpace(body)[0] != '{' {
		err = cmp.Or(err, wire.ErrNotAList)
	}
	return said, err
}

// errorBody is the error in an answer's body, without undocumented parts.
type errorBody struct {
	message  string        // may hold HTML
	wait     time.Duration // asked for by the body or the header
	console  bool          // it links to Google's console, where keys are set
	envelope bool          // the API's own error, not a proxy's page
	reasons  []string      // ErrorInfo's first, as it is more exact
	info     map[string]string
}

// maxErrorBody bounds an error that is read, in bytes: errors of the API have some hundreds. A longer one
// comes from a proxy.
const maxErrorBody = 64 << 10

// saidError is an error as Google's servers write it.
type saidError struct {
	Message string `json:"message"`
	Errors  []struct {
		Reason string `json:"reason"`
	} `json:"errors"`
	Details []struct {
		Type     string            `json:"@type"`
		Reason   string            `json:"reason"`
		Metadata map[string]string `json:"metadata"`
		Delay    string            `json:"retryDelay"`
		Links    []struct {
			URL string `json:"url"`
		} `json:"links"`
	} `json:"details"`
}

func parseErrorBody(a wire.Answer) errorBody {
	var said struct {
		Error saidError `json:"error"`
	}
	e := &said.Error
	// a long body's lists could decode to 100 times its size
	if body := bytes.Trim(a.Body, "[] \t\r\n\ufeff"); len(a.Body) <= maxErrorBody {
		_ = json.Unmarshal(body, &said) // some come in an array
		if e.Message == "" && len(e.Errors)+len(e.Details) == 0 {
			_ = json.Unmarshal(body, e) // Google's own proxy sends it without an envelope
		}
	}
	b := errorBody{message: e.Message, wait: wire.RetryAfter(a.Header), envelope: e.Message != "" ||
		len(e.Errors) > 0 || len(e.Details) > 0}
	if !b.envelope {
		b.message = string(a.Body)
	}
	for _, d := range e.Details {
		if delay, err := time.ParseDuration(d.Delay); err == nil && delay > 0 { // google.rpc.RetryInfo
			b.wait = max(b.wait, delay)
		}
		for _, link := range d.Links {
			b.console = b.console || consoleLink.MatchString(link.URL)
		}
		if !strings.HasSuffix(d.Type, "google.rpc.ErrorInfo") {
			continue
		}
		b.reasons = append(b.reasons, d.Reason)
		if b.info == nil {
			b.info = d.Metadata
		}
	}
	for _, item := range e.Errors {
		b.reasons = append(b.reasons, item.Reason)
	}
	b.reasons = slices.DeleteFunc(b.reasons, func(reason string) bool { return reason == "" })
	return b
}

// findMeaning finds the decisive reason and its meaning. It returns the reason's older name, which people find when
// they look it up.
func (b errorBody) findMeaning(chart bool, status int) (string, meaning) {
	plain := ""
	if n := len(b.reasons); n > 0 {
		plain = b.reasons[n-1]
	}
	if status >= 500 || status <= 399 {
		return plain, failed
	}
	for _, r := range b.reasons {
		m, ok := reasonMeanings[r]
		if !ok && strings.HasPrefix(r, "API_KEY_") { // ..._INVALID, ..._SERVICE_BLOCKED and more
			m, ok = refusesKey, true
		}
		if !ok {
			continue
		}
		if _, known := reasonMeanings[plain]; known {
			r = plain
		}
		return r, m
	}
	return plain, meaningOfStatus(chart, status, b, plain)
}

func meaningOfStatus(chart bool, status int, b errorBody, reason string) meaning {
	if m, ok := b.refusedKey(status); ok {
		return m
	}
	switch {
	case !b.envelope && slices.Contains(proxyRefusals, status):
		return proxys
	case reason == "videoChartNotFound":
		return noChart
	case chart && status == http.StatusNotFound && b.envelope && (reason == "notFound" || reason == ""):
		return noChart
	case status == http.StatusUnauthorized:
		return refusesKey
	case status == http.StatusTooManyRequests, status == http.StatusForbidden &&
		(b.wait > 0 || b.info["quota_unit"]+b.info["quota_limit"] != ""):
		return tooFast
	case slices.Contains(transient, status):
		return failed
	}
	return rejected
}

// transient are the statuses below 500 after which the same call succeeds later [seen].
var transient = []int{
	http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked, http.StatusTooEarly,
	499, // the client closed the request, says a proxy of Google's own
}

// proxyRefusals are the statuses that proxies refuse with; YouTube puts them in an envelope.
var proxyRefusals = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusUnavailableForLegalReasons,
}

// consoleLink matches Google's console. A refusal that links there is about the key or its project.
var consoleLink = regexp.MustCompile(`^https://console\.(?:developers|cloud)\.google\.com/`)

// keySentences match Google's messages that refuse a key, when no known reason does [seen].
var keySentences = []struct {
	says  *regexp.Regexp
	means meaning
}{
	{
		regexp.MustCompile(
			`(?i)has not been used in project|access not configured|not authorized to use this api|denied for service|` +
				`\bapi\b.* (?:is|it is|has been|was) (?:disabled|not enabled|deactivated|blocked)`), noAPI},
	{regexp.MustCompile(`(?i)\bbilling\b`), noBilling},
	{regexp.MustCompile(
		`(?i)\b(?:project|consumer)\b.*\b(?:suspended|deleted|deletion|invalid|not found|shut down|not exist)|` +
			`denied on resource project|permission to use project`), noProject},
	{
		regexp.MustCompile(
			`(?i)\bapi key\b.*\b(?:not valid|invalid|valid api key|expired|not found|not exist|doesn't exist|restrict|` +
				`blocked|disabled|revoked|leaked|suspended|deleted|not authorized|permission)|invalid api key|` +
				`^requests (?:from|to) .*\bare blocked|\bkey restrictions|` +
				`restrictions? (?:configured )?(?:on|of|for) (?:your|the|this) api key|` +
				`(?:missing|no|without|use) an? (?:valid )?api key|unregistered callers|` +
				`unauthenticated use|from different projects`), refusesKey},
}

// refusedKey finds a refused key by the sentence of the refusal, or by its link to Google's console.
func (b errorBody) refusedKey(status int) (meaning, bool) {
	if !b.envelope || status != http.StatusBadRequest && status != http.StatusForbidden {
		return meaning{}, false
	}
	for _, s := range keySentences {
		if s.says.MatchString(b.message) {
			return s.means, true
		}
	}
	return refusesKey, b.console
}

// classifyLimit distinguishes a quota per day from one per minute, which have the same reasons, and names the spent
// pool. ErrorInfo's metadata decides, as seen in production: quota_unit "1/d/{project}" or "1/min/{project}/{user}",
// quota_limit "...PerDay..." or "...PerMinute...". Without metadata the message decides, then a short wait that the
// answer asks for, then the reason. sure says that the metadata showed a burst.
func (b errorBody) classifyLimit(m meaning) (_ meaning, pool string, sure bool) {
	if m.verdict != fetch.Spent && m.verdict != fetch.Burst {
		return m, "", false
	}
	unit, limit := b.info["quota_unit"], b.info["quota_limit"]
	switch {
	case strings.Contains(unit+"/", "/d/"):
		m = daySpent
	case unit != "":
		m, sure = tooFast, true
	case strings.Contains(limit, "PerDay"):
		m = daySpent
	case strings.Contains(limit, "PerMinute"):
		m, sure = tooFast, true
	case limit != "":
	case strings.Contains(strings.ToLower(b.message), "per day"):
		m = daySpent
	case perMinute.MatchString(b.message), b.wait > 0 && b.wait < time.Hour:
		m = tooFast
	}
	if m.verdict == fetch.Burst {
		return m, "", sure
	}
	return m, b.pool(), false
}

// perMinute matches a message that refuses too many calls a minute.
var perMinute = regexp.MustCompile(`(?i)\bper (?:minute|100 seconds)`)

// pool returns the pool that ErrorInfo names, or "" for an unknown metric: every pool of the method. An error without a
// metric has the shared pool's old form.
func (b errorBody) pool() string {
	metric := b.info["quota_metric"]
	switch metric[strings.LastIndexByte(metric, '/')+1:] {
	case "search_list":
		return poolSearch
	case "default", "":
		return poolUnits
	}
	return ""
}
