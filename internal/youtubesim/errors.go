package youtubesim

import (
	"fmt"
	"net/http"
	"strconv"
)

func badRequest(param, reason, message string) *answer {
	return apiError(http.StatusBadRequest, "youtube.parameter", reason, param, message)
}

func unknownParameter(name string) *answer {
	msg := fmt.Sprintf("Invalid JSON payload received. Unknown name %q: Cannot bind query parameter. "+
		"Field '%s' could not be found in request message.", name, name)
	return apiError(http.StatusBadRequest, "global", "invalid", name, msg).with("INVALID_ARGUMENT", nil)
}

func badPageToken() *answer {
	return badRequest("pageToken", "invalidPageToken", "The request specifies an invalid page token.")
}

func badRegion() *answer {
	return badRequest("regionCode", "invalidRegionCode",
		"The <code>regionCode</code> parameter specifies an invalid region code.")
}

func noFilter(expected string) *answer {
	return badRequest("parameters", "missingRequiredParameter", "No filter selected. Expected one of: "+expected)
}

func conflictingFilters(names string) *answer {
	return badRequest("parameters", "incompatibleParameters", "Incompatible parameters specified in the request: "+names)
}

func badKey() *answer {
	return apiError(http.StatusBadRequest, "global", "badRequest", "", "API key not valid. Please pass a valid API key.").
		with("INVALID_ARGUMENT", object{"reason": "API_KEY_INVALID", "metadata": object{"service": "youtube.googleapis.com"}})
}

func chartNotFound() *answer {
	return apiError(http.StatusNotFound, "global", "notFound", "",
		"Requested entity was not found.").with("NOT_FOUND", nil)
}

func playlistNotFound() *answer {
	return apiError(http.StatusNotFound, "youtube.playlistItem", "playlistNotFound", "playlistId",
		"The playlist identified with the request's <code>playlistId</code> parameter cannot be found.")
}

// refusal is the answer for a reached limit: perMinute, or a pool with its limit per day. The pool of 10,000 units
// answers 403 with HTML in its message. The other pools answer 429 with the reason of a burst limit; quota_unit shows
// that the limit is per day.
func refusal(name string, poolLimit int64) *answer {
	switch name {
	case perMinute:
		return rateLimited("Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user'",
			"defaultPerMinutePerUser", "1/min/{project}/{user}", "default")
	case poolUnits:
		return apiError(http.StatusForbidden, "youtube.quota", "quotaExceeded", "",
			`The request cannot be completed because you have exceeded your `+
				`<a href="/youtube/v3/getting-started#quota">quota</a>.`)
	}
	metric, limit, id := "Search Queries", "defaultSearchListPerDayPerProject", "search_list"
	if name == poolStats {
		metric, limit, id = "Batch Get Stats Queries", "defaultVideosBatchGetStatsPerDayPerProject", "videos_batch_get_stats"
	}
	a := rateLimited(fmt.Sprintf("Quota exceeded for quota metric '%s' and limit '%s per day'", metric, metric),
		limit, "1/d/{project}", id)
	info := a.body["error"].(object)["details"].([]any)[0].(object)
	info["metadata"].(object)["quota_limit_value"] = strconv.FormatInt(poolLimit, 10)
	return a
}

func rateLimited(what, limit, unit, metric string) *answer {
	msg := what + " of service 'youtube.googleapis.com' for consumer 'project_number:000000000000'."
	return apiError(http.StatusTooManyRequests, "global", "rateLimitExceeded", "", msg).
		with("RESOURCE_EXHAUSTED", object{"reason": "RATE_LIMIT_EXCEEDED", "metadata": object{
			"quota_limit": limit, "quota_unit": unit, "service": "youtube.googleapis.com",
			"quota_metric": "youtube.googleapis.com/" + metric, "consumer": "projects/000000000000",
			"quota_location": "global",
		}})
}

func disabled() *answer {
	return apiError(http.StatusForbidden, "usageLimits", "accessNotConfigured", "",
		"YouTube Data API v3 has not been used in project 000000000000 before or it is disabled.").
		with("PERMISSION_DENIED", object{"reason": "SERVICE_DISABLED", "metadata": object{
			"service": "youtube.googleapis.com", "consumer": "projects/000000000000",
		}})
}

// serverError returns a 5xx answer in the shape of the API's backends.
func serverError(status int) *answer {
	message, rpc := "Internal error encountered.", "INTERNAL"
	if status != http.StatusInternalServerError {
		message, rpc = "The service is currently unavailable.", "UNAVAILABLE"
	}
	return apiError(status, "global", "backendError", "", message).with(rpc, nil)
}

// faultAnswer returns the answer that a fault substitutes for the call's own. It is nil for faults that spoil the
// answer while it is written.
func faultAnswer(f *Fault) *answer {
	switch f.Kind {
	case "500", "502", "503":
		status, _ := strconv.Atoi(f.Kind)
		return serverError(status)
	case "502html":
		return &answer{status: http.StatusBadGateway, html: badGatewayPage}
	case "403html":
		return &answer{status: http.StatusForbidden, html: blockedPage}
	case "407", "408", "409", "423", "425", "499":
		status, _ := strconv.Atoi(f.Kind)
		return &answer{status: status, html: "\n"}
	case "badkey":
		return badKey()
	case "disabled":
		return disabled()
	case "badtoken":
		return badPageToken()
	case "nochart":
		return chartNotFound()
	case "nolist":
		return playlistNotFound()
	case "precondition":
		return apiError(http.StatusBadRequest, "global", "failedPrecondition", "",
			"Precondition check failed.").with("FAILED_PRECONDITION", nil)
	case "forbidden":
		return apiError(http.StatusForbidden, "global", "forbidden", "", "Forbidden")
	case "processing":
		return apiError(http.StatusBadRequest, "youtube.core", "processingFailure",
			"", "The API server failed to successfully process the request.")
	}
	return nil
}

// withhold takes items from an answer that has them, for the faults blank and short.
func withhold(f *Fault, a *answer) {
	items, ok := a.body["items"].([]any)
	if f == nil || !ok || f.Kind != "blank" && f.Kind != "short" {
		return
	}
	a.body["items"] = []any{}
	if f.Kind == "short" {
		a.body["items"] = items[:len(items)/10]
	}
	delete(a.body, "nextPageToken")
}

const blockedPage = `<!DOCTYPE html>
<title>Access denied</title><h1>Access denied</h1><p>This site is not allowed by the policy of your network.
`

const badGatewayPage = `<!DOCTYPE html>
<html lang=en><meta charset=utf-8><title>Error 502 (Server Error)!!1</title>
<p><b>502.</b> <ins>That’s an error.</ins>
<p>The server encountered a temporary error and could not complete your request.<p>Please try again in 30 seconds.
`
