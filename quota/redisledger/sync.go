package redisledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/internal/micros"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

const (
	// maxInline is how many entries a sync puts in place by its last step alone.
	maxInline  = 4096
	maxHosts   = 256  // that are listed, the newest
	stagedPage = 2000 // entries that one step stages
	// maxRounds bounds how often a sync begins again because somebody else has changed what it had read.
	maxRounds = 30
	noChange  = 1 << 52 // NONE in sync.lua
)

// errChanged says that the ledger was changed since it was read.
var errChanged = fmt.Errorf("%w: redis: somebody else changes it at the same time, again and again", quota.ErrUnavailable)

// Sync implements sharedledger.Remote. It reads what it changes page by page, plans the change here, stages a long
// log beside the one in use, page by page, and has sync.lua swap them: no step keeps the server for long, and all
// before the last can be given up at any time.
func (l *Ledger) Sync(ctx context.Context, d sharedledger.Batch) (now time.Time, err error) {
	if err := d.Check(); err != nil {
		return now, err
	}
	token := rand.Text()
	for range maxRounds {
		p := syncing{Ledger: l, Batch: d, token: token}
		if now, err = p.round(ctx); !errors.Is(err, errChanged) {
			break
		}
	}
	return now, err
}

// syncing is one round of a sync.
type syncing struct {
	*Ledger
	sharedledger.Batch

	token   string // of the keys where logs are staged
	state   accountState
	now     int64 // the clock, or the newest entry
	horizon int64
	writers []*writerState
	rows    []syncedRow
	fresh   int64 // writers that are new
	known   int64 // how many spenders there were before
	parts   []*part
	inline  int64    // entries that the last step puts in place
	fields  [3][]any // that change, what they were, and what they become
}

// writerState is what is known of a writer, and synced of it.
type writerState struct {
	name           string
	record         string // as it is now; "": none
	number         int64  // its last
	highest, nonce int64  // the last that is synced
	unused         bool   // that is to be taken back
	charged        int64  // when it was charged, if it is to be taken back
}

type syncedRow struct {
	sharedledger.Row

	seq    int // place in the sync
	writer *writerState
}

func (d *syncing) round(ctx context.Context) (time.Time, error) {
	d.collect()
	if err := d.read(ctx); err != nil {
		return time.Time{}, err
	}
	keys, args := d.keys(d.Account), []any{nil, metaField, serverField}
	var staged []string
	var plans, entries, late []any
	for i, p := range d.parts {
		c, err := d.change(ctx, p, i)
		if err != nil {
			return time.Time{}, err
		}
		keys, staged = append(keys, keys[0]+":"+p.pool), append(staged, d.stagedKey(i))
		args, plans, entries, late = append(args, poolField+p.pool), append(plans, c.plan), append(entries, c.entries), append(late, c.late)
	}
	args[0] = put7(nil, int64(d.Generation), d.known, d.state.spenders, d.fresh, d.now, quota.ClockGap(d.Grace).Microseconds())
	args = slices.Concat(args, plans, entries, late, d.fields[0], d.fields[1], d.fields[2])
	if d.horizon > d.state.horizon {
		if _, err := d.run(ctx, d.scripts.prolong, keys[:1], []any{metaField, d.horizon}); err != nil {
			return time.Time{}, err
		}
	}
	reply, err := d.run(ctx, d.own(d.Account, d.Generation).sync, append(keys, staged...), args)
	if err = d.classifyNoScript(ctx, d.Account, d.Generation, err); err != nil {
		return time.Time{}, err
	}
	if now, ok := reply.(int64); ok {
		return quota.FromMicros(now), nil
	}
	return time.Time{}, corrupt(keys, fmt.Sprintf("an answer of another shape: %T", reply))
}

// collect finds the writers, and drops rows whose number is not above their writer's last one.
func (d *syncing) collect() {
	places := map[string]*writerState{}
	for seq, r := range d.Rows {
		w := places[r.Writer]
		if w == nil {
			w = &writerState{name: r.Writer}
			places[r.Writer], d.writers = w, append(d.writers, w)
		}
		if r.Number > w.highest {
			w.highest, w.nonce, w.unused = r.Number, r.Nonce, r.State == sharedledger.RowUnused
			d.rows = append(d.rows, syncedRow{r, seq, w})
		}
	}
}

