package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/trendvidstream/ingest/store/text"
)

// The bounds of a search. They are variables so that a test can make them apply to a small store.
var (
	// maxMatches is how many matches are ranked, the newest.
	maxMatches = 20_000
	// poolSize is how many of them are scored by their text, those most watched; and as many of those that have
	// all words in their titles, where more match.
	poolSize = 300
)

const (
	// fewMatches is how many matches a query needs not to be forgiven.
	fewMatches = 3
	// notGained is less than a video can gain.
	notGained = -1e15
)

// matches are the videos that a query finds, by id from the newest on, no more than maxMatches.
type matches struct {
	ids    []int64 // those that the query's region may have charted
	all    int     // how many there are with the others
	capped bool    // there are more
}

// match has the index walk the lists of the words, once in a search for each expression. bm25 would not: it counts all the
// matches of every word first. Twenty thousand ids are read in a tenth of the time as one text.
func (f *finder) match(ctx context.Context, expr string, atMost int) (m matches, err error) {
	if known, ok := f.walked[expr]; ok {
		return known, nil
	}
	const walk = `SELECT group_concat(CAST(id AS text), ' ') FROM (SELECT rowid AS id FROM video_text WHERE video_text MATCH ?1 AND rowid <= ?2%s LIMIT ?3) AS found`
	var ids sql.NullString
	// From the oldest on SQLite walks several lists in two thirds of the time; where there are too many, from the newest on.
	for _, order := range []string{"", " ORDER BY rowid DESC"} {
		if order == "" && (f.newest || !strings.Contains(expr, " AND ")) {
			continue
		}
		if err := f.tx.QueryRowContext(ctx, fmt.Sprintf(walk, order), expr, f.after.Video, atMost+1).Scan(&ids); err != nil {
			return m, err
		}
		if m.all = strings.Count(ids.String, " "); m.all < atMost {
			break
		}
		f.newest = true
	}
	m.ids = make([]int64, 0, m.all+1)
	for rest := ids.String; rest != ""; {
		id := int64(0)
		for ; rest != "" && rest[0] != ' '; rest = rest[1:] {
			id = 10*id + int64(rest[0]-'0')
		}
		m.ids, rest = append(m.ids, id), strings.TrimPrefix(rest, " ")
	}
	newestFirst(m.ids)
	if m.capped = len(m.ids) > atMost; m.capped {
		m.ids = m.ids[:atMost]
	}
	if m.all = len(m.ids); m.all > 0 && f.q.Region != "" {
		if f.charted == nil {
			f.charted, err = readCharted(ctx, f.tx, `bit IN (SELECT id % 63 FROM series WHERE backfill IS NULL AND key = ?1)`, f.q.Region)
		}
		m.ids = slices.DeleteFunc(m.ids, func(id int64) bool { return !f.charted.has(id) })
	}
	f.walked[expr] = m
	return m, err
}

func newestFirst(ids []int64) {
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(b, a) })
}

