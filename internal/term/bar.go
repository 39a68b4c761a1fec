package term

import "strings"

// Bar is how much of a whole is used, in so many columns: "[####------]". It is empty and full only where nothing and
// all is used.
func Bar(used, of int64, columns int) string {
	inside := int64(max(columns-2, 1))
	n := inside
	if used < of {
		n = min(max(used, 0)*inside/of, inside-1)
	}
	if used > 0 && n == 0 {
		n = min(1, inside-1)
	}
	return "[" + strings.Repeat("#", int(n)) + strings.Repeat("-", int(inside-n)) + "]"
}
