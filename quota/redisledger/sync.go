package redisledger

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/internal/protocol"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

const (
	// maxInline is how many entries the last step of a sync may insert itself.
	maxInline  = 4096
	stagedPage = 2000 // entries staged per step
	// maxRounds is how often a sync begins again because another writer changed the data it had read.
	maxRounds = 30
	noChange  = 1 << 52 // NONE in sync.lua
)

// errChanged means that the ledger was changed since it was read.
var errChanged = fmt.Errorf("%w: redis: other writers keep changing it at the same time",
	quota.ErrUnavailable)

// Sync implements sharedledger.Remote. It reads the concerned logs page by page, applies Batch.Plan, stages a long new
// log page by page beside the old one, and lets sync.lua swap them. No step blocks the server for long, and all before
// the last can be abandoned.
func (l *Ledger) Sync(ctx context.Context, b sharedledger.Batch) (now time.Time, err error) {
	if err := b.Check(); err != nil {
		return now, err
	}
	token := rand.Text()
	for range maxRounds {
		s := syncing{Ledger: l, Batch: b, token: token}
		if now, err = s.round(ctx); !errors.Is(err, errChanged) {
			break
		}
	}
	return now, err
}

// syncing is one round of a sync.
type syncing struct {
	*Ledger
	sharedledger.Batch

	token    string // in the keys of staged logs
	state    accountState
	facts    sharedledger.RemoteFacts
	found    map[string]string // the present values of the fields in the batch
	ids      map[quota.Who]uint16
	names    map[uint16]quota.Who
	spenders int64       // the new number
	inline   int64       // entries that the last step inserts
	fields   fieldChange // in the state
}

// fieldChange lists the changed fields with their old and new values.
type fieldChange struct{ names, were, become []any }

func (s *syncing) set(name string, becomes []byte) {
	f := &s.fields
	f.names, f.were, f.become = append(f.names, name), append(f.were, s.found[name]), append(f.become, becomes)
}

func (s *syncing) round(ctx context.Context) (time.Time, error) {
	if err := s.read(ctx); err != nil {
		return time.Time{}, err
	}
	plan := s.Plan(s.facts)
	fresh := s.keepWriters(plan)
	if err := s.list(); err != nil {
		return time.Time{}, err
	}
	keys := s.keys(s.Account)
	var staged []string
	var pools, plans, late, entries []any
	for i := range plan.Pools {
		p := &plan.Pools[i]
		c, err := s.change(ctx, p, i)
		if err != nil {
			return time.Time{}, err
		}
		keys, staged, pools = append(keys, keys[0]+":"+p.Pool), append(staged, s.stagedKey(i)),
			append(pools, poolField+p.Pool)
		plans, late = append(plans, c.plan), append(late, c.late)
		for _, e := range c.entries {
			entries = append(entries, e)
		}
	}
	head := put7(nil, int64(s.Generation), s.facts.Horizon, s.state.spenders, s.spenders, fresh,
		quota.Ask{Gap: s.Gap}.ClockGap().Microseconds(), int64(len(s.fields.names)))
	args := slices.Concat([]any{head, metaField, serverField}, pools, plans, late, s.fields.names,
		s.fields.were, s.fields.become, entries)
	reply, err := s.run(ctx, s.own(s.Account, s.Generation).sync, append(keys, staged...), args)
	if err = s.classifyNoScript(ctx, s.Account, s.Generation, err); err != nil {
		return time.Time{}, err
	}
	if now, ok := reply.(int64); ok {
		return protocol.Time(now), nil
	}
	return time.Time{}, corrupt(keys, fmt.Sprintf("an answer of another shape: %T", reply))
}

