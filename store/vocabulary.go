package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/trendvidstream/ingest/store/text"
)

// lexicon is what the index knows of its words.
type lexicon struct {
	tx      *txn
	counted bool // how many videos have a word is known: see Engine
}

// readForgiving is how many entries of the index are read for other spellings: those of some ten milliseconds.
const readForgiving = 300_000

// errEnough ends a look through the vocabulary.
var errEnough = errors.New("enough words")

// vocabulary is that of the index, as far as it is read: to count what has a word takes the longer, the more have it.
func (l lexicon) vocabulary(ctx context.Context) text.Vocabulary {
	left := readForgiving
	return text.Vocabulary{
		Like: func(prefix string, word func(string, int)) error {
			err := each(ctx, l.tx, func(rows *sql.Rows) error {
				var term string
				var videos int
				err := rows.Scan(&term, &videos)
				word(term, videos)
				if left -= 1 + videos; err == nil && left < 0 {
					err = errEnough
				}
				return err
			}, `SELECT term, doc FROM video_words WHERE term >= ?1 AND term < ?2`, prefix, prefix+"\U0010FFFF")
			if errors.Is(err, errEnough) {
				err = nil
			}
			return err
		},
		Has: func(words []string, documents int) (bool, error) {
			word := ""
			if len(words) == 1 {
				word = words[0]
			}
			return l.has(ctx, text.Phrase(words), word, false, documents)
		},
	}
}

// has reports whether so many videos match. Where the query is a word, or with prefix the beginning of one, and an engine has
// counted who has it, none of them is read.
func (l lexicon) has(ctx context.Context, expr, word string, prefix bool, videos int) (has bool, err error) {
	if l.counted && word != "" {
		last := word
		if prefix {
			last += "\U0010FFFF"
		}
		err = l.tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM video_words WHERE term >= ?1 AND term <= ?2 AND doc >= ?3)`, word, last, videos).Scan(&has)
		if has || err != nil || !prefix {
			return has, err
		}
	}
	err = l.tx.QueryRowContext(ctx, `
		SELECT count(*) >= ?2 FROM (SELECT 1 AS one FROM video_text WHERE video_text MATCH ?1 LIMIT ?2) AS found`, expr, videos).Scan(&has)
	return has, err
}
