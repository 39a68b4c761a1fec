package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/trendvidstream/ingest/internal/term"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// The checks of the hosts that share a ledger.

func checkHosts(ctx context.Context, d *Doctor) Finding {
	want := d.Config.Hosts
	if d.OpenRemote == nil {
		if want > 1 {
			return warn(fmt.Sprintf("hosts: is %d, but the ledger is %s, which no other host sees", want, d.LedgerFile),
				"set hosts: 1, or share a --ledger redis://... or postgres://...")
		}
		return noFinding
	}
	l, err := d.OpenRemote(ctx)
	if err != nil {
		return noFinding // config reports it
	}
	defer func() { _ = l.Close() }()
	s, err := l.State(ctx, d.Config.Account, nil)
	var here sharedledger.JournalState // of a data directory that has none: empty
	if j, err := readJournal(ctx, d); err == nil {
		here = j.JournalState
	}
	switch {
	case errors.Is(err, sharedledger.ErrRestarted):
		return okf("the ledger's server was restarted with its data, " +
			"which each host compares with its journal before its next call")
	case errors.Is(err, sharedledger.ErrLost), err == nil && s.Generation == 0 && here.Generation != 0:
		return warn("the ledger's server was emptied or replaced since hosts last synced their spends",
			"the next run of each host syncs again; let all of them run once")
	case err != nil:
		return noFinding // redis reports it
	case s.Generation == 0:
		return okf("none of %d has synced yet", want)
	}
	if t, err := d.Tariff(); err == nil {
		if have, all, until := s.Awaits(here, want, t.Failure.SyncWait); !until.IsZero() {
			return fail(Unavailable, fmt.Sprintf("the ledger was lost, and waits for the spends of all hosts, "+
				"until %s at the latest: %d of %d have synced", term.StampFrom(until), len(have), all),
				"start the missing hosts, or wait"+untilThen(ctx, d, until))
		}
	}
	for i := range s.Hosts {
		if d.OpenStore != nil {
			s.Hosts[i].Regions = nil // hosts that share a store share its regions
		}
	}
	return judgeHosts(s.Hosts, want)
}

// judgeHosts compares the hosts that have synced in this generation with how many there should be. A host that has
// ended with everything synced, such as a one-shot run or a container, is not counted as one too many.
func judgeHosts(hosts []sharedledger.Host, want int) Finding {
	var names, advice []string
	ended := 0
	for _, h := range hosts {
		names = append(names, h.Name)
		if h.Left {
			ended++
		}
	}
	synced := max(len(hosts)-ended, min(len(hosts), want))
	lines := []string{fmt.Sprintf("%d of %d have synced: %s", synced, want, strings.Join(names, ", "))}
	switch {
	case synced > want:
		advice = append(advice,
			fmt.Sprintf("set hosts: %d in every config: each takes a larger part of the emergency budget than it may", synced))
	case synced < want:
		advice = append(advice, "start the missing hosts, or set hosts: to their number: "+
			"after a loss expensive calls wait for all of them")
	}
	if shared := inCommon(hosts, func(h sharedledger.Host) []string { return h.Regions },
		"%s is fetched by %s and by %s"); len(shared) > 0 {
		lines = append(lines, shared...)
		advice = append(advice, "let each region be fetched by one host: regions: of its jobs")
	}
	if twice := inCommon(hosts, machineOf, "machine %s has two: %s and %s"); len(twice) > 0 {
		lines = append(lines, twice...)
		advice = append(advice, "one data directory a machine is enough: use the same --data for all runs")
	}
	if len(advice) > 0 {
		return warn(strings.Join(lines, "; "), strings.Join(advice, "; "))
	}
	return okf("%s", strings.Join(lines, "; "))
}

// inCommon lists the keys that two hosts have in common, each formatted with the key and both names.
func inCommon(hosts []sharedledger.Host, keys func(sharedledger.Host) []string, format string) []string {
	var out []string
	first := map[string]string{}
	for _, h := range hosts {
		for _, key := range keys(h) {
			if other, taken := first[key]; taken && other != h.Name {
				out = append(out, fmt.Sprintf(format, key, other, h.Name))
			} else {
				first[key] = h.Name
			}
		}
	}
	return out
}

// machineOf returns the part of a host's name before its data directory.
func machineOf(h sharedledger.Host) []string {
	machine, _, _ := strings.Cut(h.Name, ":")
	return []string{machine}
}
