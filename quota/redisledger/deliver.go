package redisledger

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// maxPools is how many a delivery or a renewal may name.
const maxPools = 256

// Deliver implements sharedledger.Remote.
func (l *Ledger) Deliver(ctx context.Context, d sharedledger.Delivery) (time.Time, error) {
	p, err := pack(d)
	if err != nil {
		return time.Time{}, err
	}
	keys := l.keys(d.Account, p.pools...)
	reply, err := l.run(ctx, l.own(d.Account, d.Generation).deliver, keys, p.args)
	if err = l.classifyNoScript(ctx, d.Account, d.Generation, err); err != nil {
		return time.Time{}, err
	}
	now, ok := reply.(int64)
	if !ok {
		return time.Time{}, corrupt(keys, fmt.Sprintf("an answer of another shape: %T", reply))
	}
	return quota.FromMicros(now), nil
}

// parcel is a delivery as deliver.lua takes it.
type parcel struct {
	pools []string
	args  []any
}

// amount is one row's part in one pool.
type amount struct {
	at, amount  int64
	who, writer int // places among those named, from 1
	number      int64
	seq         int // place in the delivery
	kind        byte
	life        int // place among the lives, from 1; 0: none
}

// pack sorts a delivery by pool and time.
func pack(d sharedledger.Delivery) (parcel, error) {
	if err := checkDelivery(d); err != nil {
		return parcel{}, err
	}
	host, err := packHost(d.Host)
	if err != nil {
		return parcel{}, err
	}
	p := packer{}
	for seq, r := range d.Rows {
		p.add(seq, r)
	}
	for _, k := range d.Snapshots {
		p.snapshots[p.pool(k.Pool)] += packSnapshot(k)
	}
	if len(p.byPool) > maxPools {
		return parcel{}, fmt.Errorf("%w: a delivery of %d pools: at most %d", quota.ErrUnknown, len(p.byPool), maxPools)
	}
	return p.parcel(d, host), nil
}

// packer collects a delivery by pool.
type packer struct {
	pools, spenders, writers, lives names
	byPool                          [][]amount
	snapshots                       []string // packed, by pool
	highest, nonces, unused         []int64  // the last operation of each writer, and whether it is to be taken back
}

// pool is a pool's index.
func (p *packer) pool(name string) int {
	i := p.pools.place(name)
	if i > len(p.byPool) {
		p.byPool, p.snapshots = append(p.byPool, nil), append(p.snapshots, "")
	}
	return i - 1
}

// add takes a row in, unless its number is not above its writer's last one: then it was delivered before.
func (p *packer) add(seq int, r sharedledger.Row) {
	w := p.writers.place(r.Writer)
	if w > len(p.highest) {
		p.highest, p.nonces, p.unused = append(p.highest, 0), append(p.nonces, 0), append(p.unused, 0)
	}
	if r.Number <= p.highest[w-1] {
		return
	}
	p.highest[w-1], p.nonces[w-1], p.unused[w-1] = r.Number, r.Nonce, 0
	if r.State == sharedledger.RowUnused {
		p.unused[w-1] = 1
	}
	life := 0
	if r.State == sharedledger.RowDelivered {
		life = p.lives.place(packLife(r))
	}
	if r.State == sharedledger.RowVoid {
		return
	}
	who := p.spenders.place(whoField(r.Who))
	for name, n := range r.Amounts {
		if i := p.pool(name); n > 0 {
			p.byPool[i] = append(p.byPool[i], amount{min(max(r.At.UnixMicro(), 0), exact), n, who, w, r.Number, seq, kinds[r.State], life})
		}
	}
}

// parcel is what was collected, in the order of deliver.lua's arguments.
func (p *packer) parcel(d sharedledger.Delivery, host any) parcel {
	last := make([]byte, 0, 3*width*len(p.highest))
	for i := range p.highest {
		last = put7(last, p.highest[i], p.nonces[i], p.unused[i])
	}
	args := []any{put7(nil, int64(d.Generation), micros(d.Horizon), int64(len(p.spenders.all)), int64(len(p.writers.all))), last, host, strings.Join(p.lives.all, "")}
	for _, rows := range p.byPool {
		slices.SortStableFunc(rows, func(a, b amount) int { return cmp.Compare(a.at, b.at) })
		args = append(args, packRows(rows))
	}
	for _, k := range p.snapshots {
		args = append(args, k)
	}
	args = append(args, metaField, hostsField, serverField)
	for _, prefix := range []string{poolField, raisedPrefix} {
		for _, name := range p.pools.all {
			args = append(args, prefix+name)
		}
	}
	for _, field := range p.spenders.all {
		args = append(args, field)
	}
	for _, w := range p.writers.all {
		args = append(args, writerPrefix+w)
	}
	return parcel{p.pools.all, args}
}

