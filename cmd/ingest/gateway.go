package main

import (
	"cmp"
	"context"
	"fmt"
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
	cmd.Flags().StringVar(&listen, "listen", "", "`address`, default gateway: "+
		"listen: of the config, else 127.0.0.1:8090; beyond this machine only with clients: in the config")
	return cmd
}

func (a *app) gateway(ctx context.Context, listen string) error {
	if err := a.cfg.CheckGateway(listen); err != nil {
		return err
	}
	room, err := a.openGateway(ctx)
	if err != nil {
		return err
	}
	l, err := listenAt(ctx, listen)
	if err != nil {
		room.Close()
		return err
	}
	a.say("the gateway listens at http://%s/ and asks %s", l.Addr(), room.Host)
	door := &gateway.Door{}
	defer door.Keep(ctx, room, regions.Heartbeat, a.openGateway)()
	return cmp.Or(web.Serve(ctx, l, door, a.log()), context.Cause(ctx))
}

func (a *app) openGateway(ctx context.Context) (*gateway.Room, error) {
	f, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	r := &gateway.Room{Host: f.upstream.Host(), Moved: sqliteledger.ErrMoved, Close: f.close,
		Ask: func(ctx context.Context) error {
			f.calls.Save(ctx)
			_, err := f.ledger.Report(ctx)
			return err
		}}
	if r.Gateway, err = a.newGateway(ctx, f); err != nil {
		f.close()
		return nil, err
	}
	return r, nil
}

// newGateway returns a gateway on the open runtime. It keeps the schedule's quota from its clients.
func (a *app) newGateway(ctx context.Context, f *fetchRuntime) (*gateway.Gateway, error) {
	c, err := a.gatewayConfig(f.upstream, f.ledger.Tariff)
	if err != nil {
		return nil, err
	}
	if len(a.cfg.Clients) == 0 {
		a.log().WarnContext(ctx, "every user and program of this machine may spend quota through the gateway: "+
			"name clients: in the config, each with a token, to admit only those")
	}
	reserve := f.reserveCache(a)
	if err := reserve.Update(ctx); err != nil {
		return nil, fmt.Errorf("the schedule's need: %w", err)
	}
	f.ledger.Reserve = reserve.Reserve // the pages of this process show the same figures
	c.Governor, c.OnCall, c.Rate = f.ledger.Governor, f.calls.Observe, f.rate
	c.OnRepeat = func(method string) {
		f.calls.Repeat(method, a.clock.Now().In(c.Governor.Tariff.Zone).Format(time.DateOnly))
	}
	return gateway.New(c), nil
}

// gatewayConfig returns a gateway's own config, or the refused part of it.
func (a *app) gatewayConfig(from upstream, tariff *quota.Tariff) (c gateway.Config, err error) {
	up, ok := from.(gateway.Upstream)
	if !ok || len(tariff.Routes) == 0 {
		return c, config.Invalid(fmt.Errorf("upstream %s has no routes in the costs, so that a request has no price: "+
			"a gateway needs upstream: youtube", a.cfg.Upstream))
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
