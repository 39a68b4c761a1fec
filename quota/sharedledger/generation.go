package sharedledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Generation names one unbroken life of a remote's memory: 1..MaxGeneration, 0 for none. Generations are
// ordered by age, so that a copy of the remote that was made under an earlier one is told from a new one. What is
// below the age is random.
type Generation int64

// MaxGeneration is exact in every number format on the way.
const MaxGeneration Generation = 1<<52 - 1

const ageBits = 28

func (g Generation) age() Generation { return g >> ageBits }

func (g Generation) next() Generation {
	return (g.age()+1)<<ageBits | Generation(random())&(1<<ageBits-1)
}

// event is what a data directory finds when it compares the remote with its journal.
type event int

const (
	current    event = iota // our generation, and it has what it acknowledged
	younger                 // another data directory began a generation after ours
	lost                    // something that was there is gone
	firstStart              // nothing was ever here or there, and nobody else can know better
)

// compare finds the event; restarted is what the remote said of its server. Among several hosts, nothing here
// and nothing there may be the loss of all that the others know: it is no first start.
func (s *Ledger) compare(r RemoteState, restarted bool) event {
	mine, synced := s.state.Generation, s.state.Synced
	empty := mine == 0 && synced.ID == 0 && !s.state.Owed && len(s.state.Snapshots) == 0
	switch {
	case restarted:
		return lost
	case r.Generation == 0 && empty && s.hosts <= 1:
		return firstStart
	case r.Generation == 0 || r.Generation == s.lostIn:
		return lost
	case r.Generation == mine:
		// What is older than the horizon the remote may have forgotten.
		if synced.ID != 0 && r.Written[synced.Writer] < synced.Number && s.Now().Sub(synced.At) < s.horizon-quota.MaxClockGap {
			return lost
		}
		return current
	case r.Generation.age() > mine.age():
		return younger
	default: // an older copy is back, or two generations were begun at once
		return lost
	}
}

// ensureGeneration returns the state of the remote, under a new generation if compare finds that one is needed. What
// each writer has written is known only if the generation is this data directory's.
func (s *Ledger) ensureGeneration(ctx context.Context) (RemoteState, error) {
	writers := writersOf(append(slices.Clone(s.state.Asked), s.state.Synced))
	remote, err := s.Remote.State(ctx, s.Account, writers)
	restarted := errors.Is(err, ErrLost)
	if err != nil && !restarted {
		return remote, err
	}
	if gap := remote.At.Sub(s.Now()).Abs(); gap > quota.ClockGap(s.grace) {
		return remote, fmt.Errorf("%w: its clock says %s, this machine's %s: set them right", quota.ErrUnavailable,
			remote.At.Format(time.RFC3339), s.Now().UTC().Format(time.RFC3339))
	}
	found := s.compare(remote, restarted)
	if found == current || found == younger {
		return remote, nil
	}
	remote.Generation, err = s.Remote.Renew(ctx, Renewal{
		Account: s.Account, Pools: s.pools, Horizon: s.horizon, First: found == firstStart,
		Was: remote.Generation, Next: max(remote.Generation, s.state.Generation).next(),
	})
	if err == nil {
		s.lostIn = 0
	}
	return remote, err
}

// errSettling is a new generation that still waits for other hosts.
var errSettling = fmt.Errorf("%w: it was lost, and waits until the other hosts have synced what they spent", quota.ErrUnavailable)

// awaitHosts waits, by refusing to answer, until all hosts have synced to the generation: those that any of them
// knew before, and as many as the setting says. One that only reads is not among them.
func (s *Ledger) awaitHosts(ctx context.Context, remote RemoteState) error {
	var here, all []string
	for _, h := range remote.Hosts {
		here, all = append(here, h.ID), append(append(all, h.ID), h.Knows...)
	}
	slices.Sort(here)
	slices.Sort(all)
	all = slices.Compact(all)
	want := max(s.hosts, len(all))
	others := slices.ContainsFunc(slices.Concat(all, s.state.Hosts), func(id string) bool { return id != s.state.HostID })
	alone := s.hosts == 1 && !others // then there is nobody to wait for, also for who only looks
	if !alone && !remote.Born.IsZero() && len(here) < want && remote.At.Sub(remote.Born) < s.Settle {
		return fmt.Errorf("%w: %d of %d have; it goes on at %s at the latest", errSettling, len(here), want,
			remote.Born.Add(s.Settle).Format(time.RFC3339))
	}
	if slices.Equal(here, s.state.Hosts) {
		return nil
	}
	if err := s.Journal.Note(ctx, s.Account, Notes{Hosts: here}); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if s.state.Hosts = here; len(here) > s.hosts {
		s.warn(ctx, fmt.Sprintf("%d data directories share the ledger: set hosts: %d in the config of each, or after a loss of the ledger the others may not be waited for",
			len(here), len(here)), slog.Int("configured", s.hosts))
	}
	return nil
}

// listed reports whether this data directory is among the hosts of the remote's generation.
func (s *Ledger) listed(remote RemoteState) bool {
	return slices.ContainsFunc(remote.Hosts, func(h Host) bool { return h.ID == s.state.HostID })
}

// spends reports whether this data directory has ever spent, or is about to: one that only reads is no host.
func (s *Ledger) spends(inFlight Row) bool {
	return inFlight.ID != 0 || s.state.Synced.ID != 0 || s.state.Owed || len(s.state.Asked) > 0 || slices.Contains(s.state.Hosts, s.state.HostID)
}