// kinds say what is done with a row, and which snapshots can have counted it: see deliver.lua.
var kinds = map[sharedledger.RowState]byte{
	sharedledger.RowCharged: 1, sharedledger.RowAsked: 2, sharedledger.RowOwed: 2, sharedledger.RowDelivered: 3, sharedledger.RowUnused: 4,
}

// packLife is what was told of a row before. Few rows have one of their own.
func packLife(r sharedledger.Row) string {
	told := r.Told
	if len(told) == 0 {
		told = []sharedledger.Telling{{}}
	}
	told = told[max(0, len(told)-math.MaxUint8):]
	b := []byte{byte(len(told))}
	for _, t := range told {
		since := int64(0)
		if !t.Since.IsZero() {
			since = min(max(t.Since.UnixMicro(), 0), exact)
		}
		b = put7(b, since, int64(t.Until))
	}
	return string(b)
}

func packRows(rows []amount) []byte {
	b := make([]byte, 0, 30*len(rows))
	for _, r := range rows {
		b = put7(b, r.at, r.amount)
		b = binary.BigEndian.AppendUint16(b, uint16(r.who))
		b = binary.BigEndian.AppendUint16(b, uint16(r.writer))
		b = binary.BigEndian.AppendUint16(put7(b, r.number), uint16(r.seq))
		b = binary.BigEndian.AppendUint16(append(b, r.kind), uint16(r.life))
	}
	return b
}

func packSnapshot(k sharedledger.UsageSnapshot) string {
	until := int64(0)
	if !k.DrainedUntil.IsZero() {
		until = min(max(k.DrainedUntil.UnixMicro(), 0), exact)
	}
	b := put7(nil, int64(k.Generation), min(max(k.At.UnixMicro(), 0), exact), until, min(k.DrainedUsed, exact))
	b = append(b, byte(len(k.Windows)))
	for _, w := range k.Windows {
		b = put7(b, min(max(w.Start.UnixMicro(), 0), exact), w.Used)
	}
	return string(b)
}

func checkDelivery(d sharedledger.Delivery) error {
	if err := quota.CheckAccount(d.Account); err != nil {
		return err
	}
	if len(d.Rows) > sharedledger.MaxRows || d.Generation < 0 || d.Generation > sharedledger.MaxGeneration || d.Horizon < 0 || d.Horizon > maxHorizon {
		return fmt.Errorf("%w: a delivery of %d rows in generation %d for %v", quota.ErrUnknown, len(d.Rows), d.Generation, d.Horizon)
	}
	for _, r := range d.Rows {
		if err := checkWriter(r.Writer); err != nil {
			return err
		}
		if highest := int64(sharedledger.MaxGeneration); r.Number < 1 || r.Number > highest || r.Nonce < 0 || r.Nonce > highest {
			return fmt.Errorf("%w: row %d of writer %s with nonce %d", quota.ErrUnknown, r.Number, r.Writer, r.Nonce)
		}
		for pool, n := range r.Amounts {
			if pool == "" || n < 0 || n > quota.MaxLimit {
				return fmt.Errorf("%w: row %d of writer %s: %d of pool %q", quota.ErrUnknown, r.Number, r.Writer, n, pool)
			}
		}
	}
	for _, k := range d.Snapshots {
		if k.Pool == "" || k.Generation < 0 || k.Generation > sharedledger.MaxGeneration || k.DrainedUsed < 0 || len(k.Windows) > quota.MaxWindows ||
			slices.ContainsFunc(k.Windows, func(w sharedledger.WindowUsage) bool { return w.Used < 0 || w.Used > exact }) {
			return fmt.Errorf("%w: snapshot of pool %q, out of bounds", quota.ErrUnknown, k.Pool)
		}
	}
	return nil
}

// names gives each name a place, from 1 on.
type names struct {
	all    []string
	places map[string]int
}

func (n *names) place(name string) int {
	i, ok := n.places[name]
	if !ok {
		if n.places == nil {
			n.places = map[string]int{}
		}
		n.all = append(n.all, name)
		i = len(n.all)
		n.places[name] = i
	}
	return i
}
