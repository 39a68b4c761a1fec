package web_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota/httplimit"
	"github.com/trendvidstream/ingest/quota/memledger"
)

// Every answer that openapi.json promises is given, in the promised form, and no other.
func TestTheAPIKeepsItsContract(t *testing.T) {
	site, _ := newAPI(t, httplimit.Limit{Quota: 1000, Window: time.Minute})
	starved, _ := newAPI(t, httplimit.Limit{Quota: 1, Window: time.Hour})
	closed, _ := newAPI(t)
	closed.API.Documents = func() (*report.Documents, error) { return nil, errors.New("not open yet") }
	closed.Status = &web.Status{Source: func() (*web.Source, error) { return nil, errors.New("not open yet") }}
	contract := readContract(t, site.Handler())
	hungry := starved.Handler()
	ask(hungry, "GET", "/v1/quota")
	inFormat := map[string]string{"application/json": "", "text/csv; charset=utf-8": "&format=csv", "application/atom+xml": "&format=atom"}
	good := map[string]string{"/v1/search": "/v1/search?q=cup", "/v1/charts/{region}": "/v1/charts/US", "/v1/videos/{id}": "/v1/videos/abc", "/v1/quota": "/v1/quota", "/v1/regions": "/v1/regions", "/v1/slots": "/v1/slots?limit=7"}
	bad := map[string]string{"/v1/search": "/v1/search?q=", "/v1/charts/{region}": "/v1/charts/ZZ", "/v1/videos/{id}": "/v1/videos/a?limit=0", "/v1/quota": "/v1/quota?a=1&a=2", "/v1/regions": "/v1/regions?a=1&a=2", "/v1/slots": "/v1/slots?after=!"}
	missing := map[string]string{"/v1/charts/{region}": "/v1/charts/FR", "/v1/videos/{id}": "/v1/videos/none"}
	h, checked := site.Handler(), 0
	for path, responses := range contract.responses {
		if good[path] == "" {
			continue // TestServersThatAskKeepTheContract has these
		}
		for status := range responses {
			var resp *http.Response
			switch status {
			case 200:
				resp = ask(h, "GET", good[path])
			case 304:
				resp = ask(h, "GET", good[path], "If-None-Match", `"x", `+ask(h, "GET", good[path]).Header.Get("ETag"))
			case 400:
				resp = ask(h, "GET", bad[path])
			case 401:
				resp = ask(h, "GET", good[path], "Authorization", "Bearer guess")
			case 403:
				resp = ask(h, "GET", good[path], "From", "192.0.2.66:1")
			case 404:
				resp = ask(h, "GET", missing[path])
			case 421:
				resp = ask(h, "GET", good[path], "Host", "evil.example")
			case 429:
				resp = ask(hungry, "GET", good[path])
			case 503:
				resp = ask(closed.Handler(), "GET", good[path])
			default:
				t.Errorf("%s promises %d, which nothing here gives", path, status)
				continue
			}
			if resp.StatusCode != status {
				t.Errorf("%s: %d, want %d: %s", path, resp.StatusCode, status, body(t, resp))
				continue
			}
			contract.check(t, path, resp)
			checked++
			for media := range contract.formats[path] {
				if status == 200 && media != "application/json" {
					resp := ask(h, "GET", good[path]+map[bool]string{false: "?", true: ""}[strings.Contains(good[path], "?")]+inFormat[media])
					if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != media || inFormat[media] == "" || resp.Header.Get("ETag") == "" {
						t.Errorf("%s promises %s: %d with %v", path, media, resp.StatusCode, resp.Header)
					}
					checked++
				}
			}
		}
	}
	t.Logf("%d answers are those of openapi.json", checked)
}

