package gateway_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trendvidstream/ingest/internal/gateway"
)

// npm installs packages at a version each into a directory of their own, and returns it.
func npm(t *testing.T, packages ...string) (dir string) {
	t.Helper()
	for _, program := range []string{"npm", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("npm: no %s here: the clients of other languages were not tried", program)
		}
	}
	dir = t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	args := append([]string{"install", "--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts", "--cache", filepath.Join(dir, ".npm"), "--prefix", dir}, packages...)
	if out, err := exec.CommandContext(ctx, "npm", args...).CombinedOutput(); err != nil {
		t.Skipf("npm: %s cannot be installed, so it was not tried: %v: %.300s", strings.Join(packages, " "), err, out)
	}
	return dir
}

// run runs a program to its end, and decodes its output.
func run(t *testing.T, dir string, into any, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", program, err, out)
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("%s printed %.300s: %v", program, out, err)
	}
}

// counted is a world's gateway behind a count of the tools' requests.
func counted(t *testing.T, w *world) (url string, asked func() int64) {
	t.Helper()
	n := make(chan int64, 1)
	n <- 0
	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		n <- <-n + 1
		w.gateway.ServeHTTP(out, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() int64 { v := <-n; n <- v; return v }
}

// agree checks that the ledger and the stand-in count the given number of units, and that as many calls arrived.
func (w *world) agree(units int64) {
	w.t.Helper()
	if sim := w.sim.Ledger().Units["units"]; w.calls() != units || w.spent("units") != units || sim != units {
		w.t.Errorf("%d arrived, the ledger has %d, the stand-in %d, want %d of each", w.calls(), w.spent("units"), sim, units)
	}
}

// nodeScript is a user's program with Google's client for Node, with rootUrl added.
const nodeScript = `
const { youtube } = require('@googleapis/youtube');
const api = youtube({ version: 'v3', auth: 'any', rootUrl: process.argv[2] + '/' });
(async () => {
  let served = 0;
  for (let i = 0; i < 100; i++) {
    const answer = await api.videos.list({ part: ['snippet'], id: ['video' + i] });
    if (answer.status === 200) served++;
  }
  try {
    await api.videos.list({ part: ['snippet'], id: ['one too many'] });
  } catch (e) {
    console.log(JSON.stringify({ served, type: e.constructor.name, status: e.status || e.code, reason: e.response.data.error.errors[0].reason }));
  }
})();
`

func TestLongGooglesNodeClientCountsAsTheLedgerAndIsRefusedOnce(t *testing.T) {
	dir := npm(t, "@googleapis/youtube@35.0.0")
	w := newWorld(t, 100, nil, nil)
	url, asked := counted(t, w)
	if err := os.WriteFile(filepath.Join(dir, "calls.js"), []byte(nodeScript), 0o600); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Served, Status int
		Type, Reason   string
	}
	run(t, dir, &got, "node", "calls.js", url)
	t.Logf("Google's client for Node reports %+v after %d requests", got, asked())
	if got.Served != 100 || got.Type != "GaxiosError" || got.Status != http.StatusForbidden || got.Reason != "quotaExceeded" || asked() != 101 {
		t.Errorf("%+v after %d requests", got, asked())
	}
	w.agree(100)
}

// pythonScript is a user's program with google-api-python-client, with rootUrl added and without the discovery
// document, which Debian's version of it would fetch from Google. Its second call has an address longer than 2,048
// characters, which the client sends as a POST.
const pythonScript = `
import json, sys
from googleapiclient.discovery import build_from_document
from googleapiclient.errors import HttpError

with open(sys.argv[2]) as f:
    document = json.load(f)
document['rootUrl'] = sys.argv[1] + '/'
api = build_from_document(document, developerKey='any')
ids = lambda n: ','.join('%011d' % i for i in range(n))
few = api.videos().list(part='snippet', id=ids(5)).execute()
many = api.videos().list(part='snippet', id=ids(50), fields='items(id),' + 'etag,' * 300 + 'kind').execute()
got = {'few': few['kind'], 'many': many['kind'], 'served': 2}
try:
    api.videos().rate(id='a', rating='like').execute()
except HttpError as e:
    got['rated'] = e.resp.status
try:
    while True:
        api.videos().list(part='snippet', id='video%d' % got['served']).execute()
        got['served'] += 1
except HttpError as e:
    got['status'], got['reason'] = e.resp.status, json.loads(e.content.decode())['error']['errors'][0]['reason']
print(json.dumps(got))
`

// TestLongGooglesPythonClientCountsAsTheLedger: Debian's python3-googleapi, which is installed where apt-get may.
func TestLongGooglesPythonClientCountsAsTheLedger(t *testing.T) {
	const python = "/usr/bin/python3" // the one that Debian's packages are for
	has := func() error { return exec.CommandContext(t.Context(), python, "-c", "import googleapiclient").Run() }
	if has() != nil {
		out, err := exec.CommandContext(t.Context(), "sh", "../../tools/apt-install.sh", "python3-googleapi").CombinedOutput()
		if err == nil {
			err = has()
		}
		if err != nil {
			t.Skipf("python3-googleapi: it cannot be installed, so Google's client for Python was not tried: %v: %.300s", err, out)
		}
	}
	module, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "google.golang.org/api/youtube/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, 100, nil, nil)
	url, asked := counted(t, w)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "calls.py"), []byte(pythonScript), 0o600); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Few, Many, Reason     string
		Served, Rated, Status int
	}
	run(t, dir, &got, python, "calls.py", url, filepath.Join(strings.TrimSpace(string(module)), "youtube-api.json"))
	t.Logf("Google's client for Python reports %+v after %d requests", got, asked())
	const kind = "youtube#videoListResponse"
	if got.Few != kind || got.Many != kind || got.Served != 100 || got.Rated != http.StatusUnauthorized ||
		got.Status != http.StatusForbidden || got.Reason != "quotaExceeded" || asked() != 102 {
		t.Errorf("%+v after %d requests", got, asked())
	}
	w.agree(100)
}

