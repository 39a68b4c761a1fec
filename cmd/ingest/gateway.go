package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/gateway"
	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/internal/web"
)

func (a *app) gatewayCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Let other tools spend the same quota, counted in the same ledger",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.gateway(cmd.Context(), listen)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8090", "`address`; beyond this machine only with clients: in the config")
	return cmd
}

// gateway answers until ctx is done.
func (a *app) gateway(ctx context.Context, listen string) error {
	if err := config.CheckListen(listen); err != nil {
		return err
	}
	if len(a.cfg.Clients) == 0 && !config.IsLoopbackURL("http://"+listen) {
		return config.Invalid(fmt.Errorf("--listen %s: whoever reaches it could spend the quota: name clients: in the config, or listen at 127.0.0.1:8090", listen))
	}
	f, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer f.close()
	up, ok := f.upstream.(gateway.Upstream)
	if !ok || len(f.ledger.Tariff.Routes) == 0 {
		return config.Invalid(fmt.Errorf("upstream %s has no routes in the costs, so that a request has no price: a gateway needs upstream: youtube", a.cfg.Upstream))
	}
	c := gateway.Config{Governor: f.ledger.Governor, Upstream: up, Reserve: f.reconciler(a).Reserve, Cache: a.cfg.GatewayCache, Log: a.log()}
	for method := range c.Cache {
		if _, err := f.ledger.Tariff.Cost(method); err != nil {
			return config.Invalid(fmt.Errorf("gateway: cache: %w", err))
		}
	}
	for _, client := range a.cfg.Clients {
		c.Clients = append(c.Clients, gateway.Client{Name: client.Name, TokenSHA256: client.TokenSHA256})
	}
	l, err := listenAt(ctx, listen)
	if err != nil {
		return err
	}
	g := gateway.New(c)
	a.say("the gateway listens at http://%s/ and asks %s", l.Addr(), f.upstream.Host())
	err = web.Serve(ctx, l, g, a.log())
	a.say("units saved today: %s", term.Thousands(g.Saved()["units"]))
	return err
}