// read reads the fields of the state, and sorts what is synced by pool.
func (d *syncing) read(ctx context.Context) (err error) {
	pools, people := map[string]*part{}, map[string]int64{}
	for _, r := range d.rows {
		people[whoField(r.Who)] = 0
		for name, n := range r.Amounts {
			if n > 0 {
				pools[name] = &part{pool: name}
			}
		}
	}
	for _, u := range d.Snapshots {
		pools[u.Pool] = &part{pool: u.Pool}
	}
	fields := []string{hostsField}
	for _, w := range d.writers {
		fields = append(fields, writerPrefix+w.name)
	}
	spenders := slices.Sorted(maps.Keys(people))
	fields = append(fields, spenders...)
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		d.parts, fields = append(d.parts, pools[name]), append(fields, poolField+name, raisedPrefix+name)
	}
	if d.state, err = d.accountState(ctx, d.Account, fields); err != nil {
		return err
	}
	switch {
	case d.state.generation == 0:
		return fmt.Errorf("%w: redis: it has no generation", sharedledger.ErrLost)
	case d.state.generation != d.Generation:
		return fmt.Errorf("redis: %w", &sharedledger.GenerationError{Now: d.state.generation})
	case !d.state.here:
		return errMoved
	}
	d.now, d.known, d.horizon = d.state.now, d.state.spenders, max(d.state.horizon, micros.Of(d.Horizon))
	found := d.state.fields
	next := func() (s string) { s, found = found[0], found[1:]; return s }
	hosts := next()
	for _, w := range d.writers {
		d.write(w, next())
	}
	for _, field := range spenders {
		people[field] = d.spender(field, next())
	}
	for _, p := range d.parts {
		if columns := next(); len(columns) == poolSize {
			d.now = max(d.now, newestOf(columns, d.state.now))
		}
		p.raised = next()
	}
	for _, r := range d.rows {
		d.place(r, pools, people[whoField(r.Who)])
	}
	for _, u := range d.Snapshots {
		pools[u.Pool].snapshots = append(pools[u.Pool].snapshots, u)
	}
	return d.list(hosts)
}

// set plans a change of a field.
func (d *syncing) set(field, was string, becomes []byte) {
	d.fields[0], d.fields[1], d.fields[2] = append(d.fields[0], field), append(d.fields[1], was), append(d.fields[2], becomes)
}

// write plans the record of a writer that has written more, or whose last operation is taken back.
func (d *syncing) write(w *writerState, record string) {
	w.record = record
	if record != "" {
		r := newReader(record)
		number, nonce, answered, at := r.next(), r.next(), r.next(), r.next()
		w.number = number
		if w.unused && w.highest == number && w.nonce == nonce && answered == 1 {
			w.charged = at
		}
	}
	if w.highest > w.number || w.charged > 0 {
		d.set(writerPrefix+w.name, record, put7(nil, w.highest, w.nonce, 0, d.now))
		if record == "" {
			d.fresh++
		}
	}
}

// spender returns the id of a spender, who gets one if he has none.
func (d *syncing) spender(field, id string) int64 {
	switch {
	case len(id) == 2:
		return int64(binary.BigEndian.Uint16([]byte(id)))
	case id == "" && d.state.spenders < maxSpenders:
		d.state.spenders++
		d.set(field, "", binary.BigEndian.AppendUint16(nil, uint16(d.state.spenders)))
		return d.state.spenders
	}
	return 0 // nobody: the ids are used up
}

// place puts a row that is new and within the horizon, or to be taken back, among those of its pools. A row that
// snapshots count only from some time on is moved on by less than a step, so that its entry says that exactly.
func (d *syncing) place(r syncedRow, pools map[string]*part, who int64) {
	e := entry{at: min(max(r.At.UnixMicro(), 0), d.now), who: uint16(who)}
	switch {
	case r.State == sharedledger.RowVoid:
		return
	case r.State == sharedledger.RowUnused:
		if r.writer.charged == 0 || r.Number != r.writer.number {
			return
		}
		e.at = r.writer.charged
	case r.Number <= r.writer.number || d.now-e.at >= d.horizon:
		return
	case r.State == sharedledger.RowSynced:
		if since := r.FirstSynced(); !since.IsZero() && since.UnixMicro() >= e.at {
			if e.number = steps(since.UnixMicro() - e.at); e.number < 2*numbers-1 {
				e.at = since.UnixMicro() - int64(e.number-numbers)*lateStep
			}
		}
	case r.State != sharedledger.RowCharged:
		e.number, e.late = numbers, true
		e.at += (d.now - e.at) % lateStep
	}
	for name, n := range r.Amounts {
		if e.amount = n; n > 0 && r.State == sharedledger.RowUnused {
			pools[name].unused = append(pools[name].unused, e)
		} else if n > 0 {
			pools[name].rows = append(pools[name].rows, partRow{e, r.seq, r.Row})
		}
	}
}

