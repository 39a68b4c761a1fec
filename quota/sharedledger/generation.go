package sharedledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
)

// Generation names one unbroken life of a remote's memory: 1..MaxGeneration, 0 for none. Its high bits are an age, so
// that a copy of the remote from an earlier generation is recognized; its low bits are random.
type Generation int64

// MaxGeneration is exact in every number format that is used.
const MaxGeneration Generation = 1<<52 - 1

const ageBits = 28

func (g Generation) age() Generation { return g >> ageBits }

func (g Generation) next() Generation {
	return (g.age()+1)<<ageBits | Generation(random())&(1<<ageBits-1)
}

// event is the result of comparing the remote with a data directory's journal.
type event int

const (
	// the remote has all it acknowledged, in our generation or in a younger one begun by another data directory
	whole      event = iota
	lost             // the remote has lost something
	firstStart       // remote and journal are both new
	reloaded         // its server was restarted, and has all that this data directory knows of
)

// compare finds the event, and the reason of a loss; restarted is the remote's error about its server.
//
// The life of a generation, as one data directory sees it. An event may happen in every state unless it names one:
//
//	state     event                                                   next
//	unknown   the remote has no state, nor has the journal, and       deciding, under a first generation
//	          something is to be spent
//	unknown   the remote has no state otherwise                       settling, under a new generation
//	unknown   the remote is in our generation and has what it         settling
//	          acknowledged
//	unknown   the remote is in a younger generation than ours         settling, after a sync to it
//	unknown   the remote is in an older one, or in another of our     settling, under a new generation
//	          age: an earlier copy is back, or two began at once
//	any       the server was restarted, and has what it               as it was
//	          acknowledged to this data directory
//	any       the server was replaced, a log is short, or a writer's  settling, under a new generation
//	          number is behind what was acknowledged
//	settling  all hosts have synced, or SyncWait has passed, or         deciding
//	          this host is alone
//	any       the remote answers with another generation              unknown
//
// It finds the event of the unknown state; ensureGeneration acts on it, syncAll syncs, and awaitHosts
// keeps a settling generation from deciding.
func (s *Ledger) compare(r RemoteState, restarted error) (found event, why string) {
	mine := s.state.Generation
	isNew := mine == 0 && !s.state.HasWritten && !s.state.Owed && len(s.state.Snapshots) == 0
	switch {
	case restarted != nil && (!errors.Is(restarted, ErrRestarted) || r.Generation == 0 || r.Generation != mine):
		return lost, restarted.Error()
	case r.Generation == 0 && isNew:
		return firstStart, ""
	case r.Generation == 0 && mine == 0:
		return lost, "it is empty, and new to this data directory, which has spent before"
	case r.Generation == 0:
		return lost, "it is empty"
	case r.Generation == s.lostIn:
		return lost, "it lacks operations that this data directory saw or wrote"
	case r.Generation == mine:
		if s.writer != "" && r.Written[s.writer] < s.written ||
			slices.ContainsFunc(s.state.Written, func(w LastWrite) bool { return s.misses(r, w) }) {
			return lost, "it lacks operations that this data directory wrote"
		}
		if restarted != nil {
			return reloaded, ""
		}
		return whole, ""
	case r.Generation.age() > mine.age():
		return whole, ""
	default:
		return lost, "an earlier copy is back, or a host with an empty data directory found it empty and began anew"
	}
}

// misses reports whether the remote lacks an operation that a process of this data directory, running or ended, wrote
// to it. The remote may forget rows beyond the horizon.
func (s *Ledger) misses(r RemoteState, w LastWrite) bool {
	return r.Written[w.Writer] < w.Number && s.Now().Sub(w.At) < s.horizon-quota.MaxClockGap
}

// errNew means that remote and journal are both new, and a caller that only reads does not begin a generation.
var errNew = errors.New("the ledger is new")

