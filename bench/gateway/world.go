package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/faulty"
	"github.com/trendvidstream/ingest/internal/gateway"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/redisledger"
	"github.com/trendvidstream/ingest/quota/sharedledger"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
)

const (
	pageBytes = 2 << 10 // of an answer: about the size of a call for one video
	tools     = 10      // each with a token
)

// world is a provider that answers at once, a bare proxy in front of it, and room for gateways.
type world struct {
	upstream *youtube.Client
	proxy    string // its URL
	disk     string
	ending   []func() error
}

func newWorld(ctx context.Context, disk string) (*world, error) {
	page := append([]byte(`{"kind":"youtube#videoListResponse","items":[{"id":"`), append(slices.Repeat([]byte("x"), pageBytes), `"}]}`...)...)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		_, _ = w.Write(page)
	}))
	w := &world{disk: disk}
	w.atEnd(func() error { provider.Close(); return nil })
	u, err := url.Parse(provider.URL)
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	bare := httputil.NewSingleHostReverseProxy(u)
	bare.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	proxy := httptest.NewServer(bare)
	w.atEnd(func() error { proxy.Close(); return nil })
	w.proxy = proxy.URL
	w.upstream, err = youtube.New(ctx, youtube.Config{BaseURL: provider.URL, Key: ingest.NewSecret("AIzaBenchBenchBenchBenchBenchBenchBenchB")})
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	w.atEnd(func() error { w.upstream.Close(); return nil })
	return w, nil
}

func (w *world) atEnd(do func() error) { w.ending = append(w.ending, do) }

func (w *world) close() (err error) {
	for _, do := range slices.Backward(w.ending) {
		err = errors.Join(err, do())
	}
	w.ending = nil
	return err
}

// gateway starts a gateway on a new ledger, as the program opens it, with units per day, and returns its URL.
func (w *world) gateway(ctx context.Context, kind string, units int64) (string, error) {
	tariff, err := quota.ParseCosts("costs.yaml", ingest.Costs, "youtube", "")
	if err != nil {
		return "", err
	}
	tariff.Ceilings[quota.Client] = tariff.Ceilings[quota.Manual]
	for i := range tariff.Pools {
		for j := range tariff.Pools[i].Windows {
			tariff.Pools[i].Windows[j].Limit = units
		}
	}
	dir, err := os.MkdirTemp(w.disk, "gateway")
	if err != nil {
		return "", err
	}
	w.atEnd(func() error { return os.RemoveAll(dir) })
	local, err := sqliteledger.Open(ctx, filepath.Join(dir, "quota.db"))
	if err != nil {
		return "", err
	}
	w.atEnd(local.Close)
	var l quota.Ledger = local
	if kind == "redis" {
		remote, err := redisledger.Open(ctx, "redis://"+faulty.Redis(standIn{w}).Addr(), redisledger.Options{})
		if err != nil {
			return "", err
		}
		shared, err := sharedledger.Open(tariff, remote, local, 1)
		if err != nil {
			return "", errors.Join(err, remote.Close())
		}
		w.atEnd(shared.Close)
		shared.Account, shared.Now = "default", time.Now
		l = shared
	}
	governor := &quota.Governor{Ledger: l, Tariff: tariff, Account: "default", Now: time.Now}
	c := gateway.Config{Governor: governor, Upstream: w.upstream, Cache: map[string]time.Duration{"videos.list": time.Hour}}
	for i := range tools {
		c.Clients = append(c.Clients, gateway.Client{Name: fmt.Sprint("tool", i), TokenSHA256: sha256.Sum256([]byte(fmt.Sprint("tool", i)))})
	}
	g := httptest.NewServer(gateway.New(c))
	w.atEnd(func() error { g.Close(); return nil })
	return g.URL, fill(ctx, g.URL)
}

// fill makes the first calls: one fills the cache, and also spends a limit of one unit.
func fill(ctx context.Context, gateway string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, gateway+cachedPath, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// standIn lets a server of package faulty, which expects a test, live as long as the world.
type standIn struct{ w *world }

func (s standIn) Helper()                           {}
func (s standIn) Logf(format string, args ...any)   { fmt.Fprintf(os.Stderr, format+"\n", args...) }
func (s standIn) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (s standIn) Skipf(format string, args ...any)  { panic(fmt.Sprintf(format, args...)) }
func (s standIn) Failed() bool                      { return false }
func (s standIn) Cleanup(do func())                 { s.w.atEnd(func() error { do(); return nil }) }
func (s standIn) TempDir() string {
	dir, err := os.MkdirTemp("", "gateway")
	if err != nil {
		panic(err)
	}
	s.w.atEnd(func() error { return os.RemoveAll(dir) })
	return dir
}
