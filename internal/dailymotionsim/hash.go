package dailymotionsim

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
