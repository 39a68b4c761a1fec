package redisledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var (
	_ sharedledger.Remote  = (*Ledger)(nil)
	_ sharedledger.Resumer = (*Ledger)(nil)
)

// Further fields of an account's state; see lua/common.lua.
const (
	writerPrefix = "o"
	raisedPrefix = "r"
	hostsField   = "h"
	serverField  = "s"
)

// State implements sharedledger.Remote. If the server was promoted since the generation began, State returns ErrLost
// and the remaining data until Renew; if the server was restarted, ErrRestarted until Resume or Renew.
func (l *Ledger) State(ctx context.Context, account string, writers []string) (sharedledger.RemoteState, error) {
	if err := sharedledger.CheckState(account, writers); err != nil {
		return sharedledger.RemoteState{}, err
	}
	fields := []string{hostsField}
	for _, w := range writers {
		fields = append(fields, writerPrefix+w)
	}
	keys := l.keys(account)
	found, err := l.accountState(ctx, account, fields)
	if err != nil {
		return sharedledger.RemoteState{}, err
	}
	s, err := remoteState(found, writers)
	if err != nil {
		return sharedledger.RemoteState{}, corrupt(keys, err.Error())
	}
	switch {
	case s.Generation == 0:
		return s, nil
	case found.restarted:
		return s, errReloaded
	case !found.here:
		return s, errMoved
	}
	bounded, cancel := context.WithTimeout(ctx, l.bound())
	defer cancel()
	known, err := l.known(bounded, l.own(account, s.Generation).once, keys[0])
	if err != nil {
		return sharedledger.RemoteState{}, l.explain(ctx, err, keys)
	}
	if !known {
		return s, errRestarted
	}
	return s, nil
}

// errMoved means that the server was turned into a replica and back.
var errMoved = fmt.Errorf("%w: redis: the server was meanwhile a replica", sharedledger.ErrLost)

// errReloaded means that the server was restarted and has read its own data.
var errReloaded = fmt.Errorf("%w, and has read its data", sharedledger.ErrRestarted)

// Resume implements sharedledger.Resumer.
func (l *Ledger) Resume(ctx context.Context, account string, g sharedledger.Generation) error {
	if err := sharedledger.CheckState(account, nil); err != nil {
		return err
	}
	if err := l.installScripts(ctx, account, g); err != nil {
		return err
	}
	_, err := l.run(ctx, l.scripts["resume"], l.keys(account), []any{put7(nil, int64(g)), serverField})
	return err
}

// remoteState reads the fields of hosts and writers.
func remoteState(found accountState, writers []string) (s sharedledger.RemoteState, err error) {
	s = sharedledger.RemoteState{At: protocol.Time(found.now), Generation: found.generation, Written: map[string]int64{}}
	if found.born > 0 {
		s.Born = protocol.Time(found.born)
	}
	for i, w := range writers {
		if record := found.fields[1+i]; record != "" {
			r := newReader(record)
			s.Written[w], err = r.next(), r.err
			if err != nil {
				return s, fmt.Errorf("writer %s: %w", w, err)
			}
		}
	}
	s.Hosts, err = readHosts(found.fields[0])
	return s, err
}

func readHosts(field string) (hosts []sharedledger.Host, err error) {
	if field == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(field), &hosts); err != nil {
		return nil, fmt.Errorf("field %s: %w", hostsField, err)
	}
	return hosts, nil
}

// Renew implements sharedledger.Remote.
func (l *Ledger) Renew(ctx context.Context, r sharedledger.Renewal) (sharedledger.Generation, error) {
	if err := r.Check(); err != nil {
		return 0, err
	}
	first := int64(0)
	if r.First {
		first = 1
	}
	args := []any{put7(nil, int64(r.Was), int64(r.Next), first, micros.Of(r.Horizon)), hostsField, serverField}
	keys := l.keys(r.Account, r.Pools...)
	if err := l.installScripts(ctx, r.Account, r.Next); err != nil {
		return 0, err
	}
	reply, err := l.run(ctx, l.scripts["renew"], keys, args)
	if err != nil {
		return 0, err
	}
	now, ok := reply.(int64)
	if !ok {
		return 0, corrupt(keys, fmt.Sprintf("an answer of another shape: %T", reply))
	}
	return sharedledger.Generation(now), nil
}

// installScripts loads a generation's scripts before it begins, so that every host that sees it has them.
func (l *Ledger) installScripts(ctx context.Context, account string, g sharedledger.Generation) error {
	bounded, cancel := context.WithTimeout(ctx, l.bound())
	defer cancel()
	keys, own := l.keys(account), l.own(account, g)
	for _, s := range []script{own.once, own.sync} {
		if err := l.load(bounded, s, keys[0]); err != nil {
			return l.explain(ctx, err, keys)
		}
	}
	return nil
}

// classifyNoScript finds out whether a server without the scripts of g has lost them, or another generation has begun.
func (l *Ledger) classifyNoScript(ctx context.Context, account string, g sharedledger.Generation, err error) error {
	if !errors.Is(err, errRestarted) {
		return err
	}
	s, serr := l.State(ctx, account, nil)
	switch {
	case serr != nil:
		return serr
	case s.Generation != 0 && s.Generation != g:
		return fmt.Errorf("redis: %w", &sharedledger.GenerationError{Now: s.Generation})
	}
	return err
}
