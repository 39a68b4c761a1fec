package dailymotionsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/trendvidstream/ingest/internal/standin"
)

type object = map[string]any

// answer is the answer to a call, before it is written.
type answer struct {
	status int
	body   object
	html   string // instead of body
}

// apiError is an answer in the shape of the API's errors. Only the types "not_found" and
// "invalid_parameter" are documented; the others are made up.
func apiError(status int, kind, message string, data object) *answer {
	e := object{"more_info": "https://developer.dailymotion.com/api#error-codes", "code": status,
		"message": message, "type": kind}
	if data != nil {
		e["error_data"] = data
	}
	return &answer{status: status, body: object{"error": e}}
}

func invalid(param, why string) *answer {
	return apiError(http.StatusBadRequest, "invalid_parameter",
		fmt.Sprintf("Invalid value for `%s' parameter: %s", param, why),
		object{"reason": "invalid_parameter", "param": param})
}

func notFound(kind, id string) *answer {
	return apiError(http.StatusNotFound, "not_found", fmt.Sprintf("Can't find object %s for `%s' parameter", kind, kind),
		object{"reason": "object_not_found", "object_type": kind, "object_id": id, "param": kind})
}

func rateLimited() *answer {
	return apiError(http.StatusTooManyRequests, "rate_limit_exceeded", "Too many requests, please try again later", nil)
}

// write sends the answer, dated by the upstream's own clock and spoiled by a fault of this kind ("": none).
func (a *answer) write(w http.ResponseWriter, r *http.Request, at time.Time, fault string) {
	if fault == "drop" {
		panic(http.ErrAbortHandler) // net/http's way to close without an answer
	}
	h := w.Header()
	h.Set("Date", at.UTC().Format(http.TimeFormat))
	h.Set("Cache-Control", "no-cache, must-revalidate")
	h.Set("Content-Type", "application/json; charset=UTF-8")
	body := []byte(a.html)
	if a.html != "" {
		h.Set("Content-Type", "text/html; charset=UTF-8")
	} else {
		body = encode(a.body)
	}
	standin.Write(w, r, a.status, body, fault == "truncate")
}

func encode(o object) []byte {
	b, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("dailymotionsim: an answer is not JSON: %v", err)) // maps, slices and scalars only
	}
	return b
}
