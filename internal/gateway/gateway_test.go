package gateway_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	youtubev3 "google.golang.org/api/youtube/v3"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/gateway"
	"github.com/trendvidstream/ingest/internal/youtubesim"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/memledger"
)

const (
	ourKey = "AIzaCanaryCanaryCanaryCanaryCanaryCanar"
	videos = "/youtube/v3/videos?part=snippet&chart=mostPopular&regionCode=US"
)

// world is a gateway between a stand-in, which counts for itself, and its clients.
type world struct {
	t       *testing.T
	url     string
	gateway *gateway.Gateway
	sim     *youtubesim.Server
	ledger  *quota.Governor

	mu      sync.Mutex
	arrived int

	saved atomic.Int64 // calls
}

// morning is the stand-in's clock: in some half hours a place of a chart that a test counts on is withheld, and at some
// moment its day turns.
func morning() time.Time { return time.Date(2026, 2, 14, 9, 40, 0, 0, time.UTC) }

// newWorld has the units that clients may spend, and a provider: nil is the stand-in.
func newWorld(t *testing.T, units int64, provider http.Handler, change func(*gateway.Config)) *world {
	t.Helper()
	w := &world{t: t}
	var err error
	if w.sim, err = youtubesim.New(youtubesim.Options{RequireKey: ourKey, Now: morning}); err != nil {
		t.Fatal(err)
	}
	if provider == nil {
		provider = w.sim
	}
	up := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.arrived++
		w.mu.Unlock()
		provider.ServeHTTP(out, r)
	}))
	t.Cleanup(up.Close)
	client, err := youtube.New(t.Context(), youtube.Config{BaseURL: up.URL, Key: ingest.NewSecret(ourKey)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	tariff, err := quota.ParseCosts("costs.yaml", ingest.Costs, "youtube", "")
	if err != nil {
		t.Fatal(err)
	}
	tariff.Ceilings[quota.Client] = 1_000_000
	for i := range tariff.Pools {
		for j := range tariff.Pools[i].Windows {
			tariff.Pools[i].Windows[j].Limit = units
		}
	}
	w.ledger = &quota.Governor{Ledger: &memledger.Ledger{Now: time.Now}, Tariff: tariff, Account: "default", Now: time.Now}
	c := gateway.Config{Governor: w.ledger, Upstream: client, OnRepeat: func(string) { w.saved.Add(1) }}
	if change != nil {
		change(&c)
	}
	w.gateway = gateway.New(c)
	s := httptest.NewServer(w.gateway)
	t.Cleanup(s.Close)
	w.url = s.URL
	return w
}

type answer struct {
	*http.Response

	body string
}

func (w *world) ask(method, target, body string, header ...string) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+target, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		w.t.Errorf("%s %s: %v", method, target, err)
		return answer{Response: &http.Response{Header: http.Header{}}}
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(resp.Body)
	return answer{resp, string(got)}
}

// spent returns the ledger's count of a pool.
func (w *world) spent(pool string) (n int64) {
	w.t.Helper()
	spent, err := w.ledger.Ledger.Spent(context.WithoutCancel(w.t.Context()), "default", time.Now().Add(-24*time.Hour), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range spent {
		if s.Pool == pool {
			n += s.Amount
		}
	}
	return n
}

func (w *world) calls() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int64(w.arrived)
}

func TestEightAtOnceForABudgetOfOneAreOneCall(t *testing.T) {
	for range 20 {
		w := newWorld(t, 1, nil, nil)
		var wait sync.WaitGroup
		statuses := make([]int, 8)
		for i := range statuses {
			wait.Go(func() { statuses[i] = w.ask(http.MethodGet, videos+"&maxResults="+strconv.Itoa(i+1), "").StatusCode })
		}
		wait.Wait()
		served := 0
		for _, s := range statuses {
			if s == http.StatusOK {
				served++
			} else if s != http.StatusForbidden {
				t.Errorf("a refusal is %d, want 403", s)
			}
		}
		if served != 1 || w.calls() != 1 || w.spent("units") != 1 {
			t.Fatalf("%d served, %d arrived, %d in the ledger, want 1 of each", served, w.calls(), w.spent("units"))
		}
	}
}

