package store

import (
	"cmp"
	"time"

	"github.com/trendvidstream/ingest"
)

// textHash is of everything that the index holds, and of whose channel it is.
func textHash(v ingest.Video) int64 {
	return int64(newHash().texts(v.Title, v.ChannelID, v.Channel).texts(v.Tags...))
}

// factsHash is of everything in video_facts that a video has, text being its textHash. It is never 0.
func factsHash(v ingest.Video, text int64) int64 {
	h := newHash().numbers(text, v.PublishedAt.Unix(), int64(v.Duration/time.Second)).texts(v.Category, v.Language, v.Thumbnail)
	if v.Live {
		h = h.numbers(1)
	}
	return cmp.Or(int64(h), 1)
}

// hash is FNV-1a of 64 bits: hash/fnv would copy every text first. As a column it is an INTEGER of the same
// bits, since SQLite has signed ones only.
type hash uint64

func newHash() hash { return 14695981039346656037 }

// numbers adds whole numbers, the lowest byte first.
func (h hash) numbers(numbers ...int64) hash {
	for _, n := range numbers {
		for range 8 {
			h = (h ^ hash(byte(n))) * 1099511628211
			n >>= 8
		}
	}
	return h
}

// texts adds texts. A length goes before each, so that no two lists of texts run into each other.
func (h hash) texts(texts ...string) hash {
	for _, text := range texts {
		h = h.numbers(int64(len(text)))
		for i := range len(text) {
			h = (h ^ hash(text[i])) * 1099511628211
		}
	}
	return h
}
