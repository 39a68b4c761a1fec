package store

import (
	"context"
)

// The words of the index, as SQLite shows them: one row per word and place, so that the next word can be
// looked up without counting where the last one stands. It lives as long as the transaction.
// https://www.sqlite.org/fts5.html#the_fts5vocab_virtual_table_module
const (
	// showWords needs a connection that may write, which here is only to the schema of temp.
	showWords = `
PRAGMA query_only = 0;
CREATE VIRTUAL TABLE IF NOT EXISTS temp.video_words USING fts5vocab ('main', 'video_text', 'instance');
PRAGMA query_only = 1`

	// nextWords are the words that begin with ?1, at most ?2, in the order of their bytes. No word has a
	// character 1, so that what is not before word || char(1) is behind the word.
	nextWords = `
WITH RECURSIVE next (word) AS (
	SELECT (SELECT term FROM temp.video_words WHERE term >= ?1 LIMIT 1)
	UNION ALL
	SELECT (SELECT term FROM temp.video_words WHERE term >= word || char(1) LIMIT 1) FROM next
	WHERE substr(word, 1, length(?1)) = ?1
	LIMIT ?2
)
SELECT word FROM next WHERE substr(word, 1, length(?1)) = ?1`
)

// indexedWords are the first words of the index that begin so, at most n.
func indexedWords(ctx context.Context, tx *txn, prefix string, n int) ([]string, error) {
	if _, err := tx.ExecContext(ctx, showWords); err != nil {
		return nil, err
	}
	words, err := column[string](ctx, tx, nextWords, prefix, n)
	return words, err
}