func TestGooglesClientCountsAsTheLedgerAndTheProvider(t *testing.T) {
	const budget = 100
	w := newWorld(t, budget, nil, nil)
	service, err := youtubev3.NewService(t.Context(), option.WithEndpoint(w.url), option.WithAPIKey("any"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range budget {
		list, err := service.Videos.List([]string{"snippet"}).Chart("mostPopular").RegionCode("US").MaxResults(int64(i%50 + 1)).Do()
		if err != nil || len(list.Items) == 0 ||
			list.Header.Get("Ingest-Cost") != "units=1" || list.Header.Get("Ingest-Remaining") != "units="+strconv.Itoa(budget-1-i) {
			t.Fatalf("call %d: %v, %v", i, list, err)
		}
	}
	_, err = service.Videos.List([]string{"snippet"}).Chart("mostPopular").RegionCode("US").Do()
	e, ok := errors.AsType[*googleapi.Error](err)
	if !ok || e.Code != http.StatusForbidden || len(e.Errors) != 1 || e.Errors[0].Reason != "quotaExceeded" || e.Header.Get("Retry-After") == "" {
		t.Errorf("the refusal arrives as %#v", err)
	}
	if units := w.sim.Ledger().Units["units"]; w.calls() != budget || w.spent("units") != budget || units != budget {
		t.Errorf("%d arrived, the ledger has %d, the stand-in %d, want %d", w.calls(), w.spent("units"), units, budget)
	}
}

func TestAnAttackIsAnsweredChargedAsItArrivedAndShowsNoKey(t *testing.T) {
	token := sha256.Sum256([]byte("token-of-reports"))
	withClients := func(c *gateway.Config) { c.Clients = []gateway.Client{{Name: "reports", TokenSHA256: token}} }
	large := strings.Repeat("x", 1<<20+1)
	for name, tt := range map[string]struct {
		method, target, body string
		header               []string
		clients              bool
		status               int
		arrives              int64
	}{
		"a route":                        {target: videos, status: 200, arrives: 1},
		"a route that is none":           {target: "/youtube/v3/nothing", status: 403},
		"the root":                       {target: "/", status: 403},
		"an upload":                      {method: "POST", target: "/upload/youtube/v3/videos", status: 403},
		"a path with dots":               {target: "/youtube/v3/x/../videos?part=id", status: 403},
		"two slashes":                    {target: "//youtube/v3/videos?part=id", status: 403},
		"an escaped path":                {target: "/youtube/v3/%76ideos?part=id", status: 403},
		"an escaped slash":               {target: "/youtube/v3%2Fvideos?part=id", status: 403},
		"a slash at its end":             {target: "/youtube/v3/videos/", status: 403},
		"HEAD":                           {method: "HEAD", target: videos, status: 403},
		"another method":                 {method: "PATCH", target: videos, status: 403},
		"a preflight":                    {method: "OPTIONS", target: videos, header: []string{"Origin", "https://example.com"}, status: 403},
		"a semicolon":                    {target: videos + ";key=x", status: 400},
		"a long query":                   {target: videos + "&x=" + large[:9<<10], status: 400},
		"a key in another case":          {target: videos + "&KEY=other", status: 400},
		"a key by Google's other name":   {target: videos + "&$key=other", status: 400},
		"a key with a dot":               {target: videos + "&%24.key=other", status: 400},
		"a key behind a space":           {target: videos + "&%20key=other", status: 400},
		"a callback":                     {target: videos + "&callback=alert", status: 400},
		"a header in the query":          {target: videos + "&$httpHeaders=Authorization:Bearer+x", status: 400},
		"a method in the query":          {target: videos + "&$httpMethod=DELETE", status: 400},
		"a format of errors":             {target: videos + "&$.xgafv=2", status: 400},
		"a parameter of no route":        {target: videos + "&uploadType=media", status: 400},
		"a token before a space":         {target: videos + "&access_token%20=ya29.x", status: 401},
		"a token behind a tab":           {target: videos + "&%09access_token=ya29.x", status: 401},
		"a token behind a null":          {target: videos + "&%00access_token=ya29.x", status: 401},
		"a token within brackets":        {target: videos + "&access_token[]=ya29.x", status: 400},
		"another user's quota":           {target: videos + "&quotaUser=x&userIp=192.0.2.1&key=y", status: 200, arrives: 1},
		"a form":                         {method: "POST", target: "/youtube/v3/comments?part=snippet", body: "$httpMethod=DELETE", header: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 401},
		"parts":                          {method: "POST", target: "/youtube/v3/comments?part=snippet", body: "--x--", header: []string{"Content-Type", "multipart/related; boundary=x"}, status: 401},
		"a method in a header":           {target: videos, header: []string{"X-HTTP-Method-Override", "DELETE"}, status: 200, arrives: 1},
		"another project in a header":    {target: videos, header: []string{"X-Goog-User-Project", "other"}, status: 200, arrives: 1},
		"a foreign bearer":               {target: videos, header: []string{"Authorization", "Bearer ya29.x"}, status: 401},
		"a foreign token in the query":   {target: videos + "&access_token=ya29.x", status: 401},
		"one in another case":            {target: videos + "&Access_Token=ya29.x", status: 401},
		"a page in a browser":            {target: videos, header: []string{"Sec-Fetch-Site", "cross-site"}, status: 403},
		"an old browser":                 {target: videos, header: []string{"Origin", "null"}, status: 403},
		"another name of this address":   {target: videos, header: []string{"Host", "evil.example.com"}, status: 403},
		"a write":                        {method: "POST", target: "/youtube/v3/comments?part=snippet", body: large, status: 401},
		"a write with a token":           {method: "DELETE", target: "/youtube/v3/videos?id=a&key=token-of-reports", clients: true, status: 401},
		"a write that says it is a read": {method: "DELETE", target: "/youtube/v3/videos?id=a", header: []string{"X-HTTP-Method-Override", "GET"}, status: 401},
		"a read that came as a POST":     {method: "POST", target: "/youtube/v3/videos", body: videos[len("/youtube/v3/videos?"):], header: []string{"X-HTTP-Method-Override", "GET"}, status: 200, arrives: 1},
		"one with the token in its body": {method: "POST", target: "/youtube/v3/videos", body: "part=id&id=a&key=token-of-reports", header: []string{"X-HTTP-Method-Override", "GET"}, clients: true, status: 200, arrives: 1},
		"one with a wrong token":         {method: "POST", target: "/youtube/v3/videos", body: "part=id&id=a&key=guess", header: []string{"X-HTTP-Method-Override", "GET"}, clients: true, status: 401},
		"one that is too long":           {method: "POST", target: "/youtube/v3/videos", body: large[:9<<10], header: []string{"X-HTTP-Method-Override", "GET"}, status: 400},
		"no token":                       {target: videos, clients: true, status: 401},
		"a wrong token":                  {target: videos + "&key=guess", clients: true, status: 401},
		"a token":                        {target: videos + "&key=token-of-reports", clients: true, status: 200, arrives: 1},
		"a token in a header":            {target: videos, header: []string{"X-Goog-Api-Key", "token-of-reports"}, clients: true, status: 200, arrives: 1},
		"a token as a bearer":            {target: videos, header: []string{"Authorization", "Bearer token-of-reports"}, clients: true, status: 200, arrives: 1},
		"a token and a foreign bearer":   {target: videos + "&key=token-of-reports", header: []string{"Authorization", "Bearer ya29.x"}, clients: true, status: 401},
		"a token and a foreign key":      {target: videos + "&key=token-of-reports&key=other", clients: true, status: 401},
		"a token as a password":          {target: videos, header: []string{"Authorization", "Basic token-of-reports"}, clients: true, status: 401},
		"the hash of a token as a token": {target: videos + fmt.Sprintf("&key=%x", token), clients: true, status: 401},
	} {
		t.Run(name, func(t *testing.T) {
			change := withClients
			if !tt.clients {
				change = nil
			}
			w := newWorld(t, 100, nil, change)
			method := tt.method
			if method == "" {
				method = http.MethodGet
			}
			a := w.ask(method, tt.target, tt.body, tt.header...)
			if a.StatusCode != tt.status || w.calls() != tt.arrives || w.spent("units") != tt.arrives {
				t.Errorf("%d, %d arrived, %d charged, want %d and %d: %s", a.StatusCode, w.calls(), w.spent("units"), tt.status, tt.arrives, a.body)
			}
			if all := fmt.Sprint(a.Header) + a.body; strings.Contains(all, ourKey) || strings.Contains(all, "token-of") {
				t.Errorf("it shows a secret: %s", all)
			}
		})
	}
}

func TestAProvidersFaultIsBoundedAndChargedOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		says   string
		answer http.HandlerFunc
	}{
		"a redirect": {502, "redirects to", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.example.com/", http.StatusFound)
		}},
		"it hangs up":     {502, "broke off", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"it refuses us":   {502, "own key is refused", func(w http.ResponseWriter, _ *http.Request) { googleError(w, 400, "keyInvalid") }},
		"it wants a user": {401, "required", func(w http.ResponseWriter, _ *http.Request) { googleError(w, 401, "required") }},
		"it echoes the key": {200, "***", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Etag", r.Header.Get("X-Goog-Api-Key"))
			_, _ = fmt.Fprintf(w, `{"items":[%q]}`, r.Header.Get("X-Goog-Api-Key"))
		}},
		"a status that is none":    {502, "is no answer", says("HTTP/1.1 099 What\r\nContent-Length: 2\r\n\r\n{}")},
		"another protocol, no end": {502, "is no answer", says("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")},
		"a gzip bomb": {502, "larger than 16 MiB", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(make([]byte, 20<<20))
			_ = z.Close()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 100, tt.answer, nil)
			a := w.ask(http.MethodGet, videos, "")
			if a.StatusCode != tt.status || !strings.Contains(a.body, tt.says) || w.calls() != 1 || w.spent("units") != 1 {
				t.Errorf("%d, %d arrived, %d charged: %s", a.StatusCode, w.calls(), w.spent("units"), a.body)
			}
			if strings.Contains(fmt.Sprint(a.Header)+a.body, ourKey) {
				t.Errorf("the answer shows the key: %v %s", a.Header, a.body)
			}
		})
	}
}

