package youtubesim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// npmClient is Google's client for Node.js, at a version with the methods of the discovery document that we use.
const npmClient = "@googleapis/youtube@39.0.0"

// npmCall is one call, as the npm client names it.
type npmCall struct {
	resource, method string
	params           map[string]any // lists are []string
}

// path returns the same call as a request of ours.
func (c npmCall) path() string {
	q := url.Values{}
	for k, v := range c.params {
		switch v := v.(type) {
		case string:
			q.Set(k, v)
		case []string:
			q[k] = v
		}
	}
	if c.method == "batchGetStats" {
		return c.resource + ":" + c.method + "?" + q.Encode()
	}
	return c.resource + "?" + q.Encode()
}

// MarshalJSON encodes it for the script.
func (c npmCall) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{c.resource, c.method, c.params})
}

func npmCalls(s *stand) []npmCall {
	us := ids(s.chart("US"))
	channel := at(s.chart("US")[0], "snippet/channelId")
	list := func(resource string, params map[string]any) npmCall { return npmCall{resource, "list", params} }
	parts := []string{"snippet", "contentDetails", "statistics"}
	return []npmCall{
		list("videos", map[string]any{"part": parts, "chart": "mostPopular", "regionCode": "US", "maxResults": "50"}),
		list("videos", map[string]any{"part": parts, "chart": "mostPopular", "regionCode": "IN", "maxResults": "50", "pageToken": "CDIQAA"}),
		list("videos", map[string]any{"part": parts, "id": us[:50]}),
		{"videos", "batchGetStats", map[string]any{"part": []string{"id", "statistics"}, "id": us[:50]}},
		list("search", map[string]any{"part": []string{"snippet"}, "q": "the", "type": []string{"video"}, "order": "date", "maxResults": "50"}),
		list("channels", map[string]any{"part": parts, "id": []string{channel}}),
		list("channels", map[string]any{"part": parts, "id": []string{"UCnobody"}}),
		list("playlistItems", map[string]any{
			"part": []string{"contentDetails", "snippet"}, "playlistId": "UU" + strings.TrimPrefix(channel, "UC"), "maxResults": "50",
			"fields": "nextPageToken,items(contentDetails/videoId,snippet/resourceId/videoId)",
		}),
		list("videoCategories", map[string]any{"part": []string{"snippet"}, "regionCode": "DE"}),
		list("i18nRegions", map[string]any{"part": []string{"snippet"}}),
		list("videos", map[string]any{"part": parts, "chart": "mostPopular", "pageToken": "nonsense"}),
		list("videos", map[string]any{"part": parts, "chart": "mostPopular", "regionCode": "JP"}),
	}
}

// TestTheNPMClientSeesWhatGoSees makes the same calls with Google's client for Node.js and by hand, against
// twins, and compares every field and what was charged.
func TestTheNPMClientSeesWhatGoSees(t *testing.T) {
	dir := installNPMClient(t)
	node, twin := newStand(t, youtubesim.Options{Seed: 3}), newStand(t, youtubesim.Options{Seed: 3})
	calls := npmCalls(newStand(t, youtubesim.Options{Seed: 3}))
	web := httptest.NewServer(node)
	defer web.Close()
	list, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	out, err := command(t, dir, "node", "npmclient.mjs", web.URL+"/", string(list))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(calls) {
		t.Fatalf("%d answers to %d calls:\n%.2000s", len(lines), len(calls), out)
	}
	compared := 0
	for i, call := range calls {
		var got struct {
			Status int
			Data   map[string]any
			Error  string
		}
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatalf("%v in %.500q", err, lines[i])
		}
		status, want := twin.ask(call.path())
		if got.Status != status || !reflect.DeepEqual(withoutEtags(got.Data), withoutEtags(want)) {
			t.Errorf("%s.%s %v: %d %s\nnode %.1000v\nours %d %.1000v", call.resource, call.method, call.params, got.Status, got.Error, got.Data, status, want)
		}
		compared += len(items(want))
	}
	if n, w := node.Ledger(), twin.Ledger(); !reflect.DeepEqual(n.Units, w.Units) || !reflect.DeepEqual(n.Calls, w.Calls) {
		t.Errorf("charged to node %+v, to us %+v", n, w)
	}
	t.Logf("%s: %d calls, %d items, every field equal; charged %v", npmClient, len(calls), compared, node.Ledger().Units)
}

// installNPMClient returns a directory that has the client and our script. It skips if Node.js, npm or the registry is
// absent.
func installNPMClient(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("node: the npm client cannot run here: %v", err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private":true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := command(t, dir, "npm", "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0", npmClient); err != nil {
		t.Skipf("node: npm could not install %s: %v: %.300q", npmClient, err, out)
	}
	if out, err := command(t, dir, "node", "--input-type=module", "--eval", "import '@googleapis/youtube'"); err != nil {
		t.Skipf("node: this version cannot load %s: %v: %.300q", npmClient, err, out)
	}
	script, err := os.ReadFile(filepath.Join("testdata", "npmclient.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "npmclient.mjs"), script, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// command runs for at most a minute. Its standard error is shown only with an error.
func command(t *testing.T, dir, name string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stderr.Bytes(), err
	}
	return stdout.Bytes(), nil
}
