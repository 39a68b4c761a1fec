package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/trendvidstream/ingest/quota/sharedledger"
)

func lookHosts(ctx context.Context, d *doctor) finding {
	if d.sqlite() {
		if d.cfg.Hosts > 1 {
			return warn(fmt.Sprintf("hosts: is %d, but the ledger is %s, which no other host sees", d.cfg.Hosts, ledgerFile),
				"set hosts: 1, or share a --ledger redis://...")
		}
		return noLine
	}
	l, err := d.remoteLedger(ctx)
	if err != nil {
		return noLine
	}
	defer func() { _ = l.Close() }()
	s, err := l.State(ctx, d.cfg.Account, nil)
	switch {
	case errors.Is(err, sharedledger.ErrLost):
		return warn("the Redis was started anew since it was last told what was spent", "the next run of each host tells it again; let all of them run once")
	case err != nil:
		return noLine // the Redis has said so
	case s.Generation == 0:
		return fine("none of %d has come yet", d.cfg.Hosts)
	}
	return judgeHosts(s, d.cfg.Hosts)
}

// judgeHosts compares who has delivered in this generation with who should have.
func judgeHosts(s sharedledger.RemoteState, want int) finding {
	var names, lines []string
	for _, h := range s.Hosts {
		names = append(names, h.Name)
	}
	lines = append(lines, fmt.Sprintf("%d of %d have delivered: %s", len(s.Hosts), want, strings.Join(names, ", ")))
	var advice []string
	switch {
	case len(s.Hosts) > want:
		advice = append(advice, fmt.Sprintf("set hosts: %d in every config: each takes a larger part of the emergency budget than it may", len(s.Hosts)))
	case len(s.Hosts) < want:
		advice = append(advice, "start those that are missing, or set hosts: to how many there are: after a loss dear calls wait for all of them")
	}
	if shared := sharedRegions(s.Hosts); len(shared) > 0 {
		lines = append(lines, shared...)
		advice = append(advice, "let each region be fetched by one host: regions: of its jobs")
	}
	if twice := sameMachine(s.Hosts); len(twice) > 0 {
		lines = append(lines, twice...)
		advice = append(advice, "one data directory a machine is enough: use the same --data for all runs")
	}
	if len(advice) > 0 {
		return warn(strings.Join(lines, "; "), strings.Join(advice, "; "))
	}
	return fine("%s", strings.Join(lines, "; "))
}

// sharedRegions are the regions that two hosts fetch.
func sharedRegions(hosts []sharedledger.Host) []string {
	var out []string
	first := map[string]string{}
	for _, h := range hosts {
		for _, r := range h.Regions {
			if other, taken := first[r]; taken && other != h.Name {
				out = append(out, fmt.Sprintf("%s is fetched by %s and by %s", r, other, h.Name))
				continue
			}
			first[r] = h.Name
		}
	}
	return out
}

// sameMachine are the pairs of data directories that lie on one machine: a host's name is that of the
// machine, a colon, and the directory.
func sameMachine(hosts []sharedledger.Host) []string {
	var out []string
	first := map[string]string{}
	for _, h := range hosts {
		machine, _, _ := strings.Cut(h.Name, ":")
		if other, taken := first[machine]; taken {
			out = append(out, fmt.Sprintf("%s and %s are on one machine", other, h.Name))
			continue
		}
		first[machine] = h.Name
	}
	return out
}
