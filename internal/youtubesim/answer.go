package youtubesim

import (
	"strconv"
	"time"
)

type object = map[string]any

// answer is the answer to a call, before it is written.
type answer struct {
	status int
	body   object
	html   string        // instead of body
	wait   time.Duration // that Retry-After asks for; 0: none
}

// apiError returns an answer in the shape of the API's errors, which repeat the code and the message. location is the
// parameter at fault, "" for none.
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

// asking adds how long the fault wait asks to wait.
func (a *answer) asking(f *Fault) *answer {
	if f != nil && f.Kind == "wait" {
		a.wait = f.Value
		e := a.body["error"].(object)
		e["details"] = append(e["details"].([]any), object{
			"@type":      "type.googleapis.com/google.rpc.RetryInfo",
			"retryDelay": strconv.FormatFloat(f.Value.Seconds(), 'f', -1, 64) + "s",
		})
	}
	return a
}
