package redisledger

import "encoding/binary"

// entry is one of a pool's log; see lua/common.lua.
type entry struct {
	at, amount int64
	number     uint32
	who        uint16
	late       bool // a new one that no earlier snapshot can have counted: sync.lua says until when
}

const (
	entrySize = 20
	numbers   = 1 << 31 // as in lua/common.lua
	lateStep  = 2000    // STEP

	unattributedID = 65535 // UNATTRIBUTED: the spender of an unattributed charge
)

// steps returns a span as an entry says it, rounded down. More than fits means indefinitely.
func steps(span int64) uint32 { return uint32(numbers + min(span/lateStep, numbers-1)) }

// readEntries unpacks entries whose sum is total after the last.
func readEntries(packed string, total int64) (base int64, entries []entry) {
	n := len(packed) / entrySize
	entries = make([]entry, n)
	base = total
	for k := n - 1; k >= 0; k-- {
		r := reader{packed: packed[k*entrySize : k*entrySize+2*width]}
		tail := packed[k*entrySize+2*width:]
		at, sum := r.next(), r.next()
		entries[k] = entry{at: at, amount: base - sum, number: binary.BigEndian.Uint32([]byte(tail[:4])), who: binary.BigEndian.Uint16([]byte(tail[4:6]))}
		base = sum
	}
	return base, entries
}

// packEntries packs entries before which the sum is base. Its second result is the sum after them.
func packEntries(entries []entry, base int64) ([]byte, int64) {
	b := make([]byte, 0, entrySize*len(entries))
	for _, e := range entries {
		b = binary.BigEndian.AppendUint32(put7(b, e.at, base), e.number)
		b = binary.BigEndian.AppendUint16(b, e.who)
		base += e.amount
	}
	return b, base
}
