package regions

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/trendvidstream/ingest"
)

//go:embed names.txt
var nameList string

// names are the English names of CLDR, by code, as they stand in a sentence: "the United States".
var names = sync.OnceValue(func() map[ingest.Region]string {
	all := map[ingest.Region]string{}
	for line := range strings.Lines(nameList) {
		code, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[ingest.Region(code)] = name
	}
	return all
})

// Name returns what a region is called in English, in a list: "United States". An unknown one is its code.
func Name(r ingest.Region) string { return strings.TrimPrefix(NameInText(r), "the ") }

// NameInText returns what a region is called within a sentence: "the United States".
func NameInText(r ingest.Region) string {
	if name, ok := names()[r]; ok {
		return name
	}
	return string(r)
}
