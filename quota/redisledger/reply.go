package redisledger

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// reader reads the integers of a script's answer one by one: seven bytes each, big-endian.
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
	v := binary.BigEndian.Uint64([]byte("\x00" + r.packed[:width]))
	r.packed = r.packed[width:]
	if v > exact {
		r.err = errors.New("an answer with a number that is not exact")
		return 0
	}
	return int64(v)
}

// done returns an error if a value was missing or is left over.
func (r *reader) done() error {
	if r.err == nil && r.packed != "" {
		return fmt.Errorf("an answer that is %d bytes too long", len(r.packed))
	}
	return r.err
}

// put7 appends integers of seven bytes: beyond 2^53 none is exact in Lua.
func put7(b []byte, values ...int64) []byte {
	for _, v := range values {
		b = append(b, byte(v>>48), byte(v>>40), byte(v>>32), byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	return b
}
