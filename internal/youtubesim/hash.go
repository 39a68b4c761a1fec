package youtubesim

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
)

// hash mixes its words (splitmix64, chained). It must never change, so that a seed serves the same catalogue in every
// version.
func hash(words ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, w := range words {
		h = mix(h ^ mix(w+0x9e3779b97f4a7c15))
	}
	return h
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func hashText(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // a hash does not fail
	return h.Sum64()
}

// chance turns a hash into a number in [0, 1).
func chance(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// idText writes a hash as a video id: 11 characters of base64url.
func idText(h uint64) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, h))
}

// dice is a sequence of random numbers that depends only on its key.
type dice struct{ key, n uint64 }

func (d *dice) next() uint64 {
	d.n++
	return hash(d.key, d.n)
}

// intn returns a number in [0, n).
func (d *dice) intn(n int) int { return int(d.next() % uint64(n)) }

// chance returns true with probability p.
func (d *dice) chance(p float64) bool { return chance(d.next()) < p }

// pick returns one element of the list.
func pick[T any](d *dice, list []T) T { return list[d.intn(len(list))] }
