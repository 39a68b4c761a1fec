package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/report"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota/httplimit"
	"github.com/trendvidstream/ingest/quota/memledger"
	"github.com/trendvidstream/ingest/regions"
	"github.com/trendvidstream/ingest/store"
)

// newAPI returns what serve answers under /v1/, with the config's limits, which are counted in memory.
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

// library returns what the API answers from: the store, as the commands show it.
func (a *app) library(s *store.Store) *web.Library {
	l := library{a, s}
	return &web.Library{Search: l.search, Chart: l.chart, Video: l.video, Slots: l.slots, Version: s.Fingerprint}
}

type library struct {
	app   *app
	store *store.Store
}

func (l library) search(ctx context.Context, params url.Values) (report.SearchDocument, error) {
	f, q := searchFlags{order: "relevance"}, store.SearchQuery{Limit: store.DefaultLimit, Text: params.Get("q")}
	err := setFlags(params, "q", func(flags *pflag.FlagSet) { f.add(flags, &q) })
	if err == nil {
		err = f.complete(&q, l.app.clock.Now())
	}
	if err != nil {
		return report.SearchDocument{}, badRequest(err)
	}
	r, err := l.store.Search(ctx, q)
	return newSearchDocument(q, r), asClientError(err)
}

func (l library) chart(ctx context.Context, region string, params url.Values) (report.ChartDocument, error) {
	var at config.Since
	var q store.ChartQuery
	code, err := regions.Parse(region)
	if err == nil {
		err = setFlags(params, "", func(flags *pflag.FlagSet) {
			flags.Var(config.SinceFlag(&at), "at", "")
			flags.StringVar(&q.Job, "job", "", "")
			flags.BoolVar(&q.Partial, "partial", false, "")
		})
	}
	now := l.app.clock.Now()
	if err == nil {
		err = checkPast(now, at)
	}
	if err != nil {
		return report.ChartDocument{}, badRequest(err)
	}
	q.Region, q.At = code, at.At(now)
	c, err := findChart(ctx, l.store, l.app.cfg.Jobs, q)
	return newChartDocument(c), asClientError(err)
}

func (l library) video(ctx context.Context, id string, params url.Values) (report.HistoryDocument, error) {
	var since config.Since
	q := store.HistoryQuery{VideoID: id}
	if err := setFlags(params, "", func(flags *pflag.FlagSet) { addHistoryFlags(flags, &q, &since) }); err != nil {
		return report.HistoryDocument{}, badRequest(err)
	}
	q.Since = since.At(l.app.clock.Now())
	h, err := l.store.History(ctx, q)
	return newHistoryDocument(h), asClientError(err)
}

func (l library) slots(ctx context.Context, params url.Values) ([]report.SlotDocument, error) {
	var f store.SlotFilter
	var region ingest.Region
	var since config.Since
	if err := setFlags(params, "", func(flags *pflag.FlagSet) { addSlotFlags(flags, &f.State, &region, &since) }); err != nil {
		return nil, badRequest(err)
	}
	now := l.app.clock.Now()
	if f.Key, f.Since = string(region), now.Add(-24*time.Hour); !since.IsZero() {
		f.Since = since.At(now)
	}
	slots, err := l.store.ListSlots(ctx, f)
	return report.NewSlotsDocument(slots, nil).Slots, asClientError(err)
}

// setFlags sets the flags defined by add from the parameters of a URL, which have '_' where flags have '-'.
func setFlags(params url.Values, but string, add func(*pflag.FlagSet)) error {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	add(flags)
	for name, values := range params {
		if name == but {
			continue
		}
		f := flags.Lookup(strings.ReplaceAll(name, "_", "-"))
		if f == nil || strings.Contains(name, "-") {
			return fmt.Errorf("there is no parameter %q: /v1/openapi.json lists them", name)
		}
		if err := f.Value.Set(values[0]); err != nil {
			if _, ok := errors.AsType[config.FlagError](err); !ok {
				err = fmt.Errorf(" %q: use true or false", values[0])
			}
			return fmt.Errorf("%s%w", name, err)
		}
	}
	return nil
}

var flagName = regexp.MustCompile(`--[a-z-]+`)

// badRequest returns an error that the client can correct. It turns the --a-flag of a command line's message into
// a_flag.
func badRequest(err error) error {
	text := flagName.ReplaceAllStringFunc(err.Error(), func(flag string) string { return strings.ReplaceAll(flag[2:], "-", "_") })
	return fmt.Errorf("%w: %s", web.ErrBadRequest, text)
}

// asClientError marks the errors of the store that are the client's.
func asClientError(err error) error {
	switch {
	case errors.Is(err, store.ErrCursor):
		return badRequest(store.ErrCursor)
	case errors.Is(err, store.ErrNoChart), errors.Is(err, store.ErrNoVideo):
		return fmt.Errorf("%w: %w", web.ErrNotFound, err)
	}
	return err
}
