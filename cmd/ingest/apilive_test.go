//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// A real serve's answers in every state match its own openapi.json, which allows no other field: with nothing stored,
// after a gateway's client, a post and a drain, with its ledger lost, and while that does not answer.
func TestTheAPIKeepsItsContractInEveryState(t *testing.T) {
	charts := "jobs: [{name: chart, kind: chart, every: 720h, regions: [US], pages: 1}]\n"
	t.Run("nothing stored", func(t *testing.T) {
		standIn(t, youtubesim.Options{Seed: 5, Faults: faultsOf(t, "badkey")})
		configured(t, charts)
		startServe(t).keepsContract(t) // its call for the chart is refused, and its unit given back
	})
	t.Run("spent by others", func(t *testing.T) {
		standIn(t, youtubesim.Options{Seed: 5})
		configured(t, charts)
		ingestCode(t, exitOK, "run")
		gate, address := startGateway(t)
		resp, err := http.Get(address + "youtube/v3/videos?part=id&chart=mostPopular")
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		_ = resp.Body.Close()
		gate.end(syscall.SIGTERM)
		ingestCode(t, exitOK, "quota", "post", "units", "10")
		ingestCode(t, exitOK, "quota", "drain", "units")
		d := startServe(t)
		d.keepsContract(t, `"client":"local"`, `"drained_by":"hand"`, `"amount":10`)
		d.end(syscall.SIGTERM)
		lost, err := filepath.Glob(filepath.Join(os.Getenv("INGEST_DATA"), "quota.db*"))
		if err != nil || len(lost) == 0 {
			t.Fatal(lost, err)
		}
		for _, file := range lost {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		startServe(t).keepsContract(t)
	})
	t.Run("of all kinds of jobs", func(t *testing.T) {
		standIn(t, youtubesim.Options{Seed: 5, Creators: []int{3}})
		configured(t, charts)
		ingestCode(t, exitOK, "run")
		chart := ingestJSON[report.ChartDocument](t, exitOK, "chart", "US")
		configured(t, strings.TrimSuffix(charts, "]\n")+`,
  {name: creators, kind: uploads, channels: ["@creator0"], every: 720h},
  {name: mine, kind: videos, ids: [`+chart.Items[0].VideoID+`], every: 720h},
  {name: words, kind: search, queries: [official, cats], every: 720h}]
`)
		ingestCode(t, exitOK, "run")
		startServe(t).keepsContract(t)
		text, _ := ingestCode(t, exitOK, "history", chart.Items[0].VideoID, "--format", "csv")
		if !regexp.MustCompile(`(?m)^[^,]+,[^,]+,,mine,[^,]+,,\d+,`).MatchString(text) {
			t.Errorf("a watched video has no counts, or a rank, in a watch list: %s", text)
		}
	})
	t.Run("the ledger does not answer", func(t *testing.T) {
		standIn(t, youtubesim.Options{Seed: 5})
		redis := faulty.Redis(t)
		t.Setenv("INGEST_LEDGER", "redis://"+redis.Addr()+"/0")
		configured(t, charts)
		ingestCode(t, exitOK, "run")
		redis.Kill()
		if code, text := ingestAny("run", "--force"); code != exitOK {
			t.Fatalf("without the ledger: exit %d: %s", code, text)
		}
		d := startServe(t)
		d.until("it knows that the ledger is down", func() bool { return strings.HasPrefix(d.check("ledger").Detail, "degraded") })
		d.keepsContract(t, `"degraded":true`, `"emergency_left":[{`)
	})
}

// keepsContract validates the answer of each path. has are parts of the quota's document, which show that it is in
// the state that is meant.
func (d *served) keepsContract(t *testing.T, has ...string) {
	t.Helper()
	_, text := d.get("v1/openapi.json")
	tree, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	const contract = "https://ingest.example/openapi.json"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource(contract, tree); err != nil {
		t.Fatal(err)
	}
	var chart struct {
		Items []struct {
			ID string `json:"video_id"`
		}
	}
	_, text = d.get("v1/charts/US")
	_ = json.Unmarshal([]byte(text), &chart)
	id := "none-such"
	if len(chart.Items) > 0 {
		id = chart.Items[0].ID
	}
	for path, target := range map[string]string{
		"/v1/quota": "v1/quota", "/v1/regions": "v1/regions", "/v1/slots": "v1/slots", "/v1/charts/{region}": "v1/charts/US",
		"/v1/search": "v1/search?q=official", "/v1/videos/{id}": "v1/videos/" + id,
	} {
		code, text := d.get(target)
		media := "application/json"
		if code >= 400 {
			media = "application/problem+json"
		}
		at := fmt.Sprintf("%s#/paths/%s/get/responses/%d/content/%s/schema", contract, strings.NewReplacer("/", "~1", "{", "%7B", "}", "%7D").Replace(path), code, strings.ReplaceAll(media, "/", "~1"))
		schema, err := compiler.Compile(at)
		if err != nil {
			t.Errorf("%s: %d is not in the contract: %v\n%s", target, code, err, text)
			continue
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err == nil {
			err = schema.Validate(doc)
		}
		if err != nil {
			t.Errorf("%s: %d is not what the contract has: %v\n%s", target, code, err, text)
		}
		for _, part := range has {
			if target == "v1/quota" && !strings.Contains(text, part) {
				t.Errorf("the quota's document lacks %s: %s", part, text)
			}
		}
	}
}