// butOne are the videos that meet all clauses but one, among the newest of each: the more clauses there are, the fewer.
func (f *finder) butOne(ctx context.Context, query text.Query) (m matches, err error) {
	each := query.Each()
	if len(each) < 2 {
		return m, nil
	}
	var ids []int64
	for _, clause := range each {
		of, err := f.match(ctx, clause.Match(false), 2*maxMatches/len(each))
		if err != nil {
			return m, err
		}
		ids, m.capped = append(ids, of.ids...), m.capped || of.capped
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

// picky reports whether a filter may leave few of those that a region's charts hold.
func (q Query) picky() bool {
	return q.Category != "" || q.MinViews > 0 || !q.PublishedSince.IsZero() || !q.PublishedUntil.IsZero() || !q.SeenSince.IsZero()
}

// without are the matches that are not among others.
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

// byID finds the videos with one of these ids. No id is shorter than six characters, and none is cut by what parts a URL.
func (f *finder) byID(ctx context.Context, query string) ([]int64, error) {
	ids := strings.FieldsFunc(query, func(r rune) bool { return r > 'z' || !strings.ContainsRune(idLetters, r) })
	ids = slices.DeleteFunc(ids, func(id string) bool { return len(id) < 6 })
	if len(ids) == 0 || strings.ContainsAny(query, " \t\n") {
		return nil, nil
	}
	return column[int64](ctx, f.tx, `
		SELECT id FROM video_facts WHERE video_id IN (SELECT value FROM json_each(?1)) AND id <= ?2 ORDER BY id DESC LIMIT ?3`, listJSON(ids), f.after.Video, maxMatches)
}

const idLetters = "-_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// widen chooses what the query is to find, and returns the first of that. A query is taken as it is; its last word as the
// beginning of one too, unless there is enough; and where it finds few, it is forgiven: other spellings of its words, and
// then one word less. That a filter passes few is no reason to. In an order of its own nothing is mixed with what was
// asked for.
func (f *finder) widen(ctx context.Context, r ranking) (pool []candidate, err error) {
	id := strings.TrimSpace(f.q.Text)
	if f.among.ids, err = f.byID(ctx, id); err != nil {
		return nil, err
	}
	if pool, err = f.rank(ctx, f.among.ids, r); err != nil || len(pool) > 0 {
		f.looked = "the video " + id
		return pool, err
	}
	f.among = matches{}
	few, enough := fewMatches, poolSize
	if f.q.Order != ByRelevance {
		few, enough = 1, 1
	} else if pool, err = f.named(ctx, r); err != nil || f.onlyNamed {
		return pool, err
	}
	query := f.query
	for forgive := range 4 {
		switch {
		case forgive == 1 && max(len(pool), len(f.among.ids)) >= enough, forgive > 1 && max(len(pool), f.among.all) >= few:
			return pool, nil
		case forgive == 1:
			query = query.Open()
		case forgive == 2:
			if query, err = query.Forgive(f.words.vocabulary(ctx)); err != nil {
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
		if len(pool) < poolSize {
			if fresh, err = f.rank(ctx, found.without(f.among.ids), r); err != nil {
				return nil, err
			}
		}
		if len(fresh) > 0 || f.looked == "" {
			f.query, f.among, f.looked, f.forgiven = query, found, query.Explain(forgive == 3), forgive > 1 && len(fresh) > 0
		}
		pool = append(pool, fresh...)
	}
	return pool, nil
}

// named looks first, where more match than are worth scoring, for what is named so: most others are only tagged.
func (f *finder) named(ctx context.Context, r ranking) (pool []candidate, err error) {
	if len(f.query) > 2 { // enough is said to take the last word as the beginning of one
		f.query = f.query.Open()
	}
	// One word is found as fast among the names as anywhere, and where these fill the pool, the others can wait.
	all := matches{}
	wait := f.query.IsWord() && !f.q.picky()
	if !wait {
		all, err = f.match(ctx, f.query.Match(false), maxMatches)
		if err != nil || len(all.ids) <= poolSize {
			return nil, err
		}
	}
	if f.q.picky() { // and may leave no more than are scored
		if pool, err = f.rank(ctx, all.ids, r); err != nil || len(pool) < poolSize {
			f.among = all
			return pool, err
		}
	}
	if f.among, err = f.match(ctx, f.query.Match(true), maxMatches); err != nil {
		return nil, err
	}
	pool, err = f.rank(ctx, f.among.ids, r)
	if f.onlyNamed = wait && len(pool) == poolSize; err == nil && f.onlyNamed {
		f.looked = f.query.Explain(false)
		if !f.among.capped {
			word, prefix := f.query.Word()
			f.among.capped, err = f.words.has(ctx, f.query.Match(false), word, prefix, maxMatches+1)
		}
	}
	return pool, err
}

// ranking is in which order, from where on and how many matches are wanted.
type ranking struct {
	order Order
	after *position // nil from the first on
	limit int
}

// arguments are those of a query.
type arguments []any

// add returns the name of one more.
func (a *arguments) add(value any) string {
	*a = append(*a, value)
	return fmt.Sprintf("?%d", len(*a))
}

// rank is the first of the videos that pass the filters, in the order. What takes a look elsewhere than into their counts
// is asked of one after the other, until there are enough.
func (f *finder) rank(ctx context.Context, of []int64, r ranking) (found []candidate, err error) {
	if len(of) == 0 {
		return nil, nil
	}
	args := arguments{listJSON(of)}
	views, seen := f.column(&args, "views", "placements.views"), f.column(&args, "seen_at", "fetched_at")
	key := f.keys(&args, r.order, views, seen)
	own, elsewhere := f.filters(&args, views, seen)
	if r.after != nil {
		elsewhere = fmt.Sprintf("\n  AND (first, second, third, -id) < (%s, %s, %s, -%s)",
			args.add(r.after.Key[0]), args.add(r.after.Key[1]), args.add(r.after.Key[2]), args.add(r.after.ID)) + elsewhere
	}
	// Nearly all pass whose ids are known to be in the region: so the first are enough, unless they are not.
	first := fmt.Sprintf(" LIMIT %d", r.limit+r.limit/4)
	if r.after != nil || f.q.picky() {
		first = ""
	}
	limit := args.add(r.limit)
	for {
		found = nil
		err = each(ctx, f.tx, func(rows *sql.Rows) error {
			var c candidate
			err := rows.Scan(&c.ID, &c.Key[0], &c.Key[1], &c.Key[2])
			found = append(found, c)
			return err
		}, fmt.Sprintf(rankMatches, key[0], key[1], key[2], own, first, elsewhere, limit), args...)
		if err != nil || first == "" || len(found) == r.limit || len(of) <= r.limit {
			return found, err
		}
		first = ""
	}
}

const rankMatches = `
WITH ranked AS MATERIALIZED (
	SELECT latest.id AS id, %s AS first, %s AS second, %s AS third
	FROM json_each(?1) AS given CROSS JOIN video_latest AS latest ON latest.id = CAST(given.value AS bigint)
	WHERE true%s
	ORDER BY 2 DESC, 3 DESC, 4 DESC, 1%s
)
SELECT id, first, second, third FROM ranked WHERE true%s LIMIT %s`

// column is a count or time of a video, on a later page as it was when the first was read: that of its newest
// placement then.
func (f *finder) column(args *arguments, now, then string) string {
	if f.q.After == "" {
		return "latest." + now
	}
	seen, slot := args.add(f.after.Seen), args.add(f.after.Slot)
	placed := "FROM placements JOIN slots ON slots.id = slot WHERE video = latest.id AND slot <= " + slot
	return fmt.Sprintf("iif(latest.seen_at <= %s OR NOT EXISTS (SELECT 1 %s), latest.%s, (SELECT %s %s ORDER BY slot DESC LIMIT 1))", seen, placed, now, then, placed)
}

// keys are what goes before what. What is not known comes last.
func (f *finder) keys(args *arguments, order Order, views, seen string) [3]string {
	// Popularity: an e-fold of views, or to have been seen 20 days later.
	popularity := "ln(1.0 + max(coalesce(" + views + ", 0), 0)) + " + seen + " / 1.728e9"
	switch order {
	case ByViews:
		return [3]string{"coalesce(" + views + ", -1)", popularity, "0"}
	case ByFreshness:
		return [3]string{seen, "coalesce((SELECT published_at FROM video_facts WHERE id = latest.id), 0)", popularity}
	case ByRise:
		return [3]string{fmt.Sprintf("coalesce("+risen+", %[3]g)", args.add(f.q.Region), args.add(f.after.Slot), notGained), popularity, "0"}
	default:
		return [3]string{popularity, "coalesce(" + views + ", 0)", "0"}
	}
}

// risen are the views that a video has gained between its last two counts in a chart of a region, ” for all: the
// most of any chart. Within a series slots with placements are numbered as they were due, so that up to the last that
// counts the greatest number is the last sighting.
const risen = `(
	SELECT max((
		SELECT views FROM placements
		WHERE video = latest.id AND series = series.id AND slot <= %[2]s AND views IS NOT NULL
		ORDER BY slot DESC LIMIT 1
	) - (
		SELECT views FROM placements
		WHERE video = latest.id AND series = series.id AND slot <= %[2]s AND views IS NOT NULL
		ORDER BY slot DESC LIMIT 1 OFFSET 1
	)) FROM series WHERE backfill IS NULL AND series.key <> '' AND latest.charted & (1 << series.id %% 63) <> 0 AND %[1]s IN ('', series.key))`

// filters writes the query's filters as conditions on a video's own counts, and on what is elsewhere: the cheapest first.
// With CASE Postgres, too, asks that by region of one after the other.
func (f *finder) filters(args *arguments, views, seen string) (own, elsewhere string) {
	and := func(to *string, set bool, condition string, arg any) {
		if set {
			*to += fmt.Sprintf("\n  AND "+condition, args.add(arg))
		}
	}
	const fact = "(SELECT %s FROM video_facts WHERE video_facts.id = ranked.id)"
	and(&own, f.q.MinViews > 0, views+" >= %s", f.q.MinViews)
	and(&own, !f.q.SeenSince.IsZero(), seen+" >= %s", ceilMillis(f.q.SeenSince))
	and(&elsewhere, f.q.Category != "", fmt.Sprintf(fact, "category")+" = %s", f.q.Category)
	and(&elsewhere, !f.q.PublishedSince.IsZero(), fmt.Sprintf(fact, "published_at")+" >= %s", ceilUnix(f.q.PublishedSince))
	and(&elsewhere, !f.q.PublishedUntil.IsZero(), fmt.Sprintf(fact, "published_at")+" < %s", ceilUnix(f.q.PublishedUntil))
	if f.q.Region != "" {
		elsewhere += fmt.Sprintf("\n  AND CASE WHEN EXISTS (SELECT 1 FROM placements WHERE video = ranked.id AND slot <= %s AND series IN (SELECT id FROM series WHERE backfill IS NULL AND key = %s)) THEN 1 ELSE 0 END = 1",
			args.add(f.after.Slot), args.add(f.q.Region))
	}
	return own, elsewhere
}
