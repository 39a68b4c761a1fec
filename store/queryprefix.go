package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// A beginning of so many characters is in the index itself: the prefix option of video_text in schema.sql.
// SQLite would read the lists of all words with any other beginning before it answered at all, which
// takes seconds at a million videos. So these words are looked up first, and asked for by name.
var indexedBeginnings = []int{1}

// maxWords is how many words a search asks for by name, over all its beginnings. A var, so that a test
// can make it bite.
var maxWords = 128

// loose reports whether the clause's beginning goes on in more words than were looked up. SQLite cannot
// be asked for it: see match.
func (c clause) loose() bool { return c.prefix && !c.indexed() && !c.all }

// indexed reports whether the index has the clause's beginning.
func (c clause) indexed() bool {
	return slices.Contains(indexedBeginnings, utf8.RuneCountInString(c.tokens[len(c.tokens)-1]))
}

// loosened is the clause with a beginning that is in the index: what it finds must be checked.
func (c clause) loosened() clause {
	n, last := 0, []rune(c.tokens[len(c.tokens)-1])
	for _, length := range indexedBeginnings {
		if length <= len(last) {
			n = max(n, length)
		}
	}
	c.tokens, c.words = append(slices.Clone(c.tokens[:len(c.tokens)-1]), string(last[:n])), nil
	return c
}

// expand looks up the words with the beginnings that the index does not have.
func (f *finder) expand(ctx context.Context) error {
	left := maxWords
	for i := range f.clauses {
		c := &f.clauses[i]
		if !c.prefix || c.indexed() {
			continue
		}
		most := left / len(c.tokens) // each is another phrase, all of whose words are looked up
		if most == 0 {
			continue
		}
		words, err := f.words(ctx, c.tokens[len(c.tokens)-1], most+1)
		if err != nil {
			return err
		}
		if c.all = len(words) <= most; !c.all {
			words = words[:most]
		}
		c.words = words
		left -= len(words) * len(c.tokens)
	}
	return nil
}

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

// words are the first words of the index that begin so, at most n.
func (f *finder) words(ctx context.Context, beginning string, n int) ([]string, error) {
	if _, err := f.tx.ExecContext(ctx, showWords); err != nil {
		return nil, err
	}
	var words []string
	err := each(ctx, f.tx, func(rows *sql.Rows) error {
		var word string
		err := rows.Scan(&word)
		words = append(words, word)
		return err
	}, nextWords, beginning, n)
	return words, err
}

// check leaves those of the candidates, whose tags are known, that meet the clauses that SQLite could not be
// asked for.
func (f *finder) check(ctx context.Context, found []candidate) ([]candidate, error) {
	if err := f.owners(ctx, found, func(candidate) bool { return true }); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(v candidate) bool {
		return slices.ContainsFunc(f.clauses, func(c clause) bool { return c.loose() && c.metBy(v) == c.not })
	}), nil
}

// metBy reports whether the candidate has what the clause asks for where it asks for it.
func (c clause) metBy(v candidate) bool {
	var tags []string
	_ = json.Unmarshal([]byte(v.tags), &tags) // the store wrote them
	for column, tokens := range map[string][]string{"title": v.folded, "channel": v.owner, "tags": strings.Fields(Normalize(strings.Join(tags, "\n")))} {
		if (c.column == "" || c.column == column) && c.in(tokens) {
			return true
		}
	}
	return false
}
