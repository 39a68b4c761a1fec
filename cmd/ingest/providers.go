package main

import (
	"context"
	"regexp"
	"time"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/fetch/dailymotion"
	"github.com/trendvidstream/ingest/fetch/youtube"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/doctor"
	"github.com/trendvidstream/ingest/internal/pages"
)

// upstream is an open adapter.
type upstream interface {
	doctor.Upstream
	AskDate(context.Context) (time.Time, error) // by its clock; costs no quota
}

// provider is an upstream that the config may choose with upstream:.
type provider struct {
	name string // for a person
	// nothing is sent
	open func(ctx context.Context, c *config.Config, key ingest.Secret) (upstream, error)
	// makes calls that are only priced, never sent
	calls   upstream
	keyed   bool             // the real upstream needs a key
	limits  config.JobLimits // in addition to calls.Limits
	refills bool             // backfills support it
	// the URL of a video's page, up to its id
	watch string
	// names of categories until they are fetched
	named map[string]string
	// attribution, and where its pictures are
	pages pages.Site
}

var providers = map[string]provider{
	"youtube": {
		name: "YouTube",
		open: func(ctx context.Context, c *config.Config, key ingest.Secret) (upstream, error) {
			return youtube.New(ctx, youtube.Config{BaseURL: c.UpstreamURL, Key: key, Version: version,
				Descriptions: c.Descriptions})
		},
		calls: &youtube.Client{}, keyed: true,
		refills: true,
		limits: config.JobLimits{UsualPages: 4, Category: regexp.MustCompile(`^[0-9]{1,4}$`),
			Channel: youtube.ParseChannel, Video: youtube.ParseVideo},
		watch: "https://www.youtube.com/watch?v=",
		named: youtube.CategoryNames,
		pages: pages.Site{
			Provider: pages.Provider{Name: "YouTube", Home: "https://www.youtube.com/",
				Terms: "https://www.youtube.com/t/terms"},
			PictureHosts: []string{"https://i.ytimg.com"},
		},
	},
	"dailymotion": {
		name: "Dailymotion",
		open: func(ctx context.Context, c *config.Config, _ ingest.Secret) (upstream, error) {
			return dailymotion.New(ctx, dailymotion.Config{BaseURL: c.UpstreamURL, Version: version,
				Descriptions: c.Descriptions})
		},
		calls:  &dailymotion.Client{},
		limits: config.JobLimits{UsualPages: 2, Category: regexp.MustCompile(`^(0|[a-z]{2,32})$`)},
		watch:  "https://www.dailymotion.com/video/",
		pages: pages.Site{
			Provider: pages.Provider{Name: "Dailymotion", Home: "https://www.dailymotion.com/",
				Terms: "https://legal.dailymotion.com/en/terms-of-use/"},
			PictureHosts: []string{"https://s1.dmcdn.net", "https://s2.dmcdn.net"},
		},
	},
}

func upstreamLimits() map[string]config.JobLimits {
	all := map[string]config.JobLimits{}
	for name, p := range providers {
		most := p.calls.Limits()
		p.limits.Pages, p.limits.SearchPages = most.ChartPages, most.SearchPages
		all[name] = p.limits
	}
	return all
}

func (a *app) provider() provider { return providers[a.cfg.Upstream] }
