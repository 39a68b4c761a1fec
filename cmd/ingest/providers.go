package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch"
	"github.com/trendvidstream/ingest/fetch/dailymotion"
	"github.com/trendvidstream/ingest/fetch/youtube"
)

// upstream is an adapter, opened.
type upstream interface {
	fetch.Upstream
	Host() string // where its data comes from, with the port
	Close()
}

// provider is an upstream that upstream: in the config may choose.
type provider struct {
	open     func(ctx context.Context, baseURL string, key ingest.Secret) (upstream, error) // "" is its own; nothing is sent
	calls    upstream                                                                       // makes calls to price, which are never done
	keyed    bool                                                                           // the real one wants a key
	pages    int                                                                            // that a chart has at most
	usual    int                                                                            // pages of a chart where nobody says
	category *regexp.Regexp                                                                 // what an id of a category looks like
	refills  bool                                                                           // backfills know its ids and its channels
}

var providers = map[string]provider{
	"youtube": {
		open: func(ctx context.Context, baseURL string, key ingest.Secret) (upstream, error) {
			return youtube.New(ctx, youtube.Config{BaseURL: baseURL, Key: key, Version: version})
		},
		calls: &youtube.Client{}, keyed: true,
		pages: 4, usual: 4, category: regexp.MustCompile(`^[0-9]{1,4}$`), refills: true, // 200 videos of a chart, 50 a page
	},
	"dailymotion": {
		open: func(ctx context.Context, baseURL string, _ ingest.Secret) (upstream, error) {
			return dailymotion.New(ctx, dailymotion.Config{BaseURL: baseURL, Version: version})
		},
		calls: &dailymotion.Client{},
		pages: 10, usual: 2, category: regexp.MustCompile(`^(0|[a-z]{2,32})$`), // 1,000 videos of a list, 100 a page
	},
}

// findProvider refuses a name that this program does not know.
func findProvider(name string) (provider, error) {
	p, ok := providers[name]
	if !ok {
		return p, fmt.Errorf("upstream %q is not known to this program: use %s", name, strings.Join(slices.Sorted(maps.Keys(providers)), " or "))
	}
	return p, nil
}

// provider is the one that is configured.
func (c *config) provider() provider { return providers[c.upstream] }

// searches reports whether the provider finds videos by words.
func (p provider) searches() bool {
	_, ok := p.calls.(fetch.Searcher)
	return ok
}
