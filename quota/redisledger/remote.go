package redisledger

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var _ sharedledger.Remote = (*Ledger)(nil)

// Further fields of an account's state; see lua/common.lua.
const (
	writerPrefix = "o"
	raisedPrefix = "r"
	hostsField   = "h"
)

// TakeOnce implements sharedledger.Remote.
func (l *Ledger) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	if err := check(a); err != nil {
		return quota.Decision{}, err
	}
	if err := checkOperation(op); err != nil {
		return quota.Decision{}, err
	}
	keys := l.keys(a.Account, pools(a)...)
	reply, err := l.witness(ctx, l.own(a.Account, op.Generation).once, keys, takeArgs(a, &op))
	err = l.sure(ctx, a.Account, op.Generation, err)
	return decided(a, keys, reply, err)
}

func checkOperation(op sharedledger.Operation) error {
	if err := checkWriter(op.Writer); err != nil {
		return err
	}
	switch most := int64(sharedledger.MaxGeneration); {
	case op.Generation < 0 || op.Generation > sharedledger.MaxGeneration,
		op.Number < 1 || op.Number > most, op.Nonce < 1 || op.Nonce > most, op.Written < 0 || op.Written > most:
		return fmt.Errorf("%w: operation %+v", quota.ErrUnknown, op)
	}
	return nil
}

func checkWriter(s string) error {
	ok := len(s) >= 1 && len(s) <= 32
	for _, r := range s {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	}
	if !ok {
		return fmt.Errorf("%w: writer %q: 1 to 32 letters and digits", quota.ErrUnknown, s)
	}
	return nil
}

// State implements sharedledger.Remote. With ErrLost for a server that was started anew, or promoted,
// since the generation began, it returns all the same what that knows; until Renew it says so every
// time.
func (l *Ledger) State(ctx context.Context, account string, writers []string) (sharedledger.RemoteState, error) {
	if err := quota.CheckAccount(account); err != nil {
		return sharedledger.RemoteState{}, err
	}
	args := []any{metaField, hostsField}
	for _, w := range writers {
		if err := checkWriter(w); err != nil {
			return sharedledger.RemoteState{}, err
		}
		args = append(args, writerPrefix+w)
	}
	keys := l.keys(account)
	reply, err := l.run(ctx, l.scripts.standing, keys, args)
	if err != nil {
		return sharedledger.RemoteState{}, err
	}
	s, err := readStanding(reply, writers)
	if err != nil {
		return sharedledger.RemoteState{}, corrupt(keys, err.Error())
	}
	if s.Generation == 0 {
		return s, nil
	}
	bounded, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	known, err := l.known(bounded, l.own(account, s.Generation).once, keys[0])
	if err != nil {
		return sharedledger.RemoteState{}, l.explain(ctx, err, keys)
	}
	if !known {
		return s, errAnew
	}
	return s, nil
}

// readStanding reads the answer of standing.lua, asked about writers.
func readStanding(reply any, writers []string) (sharedledger.RemoteState, error) {
	parts, ok := reply.([]any)
	if !ok || len(parts) != 2 {
		return sharedledger.RemoteState{}, fmt.Errorf("an answer of another shape: %T", reply)
	}
	r := newReader(parts[0])
	s := sharedledger.RemoteState{At: quota.FromMicros(r.next()), Generation: sharedledger.Generation(r.next()), Written: map[string]int64{}}
	if born := r.next(); born > 0 {
		s.Born = quota.FromMicros(born)
	}
	for _, w := range writers {
		if number := r.next(); number > 0 {
			s.Written[w] = number
		}
	}
	if err := r.done(); err != nil {
		return sharedledger.RemoteState{}, err
	}
	hosts, _ := parts[1].(string)
	var err error
	s.Hosts, err = readHosts(hosts)
	return s, err
}

// named is what is kept of a host beside its id.
type named struct {
	Name    string   `json:"name"`
	Regions []string `json:"regions"`
}

const hostHead = width + 2 + 4

