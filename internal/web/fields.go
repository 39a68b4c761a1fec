package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/term"
)

// withFields returns a chart whose items have only these comma-separated fields; "" is all.
func withFields(chart any, fields string) (any, error) {
	if fields == "" {
		return chart, nil
	}
	text, err := json.Marshal(chart)
	if err != nil {
		return nil, err
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	for _, list := range []string{"items", "gone"} {
		if doc[list] == nil {
			continue
		}
		if doc[list], err = pick(doc[list], strings.Split(fields, ",")); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

func pick(list json.RawMessage, fields []string) (json.RawMessage, error) {
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, item := range items {
		for name := range item {
			known[name] = true
		}
	}
	for _, name := range fields {
		if !known[name] && len(items) > 0 {
			return nil, fmt.Errorf("%w: fields: there is no %q: items have %s", report.ErrBadRequest,
				term.Fit(name, 40), strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	for _, item := range items {
		maps.DeleteFunc(item, func(name string, _ json.RawMessage) bool { return !slices.Contains(fields, name) })
	}
	return json.Marshal(items)
}
