package redisledger

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// maxPools is how many a delivery or a renewal may name.
const maxPools = 256

// Deliver implements sharedledger.Remote.
func (l *Ledger) Deliver(ctx context.Context, d sharedledger.Delivery) error {
	p, err := pack(d)
	if err != nil {
		return err
	}
	_, err = l.run(ctx, l.own(d.Account, d.Generation).deliver, l.keys(d.Account, p.pools...), p.args)
	return l.classifyNoScript(ctx, d.Account, d.Generation, err)
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
	p := packer{pools: names{}, spenders: names{}, writers: names{}}
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
	pools, spenders, writers names
	byPool                   [][]amount
	snapshots                []string // packed, by pool
	highest, nonces          []int64  // the last operation of each writer
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
		p.highest, p.nonces = append(p.highest, 0), append(p.nonces, 0)
	}
	if r.Number <= p.highest[w-1] {
		return
	}
	p.highest[w-1], p.nonces[w-1] = r.Number, r.Nonce
	if r.State == sharedledger.RowVoid {
		return
	}
	who := p.spenders.place(whoField(r.Who))
	for name, n := range r.Amounts {
		if i := p.pool(name); n > 0 {
			p.byPool[i] = append(p.byPool[i], amount{min(max(r.At.UnixMicro(), 0), exact), n, who, w, r.Number, seq, kind(r)})
		}
	}
}

// parcel is what was collected, in the order of deliver.lua's arguments.
func (p *packer) parcel(d sharedledger.Delivery, host any) parcel {
	last := make([]byte, 0, 2*width*len(p.highest))
	for i := range p.highest {
		last = put7(last, p.highest[i], p.nonces[i])
	}
	args := []any{put7(nil, int64(d.Generation), micros(d.Horizon), int64(len(p.spenders.all)), int64(len(p.writers.all))), last, host}
	for _, rows := range p.byPool {
		slices.SortStableFunc(rows, func(a, b amount) int { return cmp.Compare(a.at, b.at) })
		args = append(args, packRows(rows))
	}
	for _, k := range p.snapshots {
		args = append(args, k)
	}
	args = append(args, metaField, hostsField)
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

// kind says which snapshots can have counted a row: one that was charged, in its own time; one that was in
// doubt, or spent without the ledger, from its delivery on. One that was delivered before is of neither kind.
func kind(r sharedledger.Row) byte {
	switch {
	case r.Visible():
		return 1
	case r.State == sharedledger.RowAsked || r.State == sharedledger.RowOwed:
		return 2
	default:
		return 0
	}
}

func packRows(rows []amount) []byte {
	b := make([]byte, 0, 28*len(rows))
	for _, r := range rows {
		b = put7(b, r.at, r.amount)
		b = binary.BigEndian.AppendUint16(b, uint16(r.who))
		b = binary.BigEndian.AppendUint16(b, uint16(r.writer))
		b = binary.BigEndian.AppendUint16(put7(b, r.number), uint16(r.seq))
		b = append(b, r.kind)
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
