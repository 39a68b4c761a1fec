package text_test

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest/store/text"
)

// All but one of the words is what lacks none of them or one, whichever that is; and the expression for that stays short.
func TestAllButOneLacksAtMostOne(t *testing.T) {
	for n := 2; n <= 9; n++ {
		words := make([]string, n)
		for i := range words {
			words[i] = fmt.Sprintf("t%d", i)
		}
		expr := text.Parse(strings.Join(words, " ")).Match(false, true)
		for has := range 1 << n {
			values := []string{" AND ", " && ", " OR ", " || "}
			lacks := 0
			for i, w := range words {
				values = append(values, `"`+w+`"`, fmt.Sprint(has&(1<<i) != 0))
				lacks += 1 - has>>i&1
			}
			got, err := types.Eval(token.NewFileSet(), nil, token.NoPos, strings.NewReplacer(values...).Replace(expr))
			if err != nil || constant.BoolVal(got.Value) != (lacks <= 1) {
				t.Fatalf("%s with %b of its words is %v, %v", expr, has, got.Value, err)
			}
		}
	}
	if got := len(text.Parse(strings.Repeat("word ", 128)).Match(false, true)); got > 20_000 {
		t.Errorf("of 128 words it has %d bytes", got)
	}
}
