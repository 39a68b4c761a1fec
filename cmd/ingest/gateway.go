package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/gateway"
	"github.com/trendvidstream/ingest/internal/web"
	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sqliteledger"
	"github.com/trendvidstream/ingest/regions"
)

func (a *app) gatewayCommand() *cobra.Command {
	var listen string
	cmd := command("gateway", "Let other tools spend the same quota, counted in the same ledger",
		noArgs, func(ctx context.Context, _ []string) error {
			return a.gateway(ctx, cmp.Or(listen, a.cfg.GatewayListen, "127.0.0.1:8090"))
		})
	cmd.Flags().StringVar(&listen, "listen", "", "`address`, default gateway: listen: of the config, else 127.0.0.1:8090; beyond this machine only with clients: in the config")
	return cmd
}

func (a *app) gateway(ctx context.Context, listen string) error {
	if err := a.cfg.CheckGateway(listen); err != nil {
		return err
	}
	d := &gatewayDoor{app: a, silent: make(chan error, 1)}
	if err := d.open(ctx); err != nil {
		return err
	}
	l, err := listenAt(ctx, listen)
	if err != nil {
		d.close()
		return err
	}
	a.say("the gateway listens at http://%s/ and asks %s", l.Addr(), d.runtime.upstream.Host())
	kept, stop := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() { d.keepOpen(kept) })
	err = web.Serve(ctx, l, d, a.log())
	stop()
	keeping.Wait()
	return cmp.Or(err, context.Cause(ctx))
}

// gatewayDoor is the handler of a gateway that outlives its ledger's file.
type gatewayDoor struct {
	gateway.Door

	app     *app
	runtime *fetchRuntime // nil: the door is closed
	silent  chan error    // why the ledger did not answer a take
}

func (d *gatewayDoor) open(ctx context.Context) error {
	f, err := d.app.open(ctx)
	if err != nil {
		return err
	}
	g, err := d.app.newGateway(ctx, f, func(err error) {
		select {
		case d.silent <- err:
		default: // it is looked at already
		}
	})
	if err != nil {
		f.close()
		return err
	}
	d.runtime = f
	d.Open(g)
	return nil
}

func (d *gatewayDoor) close() {
	if d.Open(nil); d.runtime != nil {
		d.runtime.close()
	}
	d.runtime = nil
}

// keepOpen opens everything again if quota.db is no longer the file that was opened, as after a repair. It returns, and
// has closed everything, once ctx is done.
func (d *gatewayDoor) keepOpen(ctx context.Context) {
	beat := time.NewTicker(regions.Heartbeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			d.close()
			return
		case err = <-d.silent:
		case <-beat.C:
			if d.runtime != nil {
				d.runtime.calls.Save(ctx)
				_, err = d.runtime.ledger.Report(ctx)
			}
		}
		if errors.Is(err, sqliteledger.ErrMoved) {
			d.app.log().WarnContext(ctx, "the ledger is opened again", slog.Any("error", err))
			d.close()
		}
		if d.runtime == nil {
			if err := d.open(ctx); err != nil {
				d.app.log().WarnContext(ctx, "no client is served until this is repaired", slog.Any("error", err))
			}
		}
	}
}

// newGateway returns a gateway on the open runtime. It knows what its clients must leave for the schedule. onSilent is
// called with each error of the ledger; nil: nobody is told.
func (a *app) newGateway(ctx context.Context, f *fetchRuntime, onSilent func(error)) (*gateway.Gateway, error) {
	c, err := a.gatewayConfig(f.upstream, f.ledger.Tariff)
	if err != nil {
		return nil, err
	}
	if len(a.cfg.Clients) == 0 {
		a.log().WarnContext(ctx, "every user and program of this machine may spend quota through the gateway: name clients: in the config, each with a token, to admit only those")
	}
	reserve := f.reserveCache(a)
	if err := reserve.Update(ctx); err != nil {
		return nil, fmt.Errorf("what the schedule needs: %w", err)
	}
	f.ledger.Reserve = reserve.Reserve // the pages of this process show the same figures
	c.Governor, c.OnCall, c.OnSilent = f.ledger.Governor, f.calls.Observe, onSilent
	c.OnRepeat = func(method string) {
		f.calls.Repeat(method, a.clock.Now().In(c.Governor.Tariff.Zone).Format(time.DateOnly))
	}
	return gateway.New(c), nil
}

// gatewayConfig returns what a gateway makes of the config alone, or what it refuses in it.
func (a *app) gatewayConfig(from upstream, tariff *quota.Tariff) (c gateway.Config, err error) {
	up, ok := from.(gateway.Upstream)
	if !ok || len(tariff.Routes) == 0 {
		return c, config.Invalid(fmt.Errorf("upstream %s has no routes in the costs, so that a request has no price: a gateway needs upstream: youtube", a.cfg.Upstream))
	}
	c = gateway.Config{Upstream: up, Cache: a.cfg.GatewayCache, Log: a.log()}
	for method := range c.Cache {
		if _, err := tariff.Cost(method); err != nil {
			return c, config.Invalid(fmt.Errorf("gateway: cache: %w", err))
		}
	}
	for _, client := range a.cfg.Clients {
		c.Clients = append(c.Clients, gateway.Client{Name: client.Name, TokenSHA256: client.TokenSHA256})
	}
	return c, nil
}