func TestCurlCountsAsTheLedger(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skipf("curl: %v", err)
	}
	w := newWorld(t, 100, nil, nil)
	var statuses []int
	run(t, t.TempDir(), &statuses, "sh", "-c", fmt.Sprintf(
		`printf '['; curl -s -o /dev/null -w '%%{http_code},' '%s/youtube/v3/videos?part=id&id=video-[1-101]'; echo '0]'`, w.url))
	if len(statuses) != 102 || statuses[0] != http.StatusOK || statuses[99] != http.StatusOK || statuses[100] != http.StatusForbidden {
		t.Errorf("curl got %v", statuses)
	}
	w.agree(100)
}

// youtubeNodeScript is a user's program with youtube-node, with url added. It has a search, the most popular videos,
// and then one video after the other until the tool reports an error.
const youtubeNodeScript = `
const YouTube = require('youtube-node');
const api = new YouTube();
api.url = process.argv[2] + '/youtube/v3/';
api.setKey('token of reports');
const ask = (method, ...args) => new Promise((done, fail) => api[method](...args, (error, answer) => error ? fail(error) : done(answer)));
(async () => {
  const found = await ask('search', 'music', 5, { type: 'video' });
  const popular = await ask('getMostPopular', 5);
  let videos = 0;
  try {
    for (const item of popular.items.concat(popular.items, popular.items, popular.items)) {
      videos += (await ask('getById', item.id)).items.length;
    }
  } catch (e) {
    console.log(JSON.stringify({ found: found.items.length, popular: popular.items.length, videos, status: e.code, reason: e.errors[0].reason, says: e.message }));
  }
})();
`

// TestLongAForeignYouTubeToolIsAClient: youtube-node, https://github.com/paulomcnally/youtube-node, has its
// base URL in a field. Its key is a client's token, so that the ledger has its spends under that client's name.
func TestLongAForeignYouTubeToolIsAClient(t *testing.T) {
	dir := npm(t, "youtube-node@1.3.3")
	w := newWorld(t, 12, nil, func(c *gateway.Config) {
		c.Clients = []gateway.Client{{Name: "reports", TokenSHA256: sha256.Sum256([]byte("token of reports"))}}
	})
	url, asked := counted(t, w)
	if err := os.WriteFile(filepath.Join(dir, "calls.js"), []byte(youtubeNodeScript), 0o600); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Found, Popular, Videos, Status int
		Reason, Says                   string
	}
	run(t, dir, &got, "node", "calls.js", url)
	t.Logf("youtube-node reports %+v", got)
	if got.Found != 5 || got.Popular != 5 || got.Videos != 11 {
		t.Errorf("youtube-node: got %+v, want 5 found, 5 popular, 11 videos", got)
	}
	says := "most by client reports videos.list (12 in 24h)"
	if got.Status != http.StatusForbidden || got.Reason != "quotaExceeded" || !strings.Contains(got.Says, says) {
		t.Errorf("youtube-node: got %+v, want 403 quotaExceeded, %q", got, says)
	}
	if asked() != 14 || w.calls() != 13 {
		t.Errorf("it asked %d times, and %d calls arrived, want 14 and 13", asked(), w.calls())
	}
	spent, err := w.ledger.Ledger.Spent(t.Context(), "default", time.Now().Add(-24*time.Hour), 0)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]int64{}
	for _, s := range spent {
		by[s.Who.Client+" "+s.Who.Method+" "+s.Pool] += s.Amount
	}
	if want := map[string]int64{"reports search.list search": 1, "reports videos.list units": 12}; !maps.Equal(by, want) {
		t.Errorf("the ledger has %v, want %v", by, want)
	}
}

// TestLongALoadTestSpendsNoUnitMore: autocannon, https://github.com/mcollina/autocannon, asks as fast as it can over
// eight connections, always for the same video; no-cache makes each request a call. Its own report says how many were
// served.
func TestLongALoadTestSpendsNoUnitMore(t *testing.T) {
	dir := npm(t, "autocannon@8.0.0")
	w := newWorld(t, 50, nil, nil)
	var got struct {
		Served  int64 `json:"2xx"`
		Refused int64 `json:"4xx"`
		Errors  int64
	}
	run(t, dir, &got, "node", "node_modules/autocannon/autocannon.js", "--json", "--no-progress", "--amount", "400", "--connections", "8", "--headers", "Cache-Control=no-cache",
		w.url+"/youtube/v3/videos?part=id&id=video")
	t.Logf("autocannon reports %d served, %d refused, %d errors", got.Served, got.Refused, got.Errors)
	if got.Served != 50 || got.Refused != 350 || got.Errors != 0 {
		t.Errorf("autocannon reports %+v, want 50, 350 and 0", got)
	}
	w.agree(50)
}
