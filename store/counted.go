package store

import (
	"fmt"
	"regexp"
)

var numbered = regexp.MustCompile(`\{([^|{}]*)\|([^|{}]*)\}`)

// counted puts n into a text with one %d, in which {is|are} is a word for one and for any other number.
func counted(text string, n int) string {
	form := "$2"
	if n == 1 {
		form = "$1"
	}
	return fmt.Sprintf(numbered.ReplaceAllString(text, form), n)
}
