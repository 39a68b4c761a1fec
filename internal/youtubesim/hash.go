package youtubesim

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/trendvidstream/ingest/internal/standin"
)

// idText writes a hash as a video id: 11 characters of base64url.
func idText(h uint64) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, h))
}

// dice is a sequence of random numbers that depends only on its key.
type dice struct{ key, n uint64 }

func (d *dice) next() uint64 {
	d.n++
	return standin.Hash(d.key, d.n)
}

// intn returns a number in [0, n).
func (d *dice) intn(n int) int { return int(d.next() % uint64(n)) }

// chance returns true with probability p.
func (d *dice) chance(p float64) bool { return standin.Chance(d.next()) < p }

// pick returns one element of the list.
func pick[T any](d *dice, list []T) T { return list[d.intn(len(list))] }