// ensureGeneration returns the state of the remote, under a new generation if compare requires one. Written is known
// only if this data directory has synced to the generation.
func (s *Ledger) ensureGeneration(ctx context.Context, inFlight Row) (RemoteState, error) {
	names := []string{s.writer}
	for _, w := range s.state.Written {
		names = append(names, w.Writer)
	}
	remote, err := s.Remote.State(ctx, s.Account, writersOf(s.state.Asked, names...))
	if err != nil && !errors.Is(err, ErrLost) {
		return remote, err
	}
	if gap := remote.At.Sub(s.Now()).Abs(); gap > s.gap {
		return remote, quota.ClockError(
			protocol.Sprintf("its clock says %s, this machine's clock %s: set the clocks", remote.At, s.Now()))
	}
	found, why := s.compare(remote, err)
	switch {
	case found == whole:
		return remote, nil
	case found == firstStart && inFlight.ID == 0:
		return remote, errNew
	case found == reloaded:
		return remote, s.resume(ctx, remote.Generation)
	case found == lost:
		s.warn(ctx, "the ledger begins a new generation, as after a loss: "+why)
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

// resume goes on with the data of a restarted server. Every other host compares them with its own journal, as after a
// loss that has no sign: operations that this one never saw may be missing.
func (s *Ledger) resume(ctx context.Context, g Generation) error {
	err := ErrLost
	if r, ok := s.Remote.(Resumer); ok {
		err = r.Resume(ctx, s.Account, g)
	}
	switch {
	case err == nil:
		s.warn(ctx, "the ledger's server was restarted, and has all that this data directory saw and wrote: it goes on")
	case errors.Is(err, ErrLost):
		s.lostIn = g
	}
	return err
}

// errSettling means that a new generation still waits for other hosts.
var errSettling = fmt.Errorf("%w: it was lost, and waits until the other hosts have synced their spends",
	quota.ErrUnavailable)

// awaitHosts returns errSettling until all hosts have synced to the generation.
func (s *Ledger) awaitHosts(ctx context.Context, remote RemoteState) error {
	here, want, until := remote.Awaits(s.state, s.hosts, s.SyncWait)
	if !until.IsZero() {
		return &protocol.WaitingError{Err: fmt.Errorf("%w: %d of %d have", errSettling, len(here), want), Until: until}
	}
	if slices.Equal(here, s.state.Hosts) {
		return nil
	}
	if err := s.Journal.Note(ctx, s.Account, Notes{Hosts: here}); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if s.state.Hosts = here; len(here) > s.hosts {
		s.warn(ctx, fmt.Sprintf("%d data directories share the ledger: set hosts: "+
			"%d in the config of each, or after a loss of the ledger the others may not be waited for",
			len(here), len(here)), slog.Int("configured", s.hosts))
	}
	return nil
}

// Awaits returns the ids of the hosts that have synced in this generation, the number of hosts that should, and the
// latest time until which it waits for the others; zero if it no longer waits. It waits for the hosts that any host,
// or the journal of state, knew before, and for as many as configured. A directory that only reads is not one of them.
func (r RemoteState) Awaits(state JournalState, hosts int,
	settle time.Duration) (here []string, want int, until time.Time) {
	var all []string
	for _, h := range r.Hosts {
		if h.Left {
			continue
		}
		here, all = append(here, h.ID), append(append(all, h.ID), h.Knows...)
	}
	slices.Sort(here)
	slices.Sort(all)
	all = slices.Compact(all)
	want = max(hosts, len(all))
	others := slices.ContainsFunc(slices.Concat(all, state.Hosts), func(id string) bool { return id != state.HostID })
	alone := hosts == 1 && !others // there is no host to wait for, even for a caller that only reads
	if !alone && !r.Born.IsZero() && len(here) < want && r.At.Sub(r.Born) < settle {
		until = r.Born.Add(settle)
	}
	return here, want, until
}

// host returns this data directory as a Host.
func (s *Ledger) host() *Host {
	h := s.Host
	h.ID, h.Knows, h.At = s.state.HostID, s.state.Hosts, s.Now()
	return &h
}

// listed reports whether this data directory is among the hosts that draw on the remote's generation.
func (s *Ledger) listed(remote RemoteState) bool {
	return slices.ContainsFunc(remote.Hosts, func(h Host) bool { return h.ID == s.state.HostID && !h.Left })
}

// spends reports whether this data directory has spent or is about to; one that only reads is no host.
func (s *Ledger) spends(inFlight Row) bool {
	return inFlight.ID != 0 || s.state.HasWritten || s.state.Owed || len(s.state.Asked) > 0 ||
		slices.Contains(s.state.Hosts, s.state.HostID)
}