// read reads the state's fields that the batch concerns, and the facts for a plan.
func (s *syncing) read(ctx context.Context) (err error) {
	s.facts.Writers, s.facts.Raised = map[string]sharedledger.WriterState{}, map[string][]sharedledger.Raised{}
	s.found, s.ids, s.names = map[string]string{}, map[quota.Who]uint16{},
		map[uint16]quota.Who{unattributedID: sharedledger.Unattributed}
	fields := map[string]func(value string) error{hostsField: nil}
	for _, r := range s.Rows {
		fields[writerPrefix+r.Writer] = func(value string) error { return s.readWriter(r.Writer, value) }
		fields[whoField(r.Who)] = func(value string) error {
			if len(value) == 2 {
				s.know(r.Who, binary.BigEndian.Uint16([]byte(value)))
			}
			return nil
		}
		for pool := range r.Amounts {
			s.readsPool(fields, pool)
		}
	}
	for _, u := range s.Snapshots {
		s.readsPool(fields, u.Pool)
	}
	names := slices.Collect(maps.Keys(fields))
	if s.state, err = s.accountState(ctx, s.Account, names); err != nil {
		return err
	}
	switch {
	case s.state.generation == 0:
		return fmt.Errorf("%w: redis: it has no generation", sharedledger.ErrLost)
	case s.state.generation != s.Generation:
		return fmt.Errorf("redis: %w", &sharedledger.GenerationError{Now: s.state.generation})
	case s.state.restarted:
		return errReloaded
	case !s.state.here:
		return errMoved
	}
	s.facts.Now, s.facts.Horizon, s.spenders = s.state.now, max(s.state.horizon, micros.Of(s.Horizon)), s.state.spenders
	for i, name := range names {
		value := s.state.fields[i]
		if read := fields[name]; read != nil && value != "" {
			if err := read(value); err != nil {
				return corrupt(s.keys(s.Account), fmt.Sprintf("field %s: %v", name, err))
			}
		}
		s.found[name] = value
	}
	return nil
}

// readsPool adds a pool's fields to the fields to read.
func (s *syncing) readsPool(fields map[string]func(string) error, pool string) {
	fields[poolField+pool] = func(value string) error {
		if len(value) == poolSize {
			s.facts.Now = max(s.facts.Now, newReader(value[13:20]).next()) // of the newest entry
		}
		return nil
	}
	fields[raisedPrefix+pool] = func(value string) error {
		var raised []sharedledger.Raised
		err := json.Unmarshal([]byte(value), &raised)
		s.facts.Raised[pool] = raised
		return err
	}
}

func (s *syncing) readWriter(name, value string) error {
	r := newReader(value)
	w := sharedledger.WriterState{Number: r.next(), Nonce: r.next()}
	if answered, at := r.next(), r.next(); answered == 1 {
		w.Charged = at
	}
	s.facts.Writers[name] = w
	return r.err
}

func (s *syncing) know(who quota.Who, id uint16) { s.ids[who], s.names[id] = id, who }

// spender returns the id of a spender, a new one if needed.
func (s *syncing) spender(who quota.Who) uint16 {
	id, known := s.ids[who]
	switch {
	case who == sharedledger.Unattributed:
		return unattributedID
	case known:
		return id
	case s.spenders == maxSpenders:
		return nobodyID // the ids are used up
	}
	s.spenders++
	s.know(who, uint16(s.spenders))
	s.set(whoField(who), binary.BigEndian.AppendUint16(nil, uint16(s.spenders)))
	return uint16(s.spenders)
}

// keepWriters adds the changed writers to the fields, and returns how many are new.
func (s *syncing) keepWriters(p sharedledger.Plan) (fresh int64) {
	for _, name := range slices.Sorted(maps.Keys(p.Writers)) {
		w, field := p.Writers[name], writerPrefix+name
		s.set(field, put7(nil, w.Number, w.Nonce, 0, s.facts.Now))
		if s.found[field] == "" {
			fresh++
		}
	}
	return fresh
}

// list puts the syncing host first in the list of hosts.
func (s *syncing) list() error {
	if s.Host == nil {
		return nil
	}
	others, err := readHosts(s.found[hostsField])
	if err != nil {
		return corrupt(s.keys(s.Account), err.Error())
	}
	list, err := json.Marshal(s.Listed(others, s.facts.Now))
	if err != nil {
		return fmt.Errorf("write the hosts: %w", err)
	}
	s.set(hostsField, list)
	return nil
}

