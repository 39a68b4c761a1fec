package store

import (
	"cmp"
	"time"

	"github.com/trendvidstream/ingest"
)

// textHash hashes everything that the index holds of a video, and its channel's ID.
func textHash(v ingest.Video) int64 {
	return int64(newHash().texts(v.Title, v.ChannelID, v.Channel).texts(v.Tags...))
}

// factsHash hashes everything about a video in video_facts; text is its textHash. The result is never 0.
func factsHash(v ingest.Video, text int64) int64 {
	h := newHash().numbers(text, v.PublishedAt.Unix(), int64(v.Duration/time.Second)).texts(v.Category, v.Language, v.Thumbnail)
	if v.Live {
		h = h.numbers(1)
	}
	return cmp.Or(int64(h), 1)
}

// hash is 64-bit FNV-1a; hash/fnv would copy every text first. As a column it is an INTEGER of the same bits, since
// SQLite only has signed ones.
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

// texts adds texts, each preceded by its length, so that different lists of texts never hash the same bytes.
func (h hash) texts(texts ...string) hash {
	for _, text := range texts {
		h = h.numbers(int64(len(text)))
		for i := range len(text) {
			h = (h ^ hash(text[i])) * 1099511628211
		}
	}
	return h
}
