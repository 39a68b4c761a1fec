// Package hide masks a secret in text that its receiver sends back.
package hide

import "strings"

// Piece is the least length in bytes of a part of a secret that is masked too: a quotation may be cut.
const Piece = 6

// In overwrites a secret in the text with stars, and each part of it that is at least six bytes long. It reports
// whether there was any.
func In(text []byte, secret string) bool {
	n := min(Piece, len(secret))
	var found []int // where n bytes of it begin
	for i := 0; n > 0 && i+n <= len(text); i++ {
		if strings.Contains(secret, string(text[i:i+n])) {
			found = append(found, i)
		}
	}
	for _, i := range found {
		copy(text[i:i+n], "******")
	}
	return len(found) > 0
}
