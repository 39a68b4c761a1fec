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
	counted bool // the engine keeps how many videos have each word: see Engine
}

// readForgiving is how many entries of the index are read for other spellings: that takes some ten milliseconds.
const readForgiving = 300_000

// errEnough ends the reading of the vocabulary.
var errEnough = errors.New("enough words")

// vocabulary reads the index's words, up to readForgiving entries: counting a word's videos takes longer the more there
// are.
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

// has reports whether at least that many videos match. If the query is one word, or with prefix the beginning of one,
// and the engine keeps the number of videos of each word, that is asked first, and no video is read if it suffices.
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
