package redisledger

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

var _ sharedledger.Remote = (*Ledger)(nil)

// Further fields of an account's state; see lua/common.lua.
const (
	writerPrefix = "o"
	raisedPrefix = "r"
	hostsField   = "h"
	serverField  = "s"
)

// TakeOnce implements sharedledger.Remote.
func (l *Ledger) TakeOnce(ctx context.Context, a quota.Ask, op sharedledger.Operation) (quota.Decision, error) {
	if err := sharedledger.CheckAsk(a); err != nil {
		return quota.Decision{}, err
	}
	if err := op.Check(); err != nil {
		return quota.Decision{}, err
	}
	keys := l.keys(a.Account, pools(a)...)
	reply, err := l.draw(ctx, l.own(a.Account, op.Generation).once, keys, takeArgs(a, &op), micros.Horizon(a))
	err = l.classifyNoScript(ctx, a.Account, op.Generation, err)
	return l.decided(ctx, a, keys, reply, err)
}

// State implements sharedledger.Remote. For a server that was restarted or promoted since the generation began
// it returns ErrLost together with what that server knows, every time until Renew.
func (l *Ledger) State(ctx context.Context, account string, writers []string) (sharedledger.RemoteState, error) {
	if err := quota.CheckAccount(account); err != nil {
		return sharedledger.RemoteState{}, err
	}
	fields := []string{hostsField}
	for _, w := range writers {
		if err := sharedledger.CheckWriter(w); err != nil {
			return sharedledger.RemoteState{}, err
		}
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
	case !found.here:
		return s, errMoved
	}
	bounded, cancel := context.WithTimeout(ctx, l.timeout)
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

// errMoved says that the server was made a replica of another, and a master again, in place.
var errMoved = fmt.Errorf("%w: redis: it has taken its data from another server since", sharedledger.ErrLost)

// remoteState reads what the fields of the state say of hosts and writers.
func remoteState(found accountState, writers []string) (s sharedledger.RemoteState, err error) {
	s = sharedledger.RemoteState{At: quota.FromMicros(found.now), Generation: found.generation, Written: map[string]int64{}}
	if found.born > 0 {
		s.Born = quota.FromMicros(found.born)
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
	hosts, err := splitHosts(found.fields[0])
	for _, h := range hosts {
		var n named
		if err := json.Unmarshal([]byte(h.kept), &n); err != nil {
			return s, fmt.Errorf("field %s: %w", hostsField, err)
		}
		s.Hosts = append(s.Hosts, sharedledger.Host{ID: h.id, Name: n.Name, Regions: n.Regions, Knows: n.Knows, At: quota.FromMicros(h.at)})
	}
	return s, err
}

// named is what is kept of a host beside its id.
type named struct {
	Name    string   `json:"name"`
	Regions []string `json:"regions"`
	Knows   []string `json:"knows,omitempty"`
}

const hostHead = width + 2 + 4

// packedHost is one of the field h.
type packedHost struct {
	at               int64
	id, kept, packed string
}

// splitHosts reads the field h: of each host when it synced, the lengths of its id and of its JSON, then both.
func splitHosts(packed string) (hosts []packedHost, err error) {
	for packed != "" {
		if len(packed) < hostHead {
			return nil, fmt.Errorf("field %s is too short", hostsField)
		}
		at := newReader(packed[:width])
		id := hostHead + int(binary.BigEndian.Uint16([]byte(packed[width:])))
		end := id + int(binary.BigEndian.Uint32([]byte(packed[width+2:])))
		h := packedHost{at: at.next()}
		if at.err != nil || end < id || len(packed) < end {
			return nil, fmt.Errorf("field %s is not a list of hosts", hostsField)
		}
		h.id, h.kept, h.packed = packed[hostHead:id], packed[id:end], packed[:end]
		hosts, packed = append(hosts, h), packed[end:]
	}
	return hosts, nil
}

// packHost returns a host that synced at that time, as the field h has it.
func packHost(h sharedledger.Host, at int64) ([]byte, error) {
	kept, err := json.Marshal(named{h.Name, h.Regions, h.Knows})
	if err != nil {
		return nil, fmt.Errorf("write host %q: %w", h.ID, err)
	}
	b := put7(nil, at)
	b = binary.BigEndian.AppendUint16(b, uint16(len(h.ID)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(kept)))
	return append(append(b, h.ID...), kept...), nil
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
	args := []any{put7(nil, int64(r.Was), int64(r.Next), first, micros.Of(r.Horizon)), metaField, hostsField, serverField}
	for _, p := range r.Pools {
		args = append(args, poolField+p)
	}
	keys := l.keys(r.Account, r.Pools...)
	if err := l.installScripts(ctx, r.Account, r.Next); err != nil {
		return 0, err
	}
	reply, err := l.run(ctx, l.scripts.renew, keys, args)
	if err != nil {
		return 0, err
	}
	now, ok := reply.(int64)
	if !ok {
		return 0, corrupt(keys, fmt.Sprintf("an answer of another shape: %T", reply))
	}
	return sharedledger.Generation(now), nil
}

// installScripts gives the server the scripts that it has to know from the next generation on. It is done before that
// begins, so that nobody who meets it misses them; who asks before still misses those of the one that is over.
func (l *Ledger) installScripts(ctx context.Context, account string, g sharedledger.Generation) error {
	bounded, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	keys, own := l.keys(account), l.own(account, g)
	for _, s := range []script{own.once, own.sync} {
		if err := l.load(bounded, s, keys[0]); err != nil {
			return l.explain(ctx, err, keys)
		}
	}
	return nil
}

// classifyNoScript finds out, if the server does not know the scripts of g, whether that is a loss or another
// generation has begun, whose scripts it does know.
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

// own returns the scripts of an account's generation. A server that was the master before and is again still knows
// those of the generations that it saw begin, but not of this one.
func (l *Ledger) own(account string, g sharedledger.Generation) generationScripts {
	return l.scripts.of(fmt.Sprintf("%s %d", l.keys(account)[0], g))
}
