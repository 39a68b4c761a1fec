//go:build unix

package main_test

import (
	"encoding/json"
	"net/http"
	"testing"
)

// An upstream, or a proxy in front of it, may repeat the key in a well-formed answer: in titles, tags and ids, which
// are stored as they come. The key is removed before anything is stored.
func TestLongAnUpstreamThatRepeatsTheKeyDoesNotSpreadIt(t *testing.T) {
	c := newCanary(unlike)
	hazard := serveHazard(t, "echo in a video", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Goog-Api-Key")
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": key, "etag": key, "items": []any{
			map[string]any{"id": key, "snippet": map[string]any{"title": "your key is " + key, "channelId": "UC" + key, "channelTitle": key,
				"tags": []string{key}, "categoryId": key, "defaultLanguage": key, "thumbnails": map[string]any{"high": map[string]any{"url": "https://i/" + key}}}},
		}, "nextPageToken": key})
	}))
	h := newHome(t, c.key, hazard.base)
	for _, w := range canaryWays()[:goodWays(canaryWays())] {
		h.run(c, hazard.name, w, []string{"run", "--force", "--region", "US"})
	}
	for _, args := range [][]string{
		{"chart", "US"}, {"chart", "US", "--json"}, {"chart", "US", "--format", "csv"}, {"search", "your"}, {"search", "your", "--json"}, {"slots", "--json"}, {"doctor"},
	} {
		h.run(c, hazard.name, canaryWays()[0], args)
	}
	c.watchFiles(t, hazard.name, h.dir)
}