// says writes an answer as it is, and keeps the connection open.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, text)
		time.AfterFunc(2*time.Minute, func() { _ = conn.Close() })
	}
}

func googleError(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":{"code":%d,"message":%q,"errors":[{"reason":%q}]}}`, status, reason, reason)
}

func TestTheProvidersNoClosesThePoolForAllClients(t *testing.T) {
	w := newWorld(t, 1000, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { googleError(w, 403, "quotaExceeded") }), nil)
	first, second := w.ask(http.MethodGet, videos, ""), w.ask(http.MethodGet, videos, "")
	if first.StatusCode != 403 || second.StatusCode != 403 && second.StatusCode != 429 || w.calls() != 1 {
		t.Errorf("%d, then %d, %d arrived: %s", first.StatusCode, second.StatusCode, w.calls(), second.body)
	}
}

func TestASlowBodyHoldsNoOtherClientUp(t *testing.T) {
	sum := func(s string) [32]byte { return sha256.Sum256([]byte(s)) }
	w := newWorld(t, 100, nil, func(c *gateway.Config) {
		c.Clients = []gateway.Client{{Name: "slow", TokenSHA256: sum("slow")}, {Name: "quick", TokenSHA256: sum("quick")}}
	})
	slow := func() {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, _ = io.WriteString(conn, "POST /youtube/v3/videos?key=slow HTTP/1.1\r\nHost: x\r\nX-HTTP-Method-Override: GET\r\nContent-Length: 1000\r\n\r\npart=")
	}
	for range 32 {
		slow()
	}
	for _, client := range []string{"quick", "slow"} {
		before := w.calls()
		if a := w.ask(http.MethodGet, videos+"&key="+client, "", "Cache-Control", "no-cache"); a.StatusCode != 200 || w.calls() != before+1 {
			t.Errorf("%s got %d beside slow bodies: %s", client, a.StatusCode, a.body)
		}
	}
}

