package youtubesim

import (
	"strings"

	"github.com/trendvidstream/ingest/internal/standin"
)

// Fault is a failure of some calls. ParseFault makes one.
type Fault = standin.Fault

// FaultHelp is the grammar of ParseFault, for a help text.
const FaultHelp = `KIND[@CALLS | :PERCENT%]; without either, every call is hit.
  CALLS     3 (the third), 3-5, 3+ (from the third on); counted from 1
  PERCENT   10, 0.5; seeded, the same every time
  500 502 503    the API's error body
  408 409 423 425 499 407
                 that status without a body; 407 is a proxy's own
  403html        a proxy's refusal, as a page
  502html        a proxy's HTML page
  429min         too many calls a minute
  wait=20s       the same, asking to wait that long: Retry-After and RetryInfo
  403quota       the units of the day are spent
  429day         the searches of the day are spent
  badkey disabled badtoken nochart nolist forbidden processing precondition
                 the API's refusal of that name; forbidden gives no reason
  blank          200 with no items, for any request
  short          200 with a tenth of the items, and no next page
  drop           counted, then closed without an answer
  reset          counted, then the connection is reset
  truncate       the body breaks off halfway
  empty          200 without a body
  hugebody       200 and 64 MiB of body
  slow=2s        answered, that much later`

var faultKinds = []string{
	"500", "502", "503", "502html", "429min", "403quota", "429day", "badkey", "disabled", "badtoken", "nochart",
	"nolist", "forbidden", "processing", "precondition", "blank", "short", "407", "408", "409",
	"423", "425", "499", "403html",
	"drop", "reset", "truncate", "empty", "hugebody", "slow", "wait",
}

// ParseFault reads one fault, as FaultHelp says: "503@3", "drop:5%", "slow=2s@10+".
func ParseFault(s string) (Fault, error) {
	return standin.ParseFault(strings.Replace(s, "html502", "502html", 1), faultKinds, "slow", "wait")
}

// refuses returns the limit whose refusal the fault fakes: a pool, perMinute, or "" for none. Such calls are counted
// like real refusals.
func refuses(f *Fault) string {
	return map[string]string{"403quota": poolUnits, "429day": poolSearch, "429min": perMinute, "wait": perMinute}[f.Kind]
}

// failsServer reports whether the upstream itself fails: it answers 5xx, or not at all.
func failsServer(f *Fault) bool {
	return strings.HasPrefix(f.Kind, "5") || f.Kind == "drop" || f.Kind == "reset"
}
