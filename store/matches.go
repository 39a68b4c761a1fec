package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest/store/text"
)

// Bounds of a search. They are variables so that a test can make them apply to a small store.
var (
	// maxMatches is how many matches are ranked, the newest.
	maxMatches = 20_000
	// maxScored is how many of them are scored by their text, the most watched; if more match, first as many of those
	// with all words in title or channel.
	maxScored = 300
)

const (
	// enoughExact is the number of matches of whole words, several pages, from which the last word does not count as a
	// prefix.
	enoughExact = 100
	// fewMatches is the number of matches from which a query is not forgiven.
	fewMatches = 3
	// notGained is less than a video can gain.
	notGained = -1e15
)

// matches are the videos that a query finds, the newest id first, at most maxMatches.
type matches struct {
	ids    []int64 // the videos that the query's region may have charted
	all    int     // their number in all regions
	capped bool    // more match
}

// match returns the newest atMost videos that match an FTS5 expression. The index is asked once per expression in a
// search, and not for bm25, which first counts all matches of every word. Reading twenty thousand ids as one text
// takes a tenth of the time.
func (f *finder) match(ctx context.Context, expr string, atMost int) (m matches, err error) {
	if known, ok := f.walked[expr]; ok {
		return known, nil
	}
	const walk = `SELECT group_concat(CAST(id AS text), ' ') FROM (SELECT rowid AS id FROM video_text WHERE video_text MATCH ?1 AND rowid <= ?2%s LIMIT ?3) AS found`
	// SQLite walks several lists from the oldest entry in two thirds of the time; if too many match, walk from the
	// newest.
	for _, order := range []string{"", " ORDER BY rowid DESC"} {
		if order == "" && (f.newest || !strings.Contains(expr, " AND ")) {
			continue
		}
		if m.ids, err = numbersOf(f.tx.QueryRowContext(ctx, fmt.Sprintf(walk, order), expr, f.after.Video, atMost+1)); err != nil {
			return m, err
		}
		if len(m.ids) <= atMost {
			break
		}
		f.newest = true
	}
	newestFirst(m.ids)
	if m.capped = len(m.ids) > atMost; m.capped {
		m.ids = m.ids[:atMost]
	}
	if m.all = len(m.ids); m.all > 0 && f.q.Region != "" {
		charts, err := f.regionCharts(ctx)
		if err != nil {
			return m, err
		}
		m.ids = slices.DeleteFunc(m.ids, func(id int64) bool { return !charts.mayHold(id) })
	}
	f.walked[expr] = m
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

// regionCharts returns the charts of the query's region, or of all.
func (f *finder) regionCharts(ctx context.Context) (_ regionCharts, err error) {
	if f.charts == nil {
		f.charts, err = readRegionCharts(ctx, f.tx, f.q.Region)
	}
	return f.charts, err
}

func newestFirst(ids []int64) {
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(b, a) })
}