func TestAClientsOwnLimitIsDecidedInTheSameTake(t *testing.T) {
	w := newWorld(t, 100, nil, func(c *gateway.Config) {
		c.Clients = []gateway.Client{{Name: "a", TokenSHA256: sha256.Sum256([]byte("a"))}, {Name: "b", TokenSHA256: sha256.Sum256([]byte("b"))}}
		own := quota.Pool{Name: "units", Windows: []quota.Window{{Name: "24h", Length: 24 * time.Hour, Limit: 2}}}
		if err := c.Governor.Tariff.LimitClients(map[string][]quota.Pool{"a": {own}}); err != nil {
			t.Fatal(err)
		}
	})
	for i, want := range []int{200, 200, 403} {
		if a := w.ask(http.MethodGet, videos+"&key=a&maxResults="+strconv.Itoa(i+1), ""); a.StatusCode != want {
			t.Errorf("call %d: %d, want %d: %s", i, a.StatusCode, want, a.body)
		}
	}
	if a := w.ask(http.MethodGet, videos+"&key=b", ""); a.StatusCode != 200 || w.spent("units") != 3 || w.spent("units@a") != 2 {
		t.Errorf("the other client: %d, units %d, its own %d, want 200, 3 and 2", a.StatusCode, w.spent("units"), w.spent("units@a"))
	}
}

