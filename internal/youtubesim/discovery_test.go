package youtubesim_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// discovery is the API's own description, as the client library ships it.
type discovery struct {
	Parameters map[string]any
	Schemas    map[string]schema
	Resources  map[string]struct {
		Methods map[string]struct {
			Path       string
			HTTPMethod string
			Parameters map[string]any
			Response   schema
		}
	}
}

type schema struct {
	Ref                  string `json:"$ref"`
	Type, Format         string
	Properties           map[string]schema
	Items                *schema
	AdditionalProperties *schema
	Enum                 []string
}

func readDiscovery(t *testing.T) discovery {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/api").Output()
	if err != nil {
		t.Fatalf("where is the client library? %v", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "youtube", "v3", "youtube-api.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d discovery
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// check lists every field of v that the schema does not have, or has with another type.
func (d discovery) check(s schema, v any, at string) []string {
	if s.Ref != "" {
		s = d.Schemas[s.Ref]
	}
	wrong := []string{fmt.Sprintf("%s: %v (%T) is no %s %s", at, v, v, s.Type, s.Format)}
	switch v := v.(type) {
	case map[string]any:
		if s.Type != "object" {
			return wrong
		}
		var bad []string
		for name, e := range v {
			p, ok := s.Properties[name]
			if !ok && s.AdditionalProperties != nil {
				p, ok = *s.AdditionalProperties, true
			}
			if !ok {
				bad = append(bad, at+"/"+name+": unknown field")
				continue
			}
			bad = append(bad, d.check(p, e, at+"/"+name)...)
		}
		return bad
	case []any:
		if s.Type != "array" {
			return wrong
		}
		var bad []string
		for _, e := range v {
			bad = append(bad, d.check(*s.Items, e, at)...)
		}
		return bad
	case bool:
		if s.Type == "boolean" {
			return nil
		}
	case float64:
		if (s.Type == "integer" && v == float64(int64(v))) || s.Type == "number" {
			return nil
		}
	case string:
		if s.Type == "string" && s.holds(v) {
			return nil
		}
	}
	return wrong
}

// holds reports whether a string has the schema's format and is one of its values.
func (s schema) holds(v string) bool {
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		return false
	}
	switch s.Format {
	case "uint64", "int64":
		return regexp.MustCompile(`^\d{1,19}$`).MatchString(v)
	case "google-duration":
		return regexp.MustCompile(`^\d+(\.\d+)?s$`).MatchString(v)
	case "date-time", "google-datetime":
		_, err := time.Parse(time.RFC3339Nano, v)
		return err == nil
	}
	return true
}

// methodCalls is one call of every method with every part it has data for.
func methodCalls(s *stand) map[string]string {
	us := s.chart("US")
	channel := at(us[0], "snippet/channelId")
	return map[string]string{
		"videos.list":          "videos?part=id,snippet,statistics,contentDetails,status,liveStreamingDetails&maxResults=50&chart=mostPopular",
		"videos.batchGetStats": "videos:batchGetStats?part=id,snippet,statistics,contentDetails&id=" + strings.Join(ids(us)[:50], ","),
		"search.list":          "search?part=snippet&maxResults=50&q=a",
		"channels.list":        "channels?part=id,snippet,contentDetails,statistics,status&id=" + channel,
		"playlistItems.list":   "playlistItems?part=id,snippet,contentDetails,status&maxResults=50&playlistId=UU" + strings.TrimPrefix(channel, "UC"),
		"videoCategories.list": "videoCategories?part=snippet&regionCode=DE",
		"i18nRegions.list":     "i18nRegions?part=snippet",
	}
}

func TestEveryAnswerFitsTheDiscoveryDocument(t *testing.T) {
	d := readDiscovery(t)
	s := newStand(t, youtubesim.Options{})
	for name, path := range methodCalls(s) {
		resource, method, _ := strings.Cut(name, ".")
		m := d.Resources[resource].Methods[method]
		if got, _, _ := strings.Cut(path, "?"); m.Path != "youtube/v3/"+got || m.HTTPMethod != "GET" {
			t.Errorf("%s is %s %s, served at %s", name, m.HTTPMethod, m.Path, got)
		}
		body := s.list(path)
		if len(items(body)) == 0 {
			t.Errorf("%s: no items", name)
		}
		if bad := d.check(m.Response, body, ""); bad != nil {
			t.Errorf("%s: %v", name, bad)
		}
		if mask := maskOf(body); !reflect.DeepEqual(withoutEtags(s.list(path+"&fields="+url.QueryEscape(mask))), withoutEtags(body)) {
			t.Errorf("%s: the mask of all its fields, %s, gives another answer", name, mask)
		}
		items(body)[0]["snipet"] = map[string]any{}
		items(body)[0]["id"] = 7.0
		if bad := d.check(m.Response, body, ""); len(bad) != 2 {
			t.Errorf("%s: an unknown and a mistyped field were planted, found %v", name, bad)
		}
	}
}

// maskOf names every field of a value.
func maskOf(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for name, e := range v {
			if sub := maskOf(e); sub != "" {
				name += "(" + sub + ")"
			}
			parts = append(parts, name)
		}
		slices.Sort(parts)
		return strings.Join(parts, ",")
	case []any:
		var all []string
		for _, e := range v {
			if m := maskOf(e); m != "" {
				all = append(all, m)
			}
		}
		return strings.Join(all, ",")
	}
	return ""
}

func TestEveryParameterOfTheDiscoveryDocumentIsKnown(t *testing.T) {
	d := readDiscovery(t)
	s := newStand(t, youtubesim.Options{})
	for name, path := range methodCalls(s) {
		resource, method, _ := strings.Cut(name, ".")
		base, _, _ := strings.Cut(path, "?")
		params := d.Resources[resource].Methods[method].Parameters
		for system := range d.Parameters {
			params[system] = nil
		}
		for p := range params {
			if _, body := s.ask(base + "?" + url.QueryEscape(p) + "=x"); reason(body) == "invalid" {
				t.Errorf("%s: parameter %s is refused as unknown", name, p)
			}
		}
		if status, body := s.ask(path + "&notThere=1"); status != 400 || reason(body) != "invalid" {
			t.Errorf("%s: an unknown parameter gives %d %v", name, status, body)
		}
	}
}