// butOne finds videos that meet all clauses but one, among the newest matches of each clause; with more clauses, fewer
// of each.
func (f *finder) butOne(ctx context.Context, query text.Query) (m matches, err error) {
	each := query.Each()
	if len(each) < 2 {
		return m, nil
	}
	var ids []int64
	for _, clause := range each {
		found, err := f.match(ctx, clause.Match(false), maxMatches/len(each))
		if err != nil {
			return m, err
		}
		ids, m.capped = append(ids, found.ids...), m.capped || found.capped
	}
	newestFirst(ids)
	met := 0
	for i, id := range ids {
		if met++; i+1 < len(ids) && ids[i+1] == id {
			continue
		}
		if met >= len(each)-1 {
			m.ids = append(m.ids, id)
		}
		met = 0
	}
	m.all = len(m.ids)
	return m, nil
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

// byID finds a video whose id is the query or part of it, as in a URL: it tries each run of six or more idLetters,
// unless the query has spaces.
func (f *finder) byID(ctx context.Context, query string) ([]int64, error) {
	ids := strings.FieldsFunc(query, func(r rune) bool { return r > 'z' || !strings.ContainsRune(idLetters, r) })
	ids = slices.DeleteFunc(ids, func(id string) bool { return len(id) < 6 })
	if len(ids) == 0 || strings.ContainsAny(query, " \t\n") {
		return nil, nil
	}
	return column[int64](ctx, f.tx, `
		SELECT id FROM video_facts WHERE video_id IN (SELECT value FROM json_each(?1)) AND gone = 0 AND id <= ?2 ORDER BY id DESC LIMIT ?3`, listJSON(ids), f.after.Video, maxMatches)
}

const idLetters = "-_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// widen chooses what the query finds and returns the first of it. The query is taken as typed; if that is not enough,
// its last word may also be the beginning of a word; if few match, other forms of its words count; and if none does, so
// do other spellings of them, and then one word may be missing: what finds a video is spelled right. A filter that passes
// few is no reason to forgive. In any order but ByRelevance a query is widened only while it finds nothing, so that
// nothing else is mixed with what was asked for.
func (f *finder) widen(ctx context.Context, r ranking) (candidates []candidate, err error) {
	id := strings.TrimSpace(f.q.Text)
	if f.among.ids, err = f.byID(ctx, id); err != nil {
		return nil, err
	}
	if candidates, err = f.rank(ctx, f.among.ids, r); err != nil || len(candidates) > 0 {
		f.looked, f.byOne = "the video "+id, true
		return candidates, err
	}
	f.among = matches{}
	few, enough := fewMatches, min(maxScored, enoughExact)
	if f.q.Order != ByRelevance {
		few, enough = 1, 1
	} else if candidates, err = f.findInNames(ctx, r); err != nil || f.onlyInNames {
		return candidates, err
	}
	query := f.query
	for forgive := range 4 {
		have := max(len(candidates), f.among.all)
		switch {
		case forgive == 1 && max(len(candidates), len(f.among.ids)) >= enough, forgive == 2 && have >= few, forgive == 3 && have > 0:
			return candidates, nil
		case forgive == 1:
			query = query.Open()
		case forgive == 2:
			if query, err = query.Forgive(f.words.vocabulary(ctx), have > 0); err != nil {
				return nil, err
			}
		}
		var found matches
		if forgive < 3 {
			found, err = f.match(ctx, query.Match(false), maxMatches)
		} else {
			found, err = f.butOne(ctx, query)
		}
		if err != nil {
			return nil, err
		}
		var fresh []candidate
		if word, _ := query.Word(); forgive == 0 && f.wait && word != "" && f.q.After == "" && len(found.ids) >= enough {
			f.tagged = found.without(f.among.ids) // the loop ends, as these are enough
		} else if len(candidates) < maxScored {
			if fresh, err = f.rank(ctx, found.without(f.among.ids), r); err != nil {
				return nil, err
			}
		}
		if len(fresh) > 0 || f.looked == "" {
			f.butOneWord = forgive == 3
			f.query, f.among, f.looked, f.forgiven = query, found, query.Explain(forgive == 3), forgive > 1 && len(fresh) > 0
		}
		candidates = append(candidates, fresh...)
	}
	return candidates, nil
}

// findInNames tries, if more videos match than are scored, first those with the words in title or channel; most others
// are only tagged.
func (f *finder) findInNames(ctx context.Context, r ranking) (candidates []candidate, err error) {
	if len(f.query) > 2 { // with three clauses the last word may be a prefix
		f.query = f.query.Open()
	}
	// One word is found as fast in the names as anywhere; if that gives enough candidates, the other videos can wait.
	all := matches{}
	f.wait = f.query.IsWord() && !f.q.picky()
	if !f.wait {
		all, err = f.match(ctx, f.query.Match(false), maxMatches)
		if err != nil || len(all.ids) <= maxScored {
			return nil, err
		}
	}
	if f.q.picky() { // the filters may leave no more than are scored
		if candidates, err = f.rank(ctx, all.ids, r); err != nil || len(candidates) < maxScored {
			f.among = all
			return candidates, err
		}
	}
	if f.among, err = f.match(ctx, f.query.Match(true), maxMatches); err != nil {
		return nil, err
	}
	candidates, err = f.rank(ctx, f.among.ids, r)
	if f.onlyInNames = f.wait && len(candidates) == maxScored; err == nil && f.onlyInNames {
		f.looked = f.query.Explain(false)
		if !f.among.capped {
			word, prefix := f.query.Word()
			f.among.capped, err = f.words.has(ctx, f.query.Match(false), word, prefix, maxMatches+1)
		}
	}
	return candidates, err
}

// lexicon looks up words in the index.
type lexicon struct {
	tx      *txn
	counted bool // the engine keeps how many videos have each word: see Engine
}

// readForgiving is how many index entries are read for other spellings: some ten milliseconds' worth.
const readForgiving = 300_000

// vocabulary reads the index's words, up to readForgiving entries, since counting a word's videos takes longer the
// more there are.
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

// has reports whether at least that many videos match. If the query is one word (with prefix: the beginning of one)
// and the engine stores the number of videos of each word, it tries that first, without reading videos.
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
