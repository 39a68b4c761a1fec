package quota

import (
	"context"
	"errors"
)

// Generations are ordered by their age, so that a copy of the remote that was made under an earlier one
// is told from a new one; what is below the age is random.
const ageBits = 28

func (g Generation) age() Generation { return g >> ageBits }

func (g Generation) next() Generation {
	return (g.age()+1)<<ageBits | Generation(random())&(1<<ageBits-1)
}

// stand is what the remote knows, under a new generation where there is none or something was lost: where
// it says so, where it has not the newest that it was told, and where its generation is of the past.
func (s *Shared) stand(ctx context.Context, lost bool) (Standing, error) {
	told, mine := s.state.Told, s.state.Generation
	standing, err := s.Remote.Standing(ctx, s.Account, writersOf(append(s.state.Asked, told)))
	if err != nil && !errors.Is(err, ErrLost) {
		return standing, err
	}
	r := Renewal{Account: s.Account, Pools: s.Pools, Was: standing.Generation, Next: max(standing.Generation, mine).next(), Horizon: s.Horizon}
	switch {
	case err != nil: // it was started anew, and does not say which generation that ended
		r.Was = mine
		now, err := s.Remote.Renew(ctx, r)
		if err != nil || now == r.Next {
			return Standing{Generation: now}, err
		}
		r.Was, r.Next = now, max(now, r.Next).next()
	case s.restarted:
	case standing.Generation == 0:
		r.First = mine == 0 && told.ID == 0 && !s.state.Owed && len(s.state.Looks) == 0
	case standing.Generation == mine:
		forgot := told.ID != 0 && standing.Written[told.Writer] < told.Number && s.Now().Sub(told.At) < s.Horizon-MaxClockGap
		if !lost && !forgot {
			return standing, nil
		}
	case standing.Generation.age() > mine.age():
		return standing, nil
	default: // an older copy of it came back, or two generations were begun at once
	}
	s.restarted = false
	now, err := s.Remote.Renew(ctx, r)
	return Standing{Generation: now}, err
}