// change is the change of a pool's log in the form of sync.lua.
type change struct {
	plan, late []byte
	entries    []string // not staged
}

// change plans the change of the i-th pool's log, and stages it if it is long.
func (s *syncing) change(ctx context.Context, p *sharedledger.PoolPlan, i int) (c change, err error) {
	drain := append([]int64{p.Lifted}, micros.PutDrain(p.Drain)...)
	if p.Marked {
		raised, err := json.Marshal(p.Raised)
		if err != nil {
			return c, fmt.Errorf("write the snapshots of pool %s: %w", p.Pool, err)
		}
		s.set(raisedPrefix+p.Pool, raised)
	}
	c.plan = put7(put7(nil, 0, 0, 0, 0, noChange, noChange, 0), drain...)
	if p.Idle() {
		return c, nil
	}
	log := s.log(s.Account, p.Pool)
	long, err := log.read(ctx, p.From(), maxInline-s.inline-int64(p.Rows()))
	if err == nil && long {
		_, err = log.read(ctx, max(s.facts.Now-s.facts.Horizon+1, 1), exact)
	}
	if err != nil {
		return c, err
	}
	base, before, err := readEntries(log.entries, log.total, s.names)
	if err != nil {
		return c, corrupt(log.keys, err.Error())
	}
	entries, changed := p.Apply(before)
	if !changed {
		return c, nil
	}
	packed, total, added := s.pack(entries, &log, base, &c.late)
	if total > exact {
		return c, corrupt(log.keys, "its sum would not be exact any more")
	}
	newest, grown, staged := int64(0), total-log.total, int64(0)
	if n := len(entries); n > 0 {
		newest = entries[n-1].At
	}
	if c.entries = packed; long {
		c.entries = nil
		if staged, err = s.stage(ctx, s.stagedKey(i), packed, &log, grown); err != nil {
			return c, err
		}
	}
	here := int64(len(c.entries))
	s.inline += here
	c.plan = append(put7(put7(nil, log.pos, log.end, staged, here, grown+noChange, added, newest), drain...), log.last...)
	return c, nil
}

// pack packs entries, with base as the sum before them. It returns the sum after them and how many are new, and
// appends to late the places of entries synced now, whose time only the last step knows.
func (s *syncing) pack(entries []sharedledger.Entry, log *logTail, base int64,
	late *[]byte) (packed []string, total, added int64) {
	packed = make([]string, len(entries))
	for k, e := range entries {
		if e.Ref > 0 {
			packed[k] = repack(log.entries[e.Ref-1], e.At, base)
		} else {
			added++
			packed[k] = packEntry(e, base, log.number+added, s.spender(e.Who))
			if e.Synced == s.facts.Now {
				*late = binary.BigEndian.AppendUint32(*late, uint32(k+1))
			}
		}
		base += e.Amount
	}
	return packed, base, added
}

func (s *syncing) stagedKey(i int) string {
	return fmt.Sprintf("%s~%s:%d", s.keys(s.Account)[0], s.token, i)
}

// stage writes a pool's new log beside the old one, then the entries that takes have added meanwhile, until few are
// left. It returns how many it staged.
func (s *syncing) stage(ctx context.Context, key string, packed []string, log *logTail,
	grown int64) (staged int64, err error) {
	for {
		for page := range slices.Chunk(packed, stagedPage) {
			args := []any{staged}
			for _, e := range page {
				args = append(args, e)
			}
			if _, err := s.run(ctx, s.scripts["stage"], []string{key}, args); err != nil {
				return 0, err
			}
			staged += int64(len(page))
		}
		more := *log
		if err := more.follow(ctx); err != nil || more.end-log.end <= stagedPage/2 {
			return staged, err
		}
		base, since, err := readEntries(more.entries, more.total, nil)
		if err != nil {
			return 0, corrupt(log.keys, err.Error())
		}
		packed = packed[:0]
		for k, e := range since {
			packed = append(packed, repack(more.entries[k], e.At, base+grown))
			base += e.Amount
		}
		log.end, log.last = more.end, more.last
	}
}
