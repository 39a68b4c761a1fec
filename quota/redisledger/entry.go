package redisledger

import (
	"encoding/binary"
	"fmt"

	"github.com/trendvidstream/ingest/quota"
	"github.com/trendvidstream/ingest/quota/sharedledger"
)

// The entries of a log; see lua/common.lua.
const (
	entrySize = 20
	noteSize  = 3 * width
	headSize  = 2 * width // of the time and the sum

	nobodyID       = 0
	unattributedID = 65535 // UNATTRIBUTED: the spender of an unattributed charge
)

// readEntries unpacks entries, with total as the sum after the last, and sets the spenders found in names. The Ref of
// an entry is its place in the page, from 1.
func readEntries(page []string, total int64,
	names map[uint16]quota.Who) (base int64, entries []sharedledger.Entry, err error) {
	entries = make([]sharedledger.Entry, len(page))
	base = total
	for k := len(page) - 1; k >= 0; k-- {
		if n := len(page[k]); n != entrySize && n != entrySize+noteSize {
			return 0, nil, fmt.Errorf("an entry of %d bytes", n)
		}
		r := newReader(page[k][:headSize])
		e := sharedledger.Entry{Ref: int64(k + 1), At: r.next(), Who: names[spenderOf(page[k])]}
		sum := r.next()
		if note := newReader(page[k][entrySize:]); note.packed != "" {
			e.Synced, e.Since, e.Generation = note.next(), note.next(), sharedledger.Generation(note.next())
		}
		e.Amount, base = base-sum, sum
		entries[k] = e
	}
	return base, entries, nil
}

func spenderOf(entry string) uint16 { return binary.BigEndian.Uint16([]byte(entry[entrySize-2:])) }

// packEntry packs a new entry; base is the sum before it.
func packEntry(e sharedledger.Entry, base, number int64, id uint16) string {
	b := binary.BigEndian.AppendUint32(put7(make([]byte, 0, entrySize+noteSize), e.At, base), uint32(number))
	b = binary.BigEndian.AppendUint16(b, id)
	if e.Synced > 0 || e.Since > 0 {
		b = put7(b, e.Synced, e.Since, int64(e.Generation))
	}
	return string(b)
}

// repack returns an entry with another time and sum before it.
func repack(entry string, at, base int64) string {
	return string(put7(make([]byte, 0, headSize), at, base)) + entry[headSize:]
}