// A refusal for coming too fast stops the calls of all clients; each answer says for how long, and no client is
// charged.
func TestALimitPerMinuteIsAPauseForAllClients(t *testing.T) {
	wait, err := youtubesim.ParseFault("wait=30s@1")
	if err != nil {
		t.Fatal(err)
	}
	sim, err := youtubesim.New(youtubesim.Options{Now: morning, Faults: []youtubesim.Fault{wait}})
	if err != nil {
		t.Fatal(err)
	}
	moved := atomic.Int64{}
	w := newWorld(t, 100, sim, func(c *gateway.Config) {
		c.Governor.Now = func() time.Time { return time.Now().Add(time.Duration(moved.Load())) }
	})
	for i, want := range []string{"30", "30"} {
		a := w.ask(http.MethodGet, videos+"&maxResults="+strconv.Itoa(i+1), "")
		if a.StatusCode != 429 || a.Header.Get("Retry-After") != want || !strings.Contains(a.body, "rateLimitExceeded") || w.calls() != 1 {
			t.Errorf("call %d: %d, Retry-After %q, %d calls arrived: %s", i, a.StatusCode, a.Header.Get("Retry-After"), w.calls(), a.body)
		}
		if cost := a.Header.Get("Ingest-Cost"); i == 1 && cost != "0" {
			t.Errorf("a call that was not sent cost %s", cost)
		}
	}
	moved.Store(int64(31 * time.Second))
	if a := w.ask(http.MethodGet, videos+"&maxResults=3", ""); a.StatusCode != 200 || w.calls() != 2 {
		t.Errorf("after the wait: %d, %d calls, want 200 and 2", a.StatusCode, w.calls())
	}
}

func TestIdenticalRequestsInFlightAreOneCall(t *testing.T) {
	arrived, release := make(chan struct{}, 8), make(chan struct{})
	w := newWorld(t, 100, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		_, _ = io.WriteString(w, "{}")
	}), nil)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if a := w.ask(http.MethodGet, videos, ""); a.StatusCode != 200 {
				t.Errorf("%d: %s, want 200", a.StatusCode, a.body)
			}
		})
	}
	<-arrived
	time.Sleep(200 * time.Millisecond) // the others have asked by then, or are calls of their own and are counted
	close(release)
	wait.Wait()
	if w.calls() != 1 || w.spent("units") != 1 || w.saved.Load() != 7 {
		t.Errorf("%d arrived, %d charged, %d saved, want 1, 1 and 7", w.calls(), w.spent("units"), w.saved.Load())
	}
}

// TestIdenticalRequestsInFlightAreOneCallThatBreaksOff: a result of one call is true for all of them.
func TestIdenticalRequestsInFlightAreOneCallThatBreaksOff(t *testing.T) {
	arrived, release := make(chan struct{}, 8), make(chan struct{})
	w := newWorld(t, 100, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
		panic(http.ErrAbortHandler)
	}), nil)
	var wait sync.WaitGroup
	var cost atomic.Int64
	for range 8 {
		wait.Go(func() {
			a := w.ask(http.MethodGet, videos, "")
			n, err := strconv.ParseInt(strings.TrimPrefix(a.Header.Get("Ingest-Cost"), "units="), 10, 64)
			if cost.Add(n); err != nil || a.StatusCode != 502 {
				t.Errorf("%d, %v: %s, want 502", a.StatusCode, err, a.body)
			}
		})
	}
	<-arrived
	time.Sleep(200 * time.Millisecond)
	close(release)
	wait.Wait()
	if w.calls() != 1 || w.spent("units") != 1 || cost.Load() != 1 {
		t.Errorf("%d arrived, %d charged, the answers cost %d, want 1 each", w.calls(), w.spent("units"), cost.Load())
	}
}

func TestWithoutALedgerNothingLeaves(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, 100, nil, func(c *gateway.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	answers := w.ledger.Ledger
	for outage := 1; outage <= 2; outage++ { // each is logged once
		w.ledger.Ledger = silent{answers}
		for range 3 {
			if a := w.ask(http.MethodGet, videos, ""); a.StatusCode != http.StatusServiceUnavailable ||
				a.Header.Get("Retry-After") == "" || w.calls() != int64(outage-1) {
				t.Errorf("%d, %d arrived: %s", a.StatusCode, w.calls(), a.body)
			}
		}
		if said := strings.Count(log.String(), quota.ErrUnavailable.Error()); said != outage {
			t.Errorf("outage %d: said %d times: %s", outage, said, log.String())
		}
		w.ledger.Ledger = answers
		if a := w.ask(http.MethodGet, videos, ""); a.StatusCode != http.StatusOK {
			t.Errorf("afterwards: %d: %s, want %v", a.StatusCode, a.body, http.StatusOK)
		}
	}
}

type silent struct{ quota.Ledger }

func (silent) Take(context.Context, quota.Ask) (quota.Decision, error) {
	return quota.Decision{}, quota.ErrUnavailable
}
