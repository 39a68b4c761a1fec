package standin

import "hash/fnv"

// Hash mixes its words (splitmix64, chained). It must never change, so that a seed serves the same catalogue in every
// version.
func Hash(words ...uint64) uint64 {
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

// HashText returns the FNV-1a hash of a text.
func HashText(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // a hash does not fail
	return h.Sum64()
}

// Chance turns a hash into a number in [0, 1).
func Chance(h uint64) float64 { return float64(h>>11) / (1 << 53) }
