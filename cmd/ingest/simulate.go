package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trendvidstream/ingest/internal/config"
	"github.com/trendvidstream/ingest/internal/dailymotionsim"
	"github.com/trendvidstream/ingest/internal/youtubesim"
)

// standInOptions holds the flags of simulate as given.
type standInOptions struct {
	youtubesim.Options

	upstream       string
	limits, faults []string
}

func (a *app) simulateCommand() *cobra.Command {
	o := standInOptions{upstream: "youtube"}
	var listen string
	cmd := command("simulate", "Run a fake YouTube API locally, for trying and testing", noArgs,
		func(ctx context.Context, _ []string) (err error) {
			if o.Limits, err = config.ParsePoolLimits(o.limits); err != nil {
				return usageError{err}
			}
			o.CostTable, o.Now = a.flags.Pick("cost-table", "INGEST_COST_TABLE", a.flags.CostTable), a.clock.Now
			server, err := o.server()
			if err != nil {
				return err
			}
			return a.simulate(ctx, listen, o.Seed, server)
		})
	cmd.Long = "A --fault is " + youtubesim.FaultHelp
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:0", "loopback `address`")
	f.Var(config.Choice(&o.upstream, "youtube", "dailymotion"), "upstream", "`API`: youtube or dailymotion")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the generated catalogue")
	f.StringVar(&o.ChartsDir, "charts", "", "`directory` of charts, XX.csv[.gz] per region")
	f.StringVar(&o.Day, "day", "", "which `day` of the recorded charts, YYYY-MM-DD")
	f.IntVar(&o.Crowd, "crowd", 0, "serve only the channel @crowd, with `N` videos")
	f.StringVar(&o.Lie, "lie", "", "a `lie` about @crowd: "+strings.Join(youtubesim.Lies(), ", "))
	f.StringArrayVar(&o.limits, "limit", nil, "limit of a pool per day of the provider; repeatable")
	f.Var(config.Count(&o.PerMinute, 0, 0), "per-minute", "at most `N` calls in any minute; 0: no such limit")
	f.StringArrayVar(&o.faults, "fault", nil, "a `fault`, such as 503@3 or 502html:10%; repeatable")
	f.StringVar(&o.RequireKey, "require-key", "", "refuse every other API key; never a real one")
	f.DurationVar(&o.Latency, "latency", 0, "how long every answer takes")
	return cmd
}

func (o standInOptions) server() (_ http.Handler, err error) {
	switch {
	case o.Latency < 0:
		return nil, usageError{fmt.Errorf("--latency %s is below 0", o.Latency)}
	case o.Day != "" && o.ChartsDir == "":
		return nil, usageError{fmt.Errorf("--day %s is a day of recorded charts: give their directory with --charts", o.Day)}
	}
	if o.upstream == "youtube" {
		if o.Faults, err = parseFaults(o.faults, youtubesim.ParseFault); err != nil {
			return nil, err
		}
		s, err := youtubesim.New(o.Options)
		return s, asUsage(err)
	}
	other := dailymotionsim.Options{Seed: o.Seed, Limits: o.Limits, Latency: o.Latency, Now: o.Now}
	if o.ChartsDir+o.Day+o.RequireKey != "" || o.PerMinute != 0 {
		return nil, usageError{errors.New("--charts, --day, --per-minute and --require-key go with --upstream youtube")}
	}
	if other.Faults, err = parseFaults(o.faults, dailymotionsim.ParseFault); err != nil {
		return nil, err
	}
	s, err := dailymotionsim.New(other)
	return s, asUsage(err)
}

// asUsage makes a stand-in's error a usage error; nil stays nil.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, prefix := range []string{"youtubesim: ", "dailymotionsim: "} { // package names, which mean nothing to a person
		text = strings.TrimPrefix(text, prefix)
	}
	return usageError{errors.New(text)}
}

func parseFaults[T any](list []string, parse func(string) (T, error)) (faults []T, err error) {
	for _, text := range list {
		fault, err := parse(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("--fault: %w", err)}
		}
		faults = append(faults, fault)
	}
	return faults, nil
}

func (a *app) simulate(ctx context.Context, listen string, seed uint64, server http.Handler) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil || !config.IsLoopbackURL("http://"+net.JoinHostPort(host, "0")) {
		return usageError{fmt.Errorf("--listen %q is not a loopback address such as 127.0.0.1:8099: "+
			"the stand-in is for this machine only", listen)}
	}
	url, wait, err := youtubesim.Serve(ctx, listen, server)
	if err != nil {
		return err
	}
	err = a.printJSON(struct {
		URL  string `json:"url"`
		Seed uint64 `json:"seed"`
	}{url, seed})
	a.say("the stand-in listens at %s; its counts are at %ssim/ledger", url, url)
	if waitErr := wait(); !errors.As(waitErr, new(signalled)) {
		err = errors.Join(err, waitErr)
	}
	return err // a stand-in ends by a signal: exit 0
}
