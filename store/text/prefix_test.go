package text_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trendvidstream/ingest"
	"github.com/trendvidstream/ingest/store/text"
)

func TestTheIndexHasThePrefixesThatAQueryCountsOn(t *testing.T) {
	option := regexp.MustCompile(`prefix = '([0-9 ]+)'`).FindStringSubmatch(ingest.Schema)
	if option == nil {
		t.Fatal("video_text has no prefix option")
	}
	var have []int
	for n := range strings.FieldsSeq(option[1]) {
		length, err := strconv.Atoi(n)
		if err != nil {
			t.Fatal(err)
		}
		have = append(have, length)
	}
	if !slices.Equal(have, text.IndexedPrefixes) {
		t.Errorf("schema.sql indexes %v, a query counts on %v", have, text.IndexedPrefixes)
	}
}
