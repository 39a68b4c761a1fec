package term

import "strings"

// Bar draws how much of a whole is used, in that many columns: "[####------]". It is empty only if nothing is used,
// and full only if all is.
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
