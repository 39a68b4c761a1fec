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

// findings counts the values checked against the discovery document, and the mismatches.
type findings struct {
	responses, fields         int
	unknown, mistyped, failed int
	what                      []string // where, in words
}

func (f *findings) String() string {
	return fmt.Sprintf("responses checked: %d (%d fields), unknown fields %d, mistyped %d, failed %d",
		f.responses, f.fields, f.unknown, f.mistyped, f.failed)
}

// response checks a whole body. A field that the schema does not have, or has with another type, is a failure.
func (d discovery) response(f *findings, name string, s schema, body any) {
	before := f.unknown + f.mistyped
	f.responses++
	d.check(f, s, body, name)
	if f.unknown+f.mistyped > before {
		f.failed++
	}
}

func (d discovery) check(f *findings, s schema, v any, at string) {
	if s.Ref != "" {
		s = d.Schemas[s.Ref]
	}
	switch v := v.(type) {
	case map[string]any:
		if s.Type == "object" {
			d.checkFields(f, s, v, at)
			return
		}
	case []any:
		if s.Type == "array" {
			for _, e := range v {
				d.check(f, *s.Items, e, at)
			}
			return
		}
	case bool:
		if s.Type == "boolean" {
			return
		}
	case float64:
		if (s.Type == "integer" && v == float64(int64(v))) || s.Type == "number" {
			return
		}
	case string:
		if s.Type == "string" && s.holds(v) {
			return
		}
	}
	f.mistyped++
	f.what = append(f.what, fmt.Sprintf("%s: %v (%T) is no %s %s", at, v, v, s.Type, s.Format))
}

func (d discovery) checkFields(f *findings, s schema, o map[string]any, at string) {
	for name, e := range o {
		f.fields++
		p, ok := s.Properties[name]
		if !ok && s.AdditionalProperties != nil {
			p, ok = *s.AdditionalProperties, true
		}
		if !ok {
			f.unknown++
			f.what = append(f.what, at+"/"+name+": unknown field")
			continue
		}
		d.check(f, p, e, at+"/"+name)
	}
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

// methodCalls is one call of every method, with every part that the method has.
func methodCalls(s *stand) map[string]string {
	us := s.chart("US")
	channel := at(us[0], "snippet/channelId")
	return map[string]string{
		"videos.list": "videos?maxResults=50&chart=mostPopular&part=contentDetails,fileDetails,id,liveStreamingDetails,localizations," +
			"paidProductPlacementDetails,player,processingDetails,recordingDetails,snippet,statistics,status,suggestions,topicDetails",
		"videos.batchGetStats": "videos:batchGetStats?part=id,snippet,statistics,contentDetails&id=" + strings.Join(ids(us)[:50], ","),
		"search.list":          "search?part=id,snippet&maxResults=50&q=a",
		"channels.list": "channels?part=auditDetails,brandingSettings,contentDetails,contentOwnerDetails,id,localizations,snippet," +
			"statistics,status,topicDetails&id=" + channel,
		"playlistItems.list":   "playlistItems?part=id,snippet,contentDetails,status&maxResults=50&playlistId=UU" + strings.TrimPrefix(channel, "UC"),
		"videoCategories.list": "videoCategories?part=id,snippet&regionCode=DE",
		"i18nRegions.list":     "i18nRegions?part=id,snippet",
	}
}

// TestEveryAnswerFitsTheDiscoveryDocument: go test ./internal/youtubesim -run DiscoveryDocument -v
func TestEveryAnswerFitsTheDiscoveryDocument(t *testing.T) {
	d := readDiscovery(t)
	s := newStand(t, youtubesim.Options{})
	f := &findings{}
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
		d.response(f, name, m.Response, body)
		if mask := maskOf(body); !reflect.DeepEqual(withoutEtags(s.list(path+"&fields="+url.QueryEscape(mask))), withoutEtags(body)) {
			t.Errorf("%s: the mask of all its fields, %s, gives another answer", name, mask)
		}
	}
	d.everyPage(f, s)
	for name, body := range errorBodies(t) {
		d.response(f, name, errorSchema(), body)
	}
	t.Log(f)
	if f.failed > 0 || f.responses < 80 {
		t.Errorf("%s: %v, want none failed of 80 or more", f, f.what)
	}
}

// everyPage checks all pages of long lists: the charts of some regions, their videos looked up by id, searches, uploads
// and channels.
func (d discovery) everyPage(f *findings, s *stand) {
	follow := func(name, path string) {
		resource, method, _ := strings.Cut(name, ".")
		response := d.Resources[resource].Methods[method].Response
		for token := ""; ; {
			body := s.list(path + "&prettyPrint=false&maxResults=50" + token)
			d.response(f, name, response, body)
			next, more := body["nextPageToken"].(string)
			if !more {
				return
			}
			token = "&pageToken=" + url.QueryEscape(next)
		}
	}
	const parts = "id,snippet,statistics,contentDetails,status,liveStreamingDetails"
	for _, region := range []string{"US", "IN"} {
		follow("videos.list", "videos?part="+parts+"&chart=mostPopular&regionCode="+region)
		for chunk := range slices.Chunk(ids(s.chart(region)), 50) {
			d.response(f, "videos.batchGetStats", d.Resources["videos"].Methods["batchGetStats"].Response,
				s.list("videos:batchGetStats?part=id,snippet,statistics,contentDetails&prettyPrint=false&id="+strings.Join(chunk, ",")))
		}
	}
	for _, q := range []string{"q=the", "q=video&type=video&order=date&publishedAfter=2026-11-01T00:00:00Z", "q=a&type=channel", "q=nothing+like+it"} {
		follow("search.list", "search?part=id,snippet&"+q)
	}
	for _, v := range s.chart("FR")[:10] {
		channel := at(v, "snippet/channelId")
		follow("channels.list", "channels?part=id,snippet,contentDetails,statistics,status&id="+channel)
		follow("playlistItems.list", "playlistItems?part=id,snippet,contentDetails,status&playlistId=UU"+strings.TrimPrefix(channel, "UC"))
	}
	follow("channels.list", "channels?part=id,snippet&id=UCnobody")
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
			t.Errorf("%s: an unknown parameter gives %d %v, want 400 and \"invalid\"", name, status, body)
		}
	}
}
