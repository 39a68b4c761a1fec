package dailymotionsim

import (
	"net/http"

	"github.com/trendvidstream/ingest/internal/standin"
)

// Fault is a failure of some calls. ParseFault makes one; the zero value hits none.
type Fault = standin.Fault

var faultKinds = []string{"500", "502html", "200html", "429", "403", "drop", "truncate", "slow"}

// ParseFault reads one fault, KIND[@CALLS | :PERCENT%], with calls counted from 1: "500@3", "drop:5%", "slow=2s@10+".
func ParseFault(s string) (Fault, error) { return standin.ParseFault(s, faultKinds, "slow") }

// refuses returns the limit whose refusal the fault fakes; "" for none. Such calls are counted like real refusals.
func refuses(f *Fault) string {
	if f.Kind == "429" {
		return poolCalls
	}
	return ""
}

// faultAnswer returns the answer that a fault substitutes for the call's own. It is nil for faults that spoil the
// answer while it is written.
func faultAnswer(f Fault) *answer {
	switch f.Kind {
	case "500":
		return apiError(http.StatusInternalServerError, "internal_error", "An internal error occurred", nil)
	case "502html":
		return &answer{status: http.StatusBadGateway, html: badGatewayPage}
	case "200html":
		return &answer{status: http.StatusOK, html: badGatewayPage}
	case "403":
		return apiError(http.StatusForbidden, "access_forbidden", "You are not allowed to access this resource", nil)
	}
	return nil
}

const badGatewayPage = `<!DOCTYPE html>
<html lang=en><meta charset=utf-8><title>502 Bad Gateway</title>
<center><h1>502 Bad Gateway</h1></center><hr><center>stand-in</center></html>
`