// The promises to servers that ask for their clients hold too.
func TestServersThatAskKeepTheContract(t *testing.T) {
	limited := func(outer int64) http.Handler {
		site, _ := newAPI(t)
		limiter, err := httplimit.New(httplimit.Config{
			Ledger: &memledger.Ledger{}, Limits: []httplimit.Limit{{Quota: 1, Window: time.Hour}}, Outer: []httplimit.Limit{{Quota: outer, Window: time.Hour}},
			Callers: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Tokens: []httplimit.Token{{Client: "acme", SHA256: httplimit.HashToken("its own")}},
		})
		if err != nil {
			t.Fatal(err)
		}
		site.API.Limiter = limiter
		return site.Handler()
	}
	h, full := limited(100), limited(1)
	contract := readContract(t, h)
	requests := map[string]func(h http.Handler, client string, header ...string) *http.Response{
		"/auth": func(h http.Handler, client string, header ...string) *http.Response {
			return ask(h, "GET", "/auth", append([]string{"From", "127.0.0.1:1", "X-Forwarded-For", client}, header...)...)
		},
		"/v1/limits": func(h http.Handler, client string, header ...string) *http.Response {
			return ask(h, "POST", "/v1/limits", append([]string{"From", "127.0.0.1:1", "Body", `{"client": "` + client + `"}`}, header...)...)
		},
	}
	for path, request := range requests {
		request(full, "192.0.2.9")
		for i, want := range []struct {
			status int
			resp   *http.Response
		}{
			{200, request(h, "192.0.2.1"+strconv.Itoa(len(path)))}, {403, request(h, "192.0.2.1", "From", "192.0.2.7:1")}, {429, request(h, "192.0.2.1"+strconv.Itoa(len(path)))},
			{400, request(h, "")}, {421, request(h, "192.0.2.2", "Host", "evil.example")}, {503, request(full, "192.0.2.8")},
			{401, request(h, "192.0.2.3"+strconv.Itoa(len(path)), "Authorization", "Bearer guess")},
		} {
			if path == "/v1/limits" && want.status == 401 {
				continue // there the token names the caller
			}
			if want.resp.StatusCode != want.status {
				t.Errorf("%s, %d: %d, want %d: %s", path, i, want.resp.StatusCode, want.status, body(t, want.resp))
				continue
			}
			contract.check(t, path, want.resp)
		}
	}
	for from, want := range map[string]int{"127.0.0.1:1": 200, "192.0.2.7:1": 403} {
		resp := ask(h, "GET", "/v1/limited", "From", from)
		if resp.StatusCode != want {
			t.Errorf("/v1/limited: %d to %s", resp.StatusCode, from)
		}
		contract.check(t, "/v1/limited", resp)
	}
	contract.check(t, "/v1/limited", ask(h, "GET", "/v1/limited", "From", "127.0.0.1:1", "Host", "evil.example"))
	nothing, _ := newAPI(t)
	for path, request := range requests {
		if resp := request(nothing.Handler(), "192.0.2.1"); resp.StatusCode != 403 {
			t.Errorf("%s without limits: %d", path, resp.StatusCode)
		}
	}
}

// contract is openapi.json.
type contract struct {
	compiler  *jsonschema.Compiler
	responses map[string]map[int]string // by path and status, the media type; "" for none
	formats   map[string]map[string]any // by path, the media types of 200
	methods   map[string]string         // by path
}

const contractURL = "https://ingest.example/openapi.json"

func readContract(t *testing.T, h http.Handler) contract {
	t.Helper()
	resp := ask(h, "GET", "/v1/openapi.json")
	text := body(t, resp)
	tree, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%d: %v, want 200", resp.StatusCode, err)
	}
	c := contract{jsonschema.NewCompiler(), map[string]map[int]string{}, map[string]map[string]any{}, map[string]string{}}
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	c.compiler.AssertFormat()
	if err := c.compiler.AddResource(contractURL, tree); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			Responses map[string]struct{ Content map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil || !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Fatalf("openapi %q: %v, want \"3.1.\" at the beginning", doc.OpenAPI, err)
	}
	for path, item := range doc.Paths {
		c.responses[path] = map[int]string{}
		method := slices.Sorted(maps.Keys(item))[0] // each has one
		c.methods[path] = method
		for text, r := range item[method].Responses {
			status, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			c.responses[path][status] = ""
			for media := range r.Content {
				if c.responses[path][status] = media; status == 200 {
					c.formats[path] = r.Content
				}
			}
			if len(r.Content) > 1 {
				c.responses[path][status] = "application/json" // without a format
			}
		}
	}
	if len(c.responses) != 9 {
		t.Fatalf("%d paths, want 9", len(c.responses))
	}
	return c
}

// check compares an answer with the promise for its status.
func (c contract) check(t *testing.T, path string, resp *http.Response) {
	t.Helper()
	media, ok := c.responses[path][resp.StatusCode]
	text := body(t, resp)
	if !ok || resp.Header.Get("Content-Type") != media {
		t.Errorf("%s: %d with %q, and the contract has %q: %v", path, resp.StatusCode, resp.Header.Get("Content-Type"), media, ok)
	}
	if resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") == "" {
		t.Errorf("%s: no Retry-After", path)
	}
	if media == "" {
		if text != "" {
			t.Errorf("%s: %d has a body: %s, want none", path, resp.StatusCode, text)
		}
		return
	}
	pointer := "/paths/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path) + "/" + c.methods[path] + "/responses/" + strconv.Itoa(resp.StatusCode) + "/content/" + strings.ReplaceAll(media, "/", "~1") + "/schema"
	schema, err := c.compiler.Compile(contractURL + "#" + pointer)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = schema.Validate(doc)
	}
	if err != nil {
		t.Errorf("%s: %d is not what the contract has: %v\n%s", path, resp.StatusCode, err, text)
	}
}