// readHosts reads the field h: of each host when it delivered, the lengths of its id and of the JSON
// behind it, and both.
func readHosts(packed string) ([]sharedledger.Host, error) {
	var hosts []sharedledger.Host
	for packed != "" {
		if len(packed) < hostHead {
			return nil, fmt.Errorf("field %s is too short", hostsField)
		}
		at := newReader(packed[:width])
		id, kept := int(binary.BigEndian.Uint16([]byte(packed[width:]))), int(binary.BigEndian.Uint32([]byte(packed[width+2:])))
		host := sharedledger.Host{At: quota.FromMicros(at.next())}
		packed = packed[hostHead:]
		if at.err != nil || kept < 0 || len(packed) < id+kept {
			return nil, fmt.Errorf("field %s is not a list of hosts", hostsField)
		}
		var n named
		if err := json.Unmarshal([]byte(packed[id:id+kept]), &n); err != nil {
			return nil, fmt.Errorf("field %s: %w", hostsField, err)
		}
		host.ID, host.Name, host.Regions = packed[:id], n.Name, n.Regions
		hosts, packed = append(hosts, host), packed[id+kept:]
	}
	return hosts, nil
}

// packHost is what deliver.lua gets of a host, which it stamps itself.
func packHost(h *sharedledger.Host) ([]byte, error) {
	if h == nil {
		return make([]byte, hostHead), nil
	}
	kept, err := json.Marshal(named{h.Name, h.Regions})
	if err != nil || h.ID == "" || len(h.ID) > 64 || len(kept) > math.MaxUint16 {
		return nil, fmt.Errorf("%w: host %q, %d bytes: %w", quota.ErrUnknown, h.ID, len(kept), err)
	}
	b := put7(nil, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(h.ID)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(kept)))
	return append(append(b, h.ID...), kept...), nil
}

// Renew implements sharedledger.Remote.
func (l *Ledger) Renew(ctx context.Context, r sharedledger.Renewal) (sharedledger.Generation, error) {
	if err := checkRenewal(r); err != nil {
		return 0, err
	}
	first := int64(0)
	if r.First {
		first = 1
	}
	args := []any{put7(nil, int64(r.Was), int64(r.Next), first, micros(r.Horizon)), metaField, hostsField}
	for _, p := range r.Pools {
		args = append(args, poolField+p)
	}
	keys := l.keys(r.Account, r.Pools...)
	reply, err := l.run(ctx, l.scripts.renew, keys, args)
	if err != nil {
		return 0, err
	}
	parts, _ := reply.([]any)
	if len(parts) != 2 {
		return 0, corrupt(keys, fmt.Sprintf("an answer of another shape: %T", reply))
	}
	now, _ := parts[0].(int64)
	if parts[1] == int64(1) {
		err = l.testify(ctx, r.Account, r.Next)
	}
	return sharedledger.Generation(now), err
}

func checkRenewal(r sharedledger.Renewal) error {
	if err := quota.CheckAccount(r.Account); err != nil {
		return err
	}
	if r.Was < 0 || r.Was > sharedledger.MaxGeneration || r.Next < 1 || r.Next > sharedledger.MaxGeneration || r.Next == r.Was ||
		r.Horizon < 0 || r.Horizon > maxHorizon || len(r.Pools) > maxPools {
		return fmt.Errorf("%w: renewal %+v", quota.ErrUnknown, r)
	}
	for _, p := range r.Pools {
		if p == "" {
			return fmt.Errorf("%w: renewal of a pool without a name", quota.ErrUnknown)
		}
	}
	return nil
}

// testify gives the server the scripts that it has to know from now on. Only after a renewal, so that
// nobody who comes between a loss and the next generation is spared the sign of it.
func (l *Ledger) testify(ctx context.Context, account string, g sharedledger.Generation) error {
	bounded, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	keys, own := l.keys(account), l.own(account, g)
	for _, s := range []script{own.once, own.deliver} {
		if err := l.load(bounded, s, keys[0]); err != nil {
			return l.explain(ctx, err, keys)
		}
	}
	return nil
}

// sure says, where the server does not know the scripts of g, whether it is another generation that it
// knows well.
func (l *Ledger) sure(ctx context.Context, account string, g sharedledger.Generation, err error) error {
	if !errors.Is(err, errAnew) {
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

// own are the scripts of an account's own, and of the generation's: a server that was the master before
// and is again still knows those of the generations that it saw begin, but not of this one.
func (l *Ledger) own(account string, g sharedledger.Generation) witnesses {
	return l.scripts.of(fmt.Sprintf("%s %d", l.keys(account)[0], g))
}