// list plans the list of hosts with the one that syncs first.
func (d *syncing) list(was string) error {
	if d.Host == nil {
		return nil
	}
	list, err := packHost(*d.Host, d.now)
	if err != nil {
		return err
	}
	others, err := splitHosts(was)
	if err != nil {
		return corrupt(d.keys(d.Account), err.Error())
	}
	n := 1
	for _, h := range others {
		if h.id != d.Host.ID && n < maxHosts {
			list, n = append(list, h.packed...), n+1
		}
	}
	d.set(hostsField, was, list)
	return nil
}

// change is what becomes of the log of a pool, as sync.lua takes it.
type change struct{ plan, entries, late []byte }

// change plans what becomes of the log of the i-th pool, and stages it if it is long.
func (d *syncing) change(ctx context.Context, p *part, i int) (c change, err error) {
	drained, used := int64(0), int64(0)
	for _, u := range p.snapshots {
		if until, at := micros.PackDrain(u.Drain); until > max(drained, d.now) {
			drained, used = min(until, exact), min(at, exact)
		}
	}
	was := p.raised
	if p.younger(d.now, d.horizon); p.raised != was {
		d.set(raisedPrefix+p.pool, was, []byte(p.raised))
	}
	c.plan = put7(nil, 0, 0, 0, noChange, noChange, 0, drained, used)
	if len(p.rows)+len(p.unused)+len(p.snapshots) == 0 {
		return c, nil
	}
	slices.SortStableFunc(p.rows, func(a, b partRow) int { return cmp.Compare(a.at, b.at) })
	log := d.log(d.Account, p.pool)
	long, err := log.read(ctx, p.from(d.now), maxInline-d.inline-int64(len(p.rows)))
	if err == nil && long {
		_, err = log.read(ctx, max(d.now-d.horizon+1, 1), exact)
	}
	if err != nil {
		return c, err
	}
	base, before := readEntries(log.packed, log.total)
	entries, added, changed := p.apply(before, log.number, d.now)
	if !changed {
		return c, nil
	}
	packed, total := packEntries(entries, base)
	if total > exact {
		return c, corrupt(log.keys, "its sum would not be exact any more")
	}
	newest, grown, staged := int64(0), total-log.total, int64(0)
	for k, e := range entries {
		if newest = e.at; e.late {
			c.late = binary.BigEndian.AppendUint32(c.late, uint32(k+1))
		}
	}
	if c.entries = packed; long {
		c.entries = nil
		if staged, err = d.stage(ctx, d.stagedKey(i), packed, &log, grown); err != nil {
			return c, err
		}
	}
	d.inline += int64(len(c.entries) / entrySize)
	c.plan = append(put7(nil, log.pos, log.end, staged, grown+noChange, added, newest, drained, used), log.last...)
	return c, nil
}

func (d *syncing) stagedKey(i int) string {
	return fmt.Sprintf("%s~%s:%d", d.keys(d.Account)[0], d.token, i)
}

// stage puts the entries that are to be the log of a pool beside it, and behind them what takes have put there since,
// until that is little. It returns how many it staged.
func (d *syncing) stage(ctx context.Context, key string, packed []byte, log *logTail, grown int64) (staged int64, err error) {
	for {
		for len(packed) > 0 {
			page := packed[:min(len(packed), stagedPage*entrySize)]
			if _, err := d.run(ctx, d.scripts.stage, []string{key}, []any{staged, page}); err != nil {
				return 0, err
			}
			staged, packed = staged+int64(len(page)/entrySize), packed[len(page):]
		}
		more := *log
		if err := more.follow(ctx); err != nil || more.end-log.end <= stagedPage/2 {
			return staged, err
		}
		base, since := readEntries(more.packed, more.total)
		packed, _ = packEntries(since, base+grown)
		log.end, log.last = more.end, more.last
	}
}
