package redisledger

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/trendvidstream/ingest/quota"
)

// facts is a pool's log as far as a script looked into it: it answers quota.Decide's questions in
// the order in which they are asked, two for a bound that refuses, one for any other.
type facts struct {
	charge quota.Charge
	total  int64
	bounds []fact
	asked  int  // bounds
	more   bool // the last bound asked about refuses: its second question is next
}

type fact struct {
	gone  int64 // the sum before the window
	first int64 // the time of its first entry
	later int64 // the time of the entry that has to leave, or the sum before the next day
}

var _ quota.Log = (*facts)(nil)

var errFacts = errors.New("a sum is not between nothing and the total")

// Total implements quota.Log.
func (f *facts) Total() int64 { return f.total }

// Before implements quota.Log.
func (f *facts) Before(int64) (sum, first int64, err error) {
	if f.more {
		f.more = false
		later := f.bounds[f.asked-1].later
		if later < 0 || later > f.total {
			return 0, 0, errFacts
		}
		return later, 0, nil
	}
	if f.asked == len(f.bounds) {
		return 0, 0, fmt.Errorf("asked about more than %d windows", len(f.bounds))
	}
	b := f.bounds[f.asked]
	if b.gone < 0 || b.gone > f.total {
		return 0, 0, errFacts
	}
	f.more = f.charge.Amount > 0 && f.total-b.gone+f.charge.Amount > f.charge.Bounds[f.asked].Ceiling
	f.asked++
	return b.gone, b.first, nil
}

// Reaching implements quota.Log.
func (f *facts) Reaching(_, _ int64) (int64, error) {
	if !f.more || f.bounds[f.asked-1].later <= 0 {
		return 0, errors.New("no entry has to leave")
	}
	f.more = false
	return f.bounds[f.asked-1].later, nil
}

// reader takes the integers of a script's answer one by one: seven bytes each, big-endian.
type reader struct {
	packed string
	err    error
}

const (
	width = 7
	exact = 1 << 53 // integers up to here are exact in Lua
)

func newReader(reply any) *reader {
	packed, ok := reply.(string)
	if !ok {
		return &reader{err: fmt.Errorf("an answer of another shape: %T", reply)}
	}
	return &reader{packed: packed}
}

func (r *reader) next() int64 {
	if r.err != nil {
		return 0
	}
	if len(r.packed) < width {
		r.err = errors.New("an answer that is too short")
		return 0
	}
	var eight [8]byte
	copy(eight[8-width:], r.packed)
	r.packed = r.packed[width:]
	v := binary.BigEndian.Uint64(eight[:])
	if v > exact {
		r.err = errors.New("an answer with a number that is not exact")
		return 0
	}
	return int64(v)
}

// done is an error when a value was missing or is left over.
func (r *reader) done() error {
	if r.err == nil && r.packed != "" {
		return fmt.Errorf("an answer that is %d bytes too long", len(r.packed))
	}
	return r.err
}
