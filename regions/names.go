package regions

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/trendvidstream/ingest"
)

//go:embed names.txt
var nameList string

// names are CLDR's English names by code, as used within a sentence: "the United States".
var names = sync.OnceValue(func() map[ingest.Region]string {
	all := map[ingest.Region]string{}
	for line := range strings.Lines(nameList) {
		code, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[ingest.Region(code)] = name
	}
	return all
})

// Name returns a region's English name for a list: "United States". Unknown regions keep their code.
func Name(r ingest.Region) string { return strings.TrimPrefix(NameInText(r), "the ") }

// NameInText returns a region's name for use within a sentence: "the United States".
func NameInText(r ingest.Region) string {
	if name, ok := names()[r]; ok {
		return name
	}
	return string(r)
}
