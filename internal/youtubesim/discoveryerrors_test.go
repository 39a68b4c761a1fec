package youtubesim_test

import (
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// errorSchema is the envelope that the client library reads errors from, as recorded answers have it. The
// discovery document does not describe it. (google.golang.org/api/googleapi, errorReply and Error;
// google/rpc/error_details.proto, ErrorInfo)
func errorSchema() schema {
	text, number := schema{Type: "string"}, schema{Type: "integer"}
	object := func(fields map[string]schema) schema { return schema{Type: "object", Properties: fields} }
	list := func(of schema) schema { return schema{Type: "array", Items: &of} }
	return object(map[string]schema{"error": object(map[string]schema{
		"code": number, "message": text, "status": text,
		"errors": list(object(map[string]schema{
			"message": text, "domain": text, "reason": text, "location": text, "locationType": text, "extendedHelp": text,
		})),
		"details": list(object(map[string]schema{
			"@type": text, "reason": text, "domain": text, "metadata": {Type: "object", AdditionalProperties: &text},
		})),
	})})
}

// errorBodies returns every refusal of the stand-in, by a fault and of its own.
func errorBodies(t *testing.T) map[string]any {
	t.Helper()
	bodies := map[string]any{}
	add := func(name string, o youtubesim.Options, path string, want int) {
		t.Helper()
		status, body := newStand(t, o).ask(path)
		if status != want {
			t.Errorf("%s: status %d, want %d", name, status, want)
		}
		bodies[name] = body
	}
	const stats = "videos:batchGetStats?part=id&id=x"
	for fault, want := range map[string]int{
		"500": 500, "502": 502, "503": 503, "429min": 429, "403quota": 403, "429day": 429, "badkey": 400, "disabled": 403, "badtoken": 400, "nochart": 404,
	} {
		add("fault "+fault, youtubesim.Options{Faults: faults(t, fault), CostTable: "split-2026-06"}, oneSearch, want)
	}
	none := map[string]int64{"units": 0, "search": 0, "batch_stats": 0}
	split := youtubesim.Options{CostTable: "split-2026-06", Limits: none}
	add("units spent", split, oneVideo, 403)
	add("searches spent", split, oneSearch, 429)
	add("counts spent", split, stats, 429)
	add("key", youtubesim.Options{RequireKey: "k"}, oneVideo, 400)
	add("token", youtubesim.Options{}, oneVideo+"&pageToken=x", 400)
	add("parameter", youtubesim.Options{}, oneVideo+"&x=y", 400)
	add("region", youtubesim.Options{}, "videos?part=id&chart=mostPopular&regionCode=XX", 400)
	add("no filter", youtubesim.Options{}, "videos?part=id", 400)
	add("two filters", youtubesim.Options{}, oneVideo+"&id=x", 400)
	add("no part", youtubesim.Options{}, "videos?id=x", 400)
	add("no chart", youtubesim.Options{}, "videos?part=id&chart=mostPopular&regionCode=LI", 404)
	add("no playlist", youtubesim.Options{}, "playlistItems?part=id&playlistId=UUnone", 404)
	add("no method", youtubesim.Options{}, "captions?part=id", 404)
	return bodies
}

func TestAFieldThatDoesNotFitIsFound(t *testing.T) {
	d := readDiscovery(t)
	s := newStand(t, youtubesim.Options{})
	plant := func(name string, of schema, body any, field map[string]any, key string, value any, unknown, mistyped int) {
		t.Helper()
		old, had := field[key]
		field[key] = value
		f := &findings{}
		d.response(f, name, of, body)
		if f.unknown != unknown || f.mistyped != mistyped || f.failed != 1 || len(f.what) != 1 {
			t.Errorf("%s: %s = %v was planted: %s: %v", name, key, value, f, f.what)
		}
		if delete(field, key); had {
			field[key] = old
		}
	}
	for name, path := range methodCalls(s) {
		resource, method, _ := strings.Cut(name, ".")
		response := d.Resources[resource].Methods[method].Response
		body := s.list(path)
		item := items(body)[0]
		plant(name, response, body, item, "snipet", map[string]any{}, 1, 0)
		plant(name, response, body, item, "kind", 7.0, 0, 1)
		plant(name, response, body, body, "items", map[string]any{}, 0, 1)
		plant(name, response, body, item["snippet"].(map[string]any), "title_", "x", 1, 0)
		plant(name, response, body, item, "snippet", "x", 0, 1)
	}
	for name, body := range errorBodies(t) {
		e := body.(map[string]any)["error"].(map[string]any)
		plant(name, errorSchema(), body, e, "reason", "x", 1, 0)
		plant(name, errorSchema(), body, e, "code", "403", 0, 1)
	}
	video := items(s.list("videos?part=snippet,statistics&chart=mostPopular"))[0]
	videos := map[string]any{"items": []any{video}}
	list := d.Resources["videos"].Methods["list"].Response
	plant("videos.list", list, videos, video["statistics"].(map[string]any), "viewCount", 7.0, 0, 1)
	plant("videos.list", list, videos, video["statistics"].(map[string]any), "viewCount", "-7", 0, 1)
	plant("videos.list", list, videos, video["snippet"].(map[string]any), "publishedAt", "yesterday", 0, 1)
	plant("videos.list", list, videos, video["snippet"].(map[string]any), "liveBroadcastContent", "soon", 0, 1)
}
