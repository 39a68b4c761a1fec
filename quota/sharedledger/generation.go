package sharedledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
)

// Generations are ordered by their age, so that a copy of the remote that was made under an earlier one
// is told from a new one; what is below the age is random.
const ageBits = 28

func (g Generation) age() Generation { return g >> ageBits }

func (g Generation) next() Generation {
	return (g.age()+1)<<ageBits | Generation(random())&(1<<ageBits-1)
}

// stand is what the remote knows, under a new generation where there is none or something was lost: where
// it says so, where it has not the newest that it was told, and where its generation is of the past. What
// each writer has written is known only where the generation is this data directory's.
//
// A first start, with nothing here and nothing there, waits for nobody where this host is alone: among
// several it may be the loss of all that the others know.
func (s *Ledger) stand(ctx context.Context) (RemoteState, error) {
	told, mine := s.state.Synced, s.state.Generation
	writers := writersOf(append(slices.Clone(s.state.Asked), told))
	standing, err := s.Remote.State(ctx, s.Account, writers)
	restarted := errors.Is(err, ErrLost)
	if err != nil && !restarted {
		return standing, err
	}
	if gap := standing.At.Sub(s.Now()).Abs(); gap > quota.MaxClockGap {
		return standing, fmt.Errorf("%w: its clock says %s, this machine's %s: set them right", quota.ErrUnavailable,
			standing.At.Format(time.RFC3339), s.Now().UTC().Format(time.RFC3339))
	}
	r := Renewal{Account: s.Account, Pools: s.Pools, Was: standing.Generation, Next: max(standing.Generation, mine).next(), Horizon: s.Horizon}
	switch {
	case restarted:
	case standing.Generation == 0:
		r.First = s.Hosts <= 1 && mine == 0 && told.ID == 0 && !s.state.Owed && len(s.state.Snapshots) == 0
	case standing.Generation == s.lostIn:
	case standing.Generation == mine:
		forgot := told.ID != 0 && standing.Written[told.Writer] < told.Number && s.Now().Sub(told.At) < s.Horizon-quota.MaxClockGap
		if !forgot {
			return standing, nil
		}
	case standing.Generation.age() > mine.age():
		return standing, nil
	default: // an older copy of it came back, or two generations were begun at once
	}
	standing.Generation, err = s.Remote.Renew(ctx, r)
	if err == nil {
		s.lostIn = 0
	}
	return standing, err
}

// told delivers, and remembers where the remote has lost something.
func (s *Ledger) told(ctx context.Context, d Delivery) error {
	err := s.Remote.Deliver(ctx, d)
	if errors.Is(err, ErrLost) {
		s.lostIn, s.opened = d.Generation, false
	}
	return err
}
