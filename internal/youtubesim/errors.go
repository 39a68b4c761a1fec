package youtubesim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// apiError is an answer in the shape of the API's errors, which repeats the code and the message.
// location is the parameter at fault, "" for none.
func apiError(status int, domain, reason, location, message string) *answer {
	one := object{"message": message, "domain": domain, "reason": reason}
	if location != "" {
		one["location"], one["locationType"] = location, "parameter"
	}
	return &answer{status: status, body: object{"error": object{
		"code": status, "message": message, "errors": []any{one},
	}}}
}

// with adds the google.rpc status and, unless info is nil, an ErrorInfo.
func (a *answer) with(rpcStatus string, info object) *answer {
	e := a.body["error"].(object)
	e["status"] = rpcStatus
	if info != nil {
		info["@type"] = "type.googleapis.com/google.rpc.ErrorInfo"
		info["domain"] = "googleapis.com"
		e["details"] = []any{info}
	}
	return a
}

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
	return badRequest("regionCode", "invalidRegionCode", "The <code>regionCode</code> parameter specifies an invalid region code.")
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
	return apiError(http.StatusNotFound, "global", "notFound", "", "Requested entity was not found.").with("NOT_FOUND", nil)
}

func playlistNotFound() *answer {
	return apiError(http.StatusNotFound, "youtube.playlistItem", "playlistNotFound", "playlistId",
		"The playlist identified with the request's <code>playlistId</code> parameter cannot be found.")
}

// notAMethod answers a path that the API, or this stand-in, does not have.
func (s *Server) notAMethod(r *http.Request) *answer {
	var have []string
	for _, m := range s.methods {
		have = append(have, apiPrefix+m.path)
	}
	return apiError(http.StatusNotFound, "global", "notFound", "",
		fmt.Sprintf("%s %s is no method here. This stand-in has GET %s.", r.Method, r.URL.Path, strings.Join(have, ", "))).
		with("NOT_FOUND", nil)
}

// spent refuses for a pool whose day is over. The pool of 10,000 units answers 403 with HTML in
// its message; pools of their own answer 429, with the reason word of a burst limit, and tell the
// two apart only by quota_unit.
func spent(p pool) *answer {
	if p.name == poolUnits {
		return apiError(http.StatusForbidden, "youtube.quota", "quotaExceeded", "",
			`The request cannot be completed because you have exceeded your <a href="/youtube/v3/getting-started#quota">quota</a>.`)
	}
	metric, limit, id := "Search Queries", "defaultSearchListPerDayPerProject", "search_list"
	if p.name == poolStats {
		metric, limit, id = "Batch Get Stats Queries", "defaultVideosBatchGetStatsPerDayPerProject", "videos_batch_get_stats"
	}
	a := rateLimited(fmt.Sprintf("Quota exceeded for quota metric '%s' and limit '%s per day'", metric, metric), limit, "1/d/{project}", id)
	info := a.body["error"].(object)["details"].([]any)[0].(object)
	info["metadata"].(object)["quota_limit_value"] = strconv.FormatInt(p.limit, 10)
	return a
}

func perMinuteExceeded() *answer {
	return rateLimited("Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user'",
		"defaultPerMinutePerUser", "1/min/{project}/{user}", "default")
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

// serverError is a 5xx in the shape that backends give.
func serverError(status int) *answer {
	message, rpc := "Internal error encountered.", "INTERNAL"
	if status != http.StatusInternalServerError {
		message, rpc = "The service is currently unavailable.", "UNAVAILABLE"
	}
	return apiError(status, "global", "backendError", "", message).with(rpc, nil)
}
