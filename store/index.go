package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trendvidstream/ingest/store/text"
)

// index reads the rows that one search may see: the videos, charts and counts of the time of its first page, in one
// transaction. It reads nothing twice.
type index struct {
	tx      querier
	q       SearchQuery
	scope   cursor // of the first page, and where the page before this one ended
	counted bool   // the engine keeps how many videos have each word: see Engine
	newest  bool   // walk from the newest on: an expression matched too many, or the engine sorts its results

	kept   *kept              // by the connection, from earlier searches
	walked map[string]matches // by expression
}

// pin limits the search to the videos and slots that exist at its first page. Later pages keep that.
func (x *index) pin() {
	if x.q.After == "" {
		x.scope.Video, x.scope.Slot = x.kept.video, x.kept.slot
	}
}

// maxMatches limits ranking to the newest matches. It is a variable, so that a test can make it apply to a small store.
var maxMatches = 20_000

// matches are the videos that a query finds, the newest id first, at most maxMatches.
type matches struct {
	ids    []int64 // the videos that the query's region may have charted
	all    int     // their number in all regions
	capped bool    // more match
}

// without returns the matches that are not among others.
func (m matches) without(others []int64) (rest []int64) {
	for _, id := range m.ids {
		for len(others) > 0 && others[0] > id {
			others = others[1:]
		}
		if len(others) == 0 || others[0] != id {
			rest = append(rest, id)
		}
	}
	return rest
}

// match returns the newest atMost videos that match an FTS5 expression. The index is asked once per expression in a
// search, unless more match, and not for bm25, which first counts all matches of every word. Reading twenty thousand
// ids as one text takes a tenth of the time.
func (x *index) match(ctx context.Context, expr string, atMost int) (m matches, err error) {
	if known, ok := x.walked[expr]; ok {
		return known, nil
	}
	const walk = `SELECT group_concat(CAST(id AS text), ' ')
		FROM (SELECT rowid AS id FROM video_text WHERE video_text MATCH ?1 AND rowid <= ?2%s LIMIT ?3) AS found`
	// SQLite walks several lists from the oldest entry in two thirds of the time; if too many match, walk from the
	// newest.
	for _, order := range []string{"", " ORDER BY rowid DESC"} {
		if order == "" && (x.newest || !strings.Contains(expr, " AND ")) {
			continue
		}
		if m.ids, err = numbersOf(x.tx.QueryRowContext(ctx, fmt.Sprintf(walk, order), expr, x.scope.Video,
			atMost+1)); err != nil {
			return m, err
		}
		if len(m.ids) <= atMost {
			break
		}
		x.newest = true
	}
	newestFirst(m.ids)
	if m.capped = len(m.ids) > atMost; m.capped {
		m.ids = m.ids[:atMost]
	}
	if m.all = len(m.ids); m.all > 0 && x.q.Region != "" {
		charts, err := x.regionCharts(ctx, x.q.Region)
		if err != nil {
			return m, err
		}
		m.ids = slices.DeleteFunc(m.ids, func(id int64) bool { return !charts.mayContain(id) })
	}
	if !m.capped || atMost == maxMatches {
		x.walked[expr] = m
	}
	return m, nil
}

// numbersOf reads a row of one text, of whole numbers with a space between them, or NULL for none.
func numbersOf(row scanner) (numbers []int64, err error) {
	var text sql.NullString
	err = row.Scan(&text)
	numbers = make([]int64, 0, strings.Count(text.String, " ")+1)
	for rest := text.String; rest != ""; rest = strings.TrimPrefix(rest, " ") {
		n := int64(0)
		for ; rest != "" && rest[0] != ' '; rest = rest[1:] {
			n = 10*n + int64(rest[0]-'0')
		}
		numbers = append(numbers, n)
	}
	return numbers, err
}

func newestFirst(ids []int64) {
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(b, a) })
}

// readForgiving is how many index entries are read for other spellings: some ten milliseconds' worth.
const readForgiving = 300_000

// vocabulary reads the index's words, up to readForgiving entries, since counting a word's videos takes longer the
// more there are.
func (x *index) vocabulary(ctx context.Context) text.Vocabulary {
	left := readForgiving
	return text.Vocabulary{
		Like: func(prefix string, word func(string, int)) error {
			err := each(ctx, x.tx, func(rows *sql.Rows) error {
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
			return x.has(ctx, text.Phrase(words), word, false, documents)
		},
		Words: func(words []string) (map[string]bool, error) {
			missing := unread(x.kept.words, keptVideos, words)
			if len(missing) == 0 {
				return x.kept.words, nil
			}
			var found sql.NullString
			err := x.tx.QueryRowContext(ctx, `SELECT group_concat(value, ' ') FROM json_each(?1)
				WHERE EXISTS (SELECT 1 FROM words WHERE word = value)`, listJSON(missing)).Scan(&found)
			for _, word := range missing {
				x.kept.words[word] = false
			}
			for word := range strings.FieldsSeq(found.String) {
				x.kept.words[word] = true
			}
			return x.kept.words, err
		},
	}
}

// has reports whether at least that many videos match. If the query is one word (with prefix: the beginning of one)
// and the engine stores the number of videos of each word, it tries that first, without reading videos.
func (x *index) has(ctx context.Context, expr, word string, prefix bool, videos int) (has bool, err error) {
	asked := expr + " " + strconv.Itoa(videos)
	if has, again := x.kept.has[asked]; again {
		return has, nil
	}
	if len(x.kept.has) >= keptVideos {
		clear(x.kept.has)
	}
	defer func() {
		if err == nil {
			x.kept.has[asked] = has
		}
	}()
	if x.counted && word != "" {
		last := word
		if prefix {
			last += "\U0010FFFF"
		}
		err = x.tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM video_words WHERE term >= ?1
			AND term <= ?2 AND doc >= ?3)`, word, last, videos).Scan(&has)
		if has || err != nil || !prefix {
			return has, err
		}
	}
	err = x.tx.QueryRowContext(ctx, `
		SELECT count(*) >= ?2 FROM (SELECT 1 AS one FROM video_text WHERE video_text MATCH ?1 LIMIT ?2) AS found`,
		expr, videos).Scan(&has)
	return has, err
}
