package dailymotionsim

import "hash/fnv"

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

// idText writes a hash as n small letters and digits, the first of them a digit.
func idText(h uint64, n int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	b := make([]byte, n)
	for i := range b {
		base := uint64(len(digits))
		if i == 0 {
			base = 10
		}
		b[i] = digits[h%base]
		h /= base
	}
	return string(b)
}

// word makes a word of three syllables.
func word(h uint64) string {
	const consonants, vowels = "bcdfghjklmnprstvwz", "aeiou"
	b := make([]byte, 0, 6)
	for range 3 {
		b = append(b, consonants[h%uint64(len(consonants))])
		h /= uint64(len(consonants))
		b = append(b, vowels[h%uint64(len(vowels))])
		h /= uint64(len(vowels))
	}
	return string(b)
}
