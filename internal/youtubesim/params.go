package youtubesim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is how a parameter's text is read.
type kind int

const (
	text kind = iota
	list      // comma separated, repeated, or both
	number
	boolean
	instant // RFC 3339
	enum    // one of param.values
	mask    // a field mask
	absent  // in the real API; refused, since the stand-in has no data or no user for it
)

// param is a query parameter as the discovery document describes it.
type param struct {
	kind     kind
	min, max int      // of a number
	values   []string // of an enum
}

// systemParams returns the parameters of every method (discovery document, "parameters").
func systemParams() map[string]param {
	return map[string]param{
		"$.xgafv":         {kind: enum, values: []string{"1", "2"}},
		"access_token":    {},
		"alt":             {kind: enum, values: []string{"json"}},
		"callback":        {kind: absent},
		"fields":          {kind: mask},
		"key":             {},
		"oauth_token":     {},
		"prettyPrint":     {kind: boolean},
		"quotaUser":       {},
		"uploadType":      {},
		"upload_protocol": {},
	}
}

// check refuses a value that the parameter cannot have. Only a list may be given more than once.
func (p param) check(name string, given []string) *answer {
	if p.kind == list {
		return nil
	}
	if len(given) > 1 {
		return badRequest(name, "invalid", fmt.Sprintf("Parameter %s was given %d times and is no list.", name, len(given)))
	}
	v := given[0]
	switch p.kind {
	case number:
		n, err := strconv.Atoi(v)
		if err != nil || n < p.min || n > p.max {
			return badRequest(name, "invalidParameter",
				fmt.Sprintf("Invalid value '%s'. Values must be within the range: [%d, %d]", v, p.min, p.max))
		}
	case boolean:
		if v != "true" && v != "false" {
			return badRequest(name, "invalidParameter", fmt.Sprintf("Invalid value '%s' for %s. Use true or false.", v, name))
		}
	case instant:
		if _, err := time.Parse(time.RFC3339Nano, v); err != nil {
			return badRequest(name, "invalidParameter",
				fmt.Sprintf("Invalid value '%s' for %s. It must be an RFC 3339 date-time.", v, name))
		}
	case enum:
		if !slices.Contains(p.values, v) {
			return badRequest(name, "invalidParameter",
				fmt.Sprintf("Invalid value '%s' for %s. Use %s.", v, name, strings.Join(p.values, ", ")))
		}
	case absent:
		return badRequest(name, "invalidParameter",
			fmt.Sprintf("This stand-in has no data for parameter %s. Leave it out.", name))
	default: // text, mask: any text is accepted
	}
	return nil
}
