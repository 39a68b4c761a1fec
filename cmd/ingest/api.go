package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/library"
	"github.com/trendvidstream/ingest/internal/pages"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota/httplimit"
	"github.com/trendvidstream/ingest/quota/memledger"
	"github.com/trendvidstream/ingest/store"
)

// newAPI returns the handler of /v1/, with the config's limits, which are counted in memory.
func newAPI(c *config.Config) (*web.API, error) {
	api, l := &web.API{Origins: c.API.Origins}, c.API.Config
	l.Ledger, l.Timeout, l.Limits = &memledger.Ledger{}, -1, c.ClientLimits()
	if len(l.Limits)+len(l.Outer)+len(l.Tokens)+len(l.Deny) == 0 {
		return api, nil
	}
	limiter, err := httplimit.New(l)
	if err != nil {
		return nil, config.Invalid(fmt.Errorf("%s: api: %w", c.File, err))
	}
	api.Limiter = limiter
	return api, nil
}

// pages returns how the pages look, as the config has it.
func (a *app) pages() pages.Site {
	site := a.provider().pages
	site.Hidden, site.Pictures, site.Theme = a.cfg.HideDerived, !a.cfg.NoThumbnails, a.cfg.Theme
	if config.IsLoopbackURL(a.cfg.UpstreamURL) {
		site.StandIn = strings.TrimSuffix(a.cfg.UpstreamURL, "/") // invented videos have no pictures elsewhere
	}
	return site
}

// reader reads the documents that commands, pages and API show.
func (a *app) reader(s *store.Store) library.Reader {
	return library.Reader{Store: s, Jobs: a.cfg.Jobs, Now: a.clock.Now, Watch: a.provider().watch, Named: a.provider().named, Hidden: a.cfg.HideDerived}
}

// asUsageError is an error whose cause is what was asked for.
func asUsageError(err error) error {
	if errors.Is(err, report.ErrBadRequest) || errors.Is(err, library.ErrDerived) {
		return usageError{errors.New(strings.TrimPrefix(err.Error(), report.ErrBadRequest.Error()+": "))}
	}
	return err
}
